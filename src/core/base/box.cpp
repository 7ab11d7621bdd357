// SPDX-License-Identifier: Apache-2.0
#include <halocline/box.hpp>

namespace halocline {

std::vector<Box> subtract(const Box& outer, const Box& inner) {
  std::vector<Box> pieces;
  if (outer.empty()) return pieces;
  const Box hole = intersect(outer, inner);
  if (hole.empty()) return {outer};
  Box rest = outer;
  for (int axis = 2; axis >= 0; --axis) {
    Box below = rest, above = rest;
    below.upper[axis] = hole.lower[axis];
    above.lower[axis] = hole.upper[axis];
    if (!below.empty()) pieces.push_back(below);
    if (!above.empty()) pieces.push_back(above);
    rest.lower[axis] = hole.lower[axis];
    rest.upper[axis] = hole.upper[axis];
  }
  return pieces;
}

}  // namespace halocline
