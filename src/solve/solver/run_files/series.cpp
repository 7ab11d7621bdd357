// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/series.hpp"

#include <bit>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "program/exact_sum.hpp"
#include "program/shares.hpp"

namespace halocline::solver {

Series::Series(const Communicator& communicator, const Grid& grid, const Case& the_case,
               int threads)
    : communicator_(communicator), grid_(grid), case_(the_case), threads_(threads) {
  const problem::Model& model = *case_.model;
  series_.every = case_.series_every;
  if (model.dt) series_.names.emplace_back("t");
  for (const std::size_t field : case_.sums)
    series_.names.push_back(fmt::format("sum({})", model.fields[field].name));
  for (const Case::Probe& probe : case_.probes) {
    std::string name = fmt::format("{}@{}", model.fields[probe.field].name, probe.cell.x);
    for (int axis = 1; axis < model.axes; ++axis) name += fmt::format(",{}", probe.cell[axis]);
    series_.names.push_back(std::move(name));
  }
}

void Series::resume(std::vector<SolveResult::Series::Row> rows) {
  std::erase_if(rows, [&](const SolveResult::Series::Row& row) {
    return row.sweeps % case_.series_every != 0 && row.sweeps != case_.sweeps;
  });
  series_.rows = std::move(rows);
}

void Series::add(const Level& level, std::int64_t sweeps) {
  if (!series_.rows.empty() && series_.rows.back().sweeps == sweeps) return;
  using program::ExactSum;
  // One all-reduce for all. Sums are whole numbers, and of the ranks only the owner of a cell has
  // the bits of its value: nothing is rounded that could depend on the split.
  std::vector<std::uint64_t> words;
  for (const std::size_t field : case_.sums) {
    const auto mine = program::exact_sum(seen_by_host(level[field], grid_), threads_).in_words();
    words.insert(words.end(), mine.begin(), mine.end());
  }
  for (const Case::Probe& probe : case_.probes)
    words.push_back(grid_.owned().contains(probe.cell)
                        ? std::bit_cast<std::uint64_t>(value_of(level[probe.field], probe.cell))
                        : 0);
  words = comm::sum_over_ranks(communicator_, std::move(words));

  SolveResult::Series::Row row{.sweeps = sweeps, .values = {}};
  if (case_.model->dt) row.values.push_back(case_.time_of(sweeps));
  std::span<const std::uint64_t> left = words;
  for (std::size_t i = 0; i < case_.sums.size(); ++i) {
    row.values.push_back(ExactSum(left.first<ExactSum::words>()).total());
    left = left.subspan(ExactSum::words);
  }
  for (const std::uint64_t bits : left) row.values.push_back(std::bit_cast<double>(bits));
  series_.rows.push_back(std::move(row));
}

std::string csv_of(const SolveResult::Series& series) {
  std::string text = "sweep";
  // In quotes where a name has commas.
  for (const std::string& name : series.names)
    text += name.find(',') == name.npos ? "," + name : fmt::format(",\"{}\"", name);
  for (const auto& [sweeps, values] : series.rows) {
    text += fmt::format("\n{}", sweeps);
    for (const double value : values) text += fmt::format(",{}", value);
  }
  return text + "\n";
}

}  // namespace halocline::solver
