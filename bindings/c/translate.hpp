// SPDX-License-Identifier: Apache-2.0
#pragma once
// Conversions between the types of halocline.h and those of C++.

#include <optional>
#include <string>

#include <halocline/box.hpp>
#include <halocline/error.hpp>
#include <halocline/grid.hpp>
#include <halocline/halocline.h>
#include <halocline/memory.hpp>

namespace halocline::binding {

inline Int3 int3(const std::int64_t (&values)[3]) { return {values[0], values[1], values[2]}; }

inline void put(const Int3& from, std::int64_t (&to)[3]) {
  for (int axis = 0; axis < 3; ++axis) to[axis] = from[axis];
}

inline halocline_box box(const Box& box) {
  halocline_box result;
  put(box.lower, result.lower);
  put(box.upper, result.upper);
  return result;
}

inline HaloWidths widths(const halocline_widths& widths) {
  return {int3(widths.lower), int3(widths.upper)};
}

/// Returns the widths, `expected` where HALOCLINE_AS_EXPECTED stands.
inline HaloWidths widths(const halocline_widths& given, const HaloWidths& expected) {
  HaloWidths result = widths(given);
  for (int axis = 0; axis < 3; ++axis) {
    if (given.lower[axis] == HALOCLINE_AS_EXPECTED) result.lower[axis] = expected.lower[axis];
    if (given.upper[axis] == HALOCLINE_AS_EXPECTED) result.upper[axis] = expected.upper[axis];
  }
  return result;
}

/// Null means the expected halo.
inline HaloWidths reach(const halocline_widths* reach, const Grid& grid) {
  return reach == nullptr ? grid.expected_halo() : widths(*reach, grid.expected_halo());
}

/// Throws usage for a null pointer; `what` is its name in the error: "the name of the field".
inline const char* text(const char* given, const char* what) {
  if (given == nullptr) throw Error(ErrorKind::usage, std::string(what) + " is a null pointer");
  return given;
}

/// Calls `use` with each member of a list that the caller gives by address and length. Throws usage
/// for a list that cannot be; `what` is its name in the error: "the list of arrays".
template <class Member, class Use>
void for_each(const Member* first, int count, const char* what, const Use& use) {
  if (count < 0)
    throw Error(ErrorKind::usage, std::string(what) + ": their number is " + std::to_string(count));
  if (count > 0 && first == nullptr)
    throw Error(ErrorKind::usage, std::string(what) + " is a null pointer");
  for (int i = 0; i < count; ++i) use(first[i]);
}

inline Memory memory(const char* name) {
  if (const std::optional<Memory> found = memory_named(text(name, "the name of the memory")))
    return *found;
  throw Error(ErrorKind::usage, "there is no memory '" + std::string(name) +
                                    "'; there are: host, pinned, device, managed, system");
}

}  // namespace halocline::binding
