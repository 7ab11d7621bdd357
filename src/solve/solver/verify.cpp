// SPDX-License-Identifier: Apache-2.0
#include "solver/verify.hpp"

#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "field/cells.hpp"
#include "solver/engine/norm_rounding.hpp"

namespace halocline::solver {
namespace {

struct Difference {
  std::int64_t cells = 0;
  std::int64_t first_index = -1;  // global linear index
  Int3 first;
  double ours = 0, theirs = 0;
};

double value_at(const std::byte* bytes, Precision precision) {
  if (precision == Precision::f32) {
    float value = 0;
    std::memcpy(&value, bytes, sizeof value);
    return static_cast<double>(value);
  }
  double value = 0;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Compares a row of cells beginning at `first`; x is contiguous in both.
void compare_row(const Case& the_case, Int3 first, std::int64_t count, const std::byte* ours,
                 const std::byte* theirs, Difference& difference) {
  const std::int64_t bytes = the_case.element_bytes();
  if (std::memcmp(ours, theirs, static_cast<std::size_t>(count * bytes)) == 0) return;
  const Int3& cells = the_case.model->cells;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::memcmp(ours + i * bytes, theirs + i * bytes, static_cast<std::size_t>(bytes)) == 0)
      continue;
    ++difference.cells;
    const std::int64_t index = first.x + i + cells.x * (first.y + cells.y * first.z);
    if (difference.first_index >= 0 && difference.first_index <= index) continue;
    difference.first_index = index;
    difference.first = {first.x + i, first.y, first.z};
    difference.ours = value_at(ours + i * bytes, the_case.precision());
    difference.theirs = value_at(theirs + i * bytes, the_case.precision());
  }
}

/// Sends rows one by one to rank 0, which so never holds the whole result twice.
void send_rows(const Comparison& c, const FieldStorage& field) {
  const Box& owned = c.grid.owned();
  const auto bytes = static_cast<std::size_t>(owned.extent().x * c.the_case.element_bytes());
  for (auto z = owned.lower.z; z < owned.upper.z; ++z)
    for (auto y = owned.lower.y; y < owned.upper.y; ++y)
      comm::send(c.communicator, 0, {field::address_of(field, {owned.lower.x, y, z}), bytes});
}

Difference compare_all(const Comparison& c, std::size_t f) {
  Difference difference;
  std::vector<std::byte> row;
  for (int rank = 0; rank < c.communicator.size(); ++rank) {
    const Box owned = c.grid.owned(rank);
    const std::int64_t count = owned.extent().x;
    row.resize(static_cast<std::size_t>(count * c.the_case.element_bytes()));
    for (auto z = owned.lower.z; z < owned.upper.z; ++z)
      for (auto y = owned.lower.y; y < owned.upper.y; ++y) {
        const Int3 first{owned.lower.x, y, z};
        if (rank > 0) comm::receive(c.communicator, rank, row);
        compare_row(c.the_case, first, count,
                    rank > 0 ? row.data() : field::address_of(c.fields[f], first),
                    field::address_of(c.expected->fields[f], first), difference);
      }
  }
  return difference;
}

/// Compares maximum norms exactly; L2 sums may be added up in another order.
std::optional<std::string> compare_norms(const Comparison& c) {
  const auto& theirs = c.expected->norm_history;
  for (std::size_t i = 0; i < c.norm_history.size(); ++i) {
    const auto& [sweep, norm] = c.norm_history[i];
    if (i < theirs.size() && theirs[i].first == sweep &&
        is_same_norm(c.the_case, norm, theirs[i].second))
      continue;
    return fmt::format("the norm of sweep {} is {:.17g}, but {} gives {:.17g}", sweep, norm,
                       c.reference, i < theirs.size() ? theirs[i].second : std::nan(""));
  }
  return std::nullopt;
}

}  // namespace

std::string cell_text(const Int3& cell, int axes) {
  std::string text = fmt::format("({}", cell.x);
  for (int axis = 1; axis < axes; ++axis) text += fmt::format(", {}", cell[axis]);
  return text + ")";
}

SolveResult::Verification compare(const Comparison& c) {
  if (c.communicator.rank() != 0) {
    for (const FieldStorage& field : c.fields) send_rows(c, field);
    const std::string text = comm::broadcast(c.communicator, "", 0);
    return {text.front() == 'y', text.substr(1)};
  }
  const problem::Model& model = *c.the_case.model;
  SolveResult::Verification result{true, fmt::format("every cell and norm as {}", c.reference)};
  for (std::size_t f = 0; f < c.fields.size(); ++f) {
    const Difference difference = compare_all(c, f);
    if (difference.cells == 0 || !result.passed) continue;
    result = {false, fmt::format("cell {}{} is {:.17g}, but {} gives {:.17g}; {} of {} differ",
                                 cell_text(difference.first, model.axes),
                                 c.fields.size() > 1 ? " of field " + model.fields[f].name : "",
                                 difference.ours, c.reference, difference.theirs, difference.cells,
                                 counted(c.the_case.cells(), "cell"))};
  }
  if (const auto norms = compare_norms(c); norms && result.passed) result = {false, *norms};
  comm::broadcast(c.communicator, (result.passed ? "y" : "n") + result.text, 0);
  return result;
}

}  // namespace halocline::solver
