// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/norm_rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halocline::solver {
namespace {

// Rounding of one addition.
constexpr double unit = std::numeric_limits<double>::epsilon() / 2;

// Over segments of a row, lanes, warps, blocks and ranks: a GPU has up to 7 x 65536 partial norms,
// which 256 threads reduce; the rest is for ranks.
constexpr double additions_of_parts = 4096;

/// The most additions that one square passes through: those along its row, then one for each row
/// of its rank, for each field. With overlap a row may be in three regions: the interior and both
/// ends.
double most_additions(const Case& the_case) {
  const Int3& cells = the_case.model->cells;
  const auto fields = static_cast<double>(the_case.model->norm_of.size());
  return fields * (static_cast<double>(cells.x) +
                   3 * static_cast<double>(cells.y) * static_cast<double>(cells.z)) +
         additions_of_parts;
}

}  // namespace

double rounding_of_norm(const Case& the_case) {
  if (the_case.norm != Norm::l2) return 0;
  // A sum of terms that are not negative is off by at most d u / (1 - d u) of it, where no term
  // passes through more than d additions (N. J. Higham, Accuracy and Stability of Numerical
  // Algorithms, 2nd edition, section 4.2; u is 2^-53). Two sums are apart by twice that, their
  // roots by half of this, and each root is rounded.
  const double roundings = (most_additions(the_case) + 2) * unit;
  return roundings / (1 - roundings);
}

bool is_same_norm(const Case& the_case, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;  // also where both are infinite, whose difference is not a number
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::abs(a - b) <= rounding_of_norm(the_case) * std::max(std::abs(a), std::abs(b));
}

}  // namespace halocline::solver
