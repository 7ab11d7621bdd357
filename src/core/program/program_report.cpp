// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/measure.hpp>
#include <halocline/program_report.hpp>

#include "base/process/host_name.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "machine/cores.hpp"
#include "program/run_report.hpp"

namespace halocline {
namespace {

void check(const ProgramFacts& facts) {
  if (facts.sweeps < 0)
    throw Error(ErrorKind::usage,
                fmt::format("a report needs 0 sweeps or more, not {}", facts.sweeps));
  if (facts.threads < 1)
    throw Error(ErrorKind::usage,
                fmt::format("a rank has {} threads; at least 1 is needed", facts.threads));
}

/// Returns the GPUs of all ranks for memory of a GPU, else the processor. Only rank 0 gets those of
/// other ranks. Collective.
std::vector<RunDevice> devices_of(const Communicator& communicator, Memory memory) {
  const bool on_gpu = memory == Memory::device || memory == Memory::managed;
  std::string mine;
  comm::together(communicator, [&] {
    if (!on_gpu) return;
    const device::Gpu& gpu = device::current_gpu();
    mine = fmt::format("{}\n{}\n{}", gpu.uuid, gpu.name, host_name());
  });
  const std::vector<std::string> all = comm::gather_texts(communicator, mine);
  std::vector<RunDevice> devices;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const std::size_t first = all[rank].find('\n'), second = all[rank].find('\n', first + 1);
    RunDevice device{
        .kind = "cpu", .name = machine::processor_name(), .uuid = "", .host = "", .ranks = {}};
    if (on_gpu)
      device = {.kind = "gpu",
                .name = all[rank].substr(first + 1, second - first - 1),
                .uuid = all[rank].substr(0, first),
                .host = all[rank].substr(second + 1),
                .ranks = {}};
    auto known = std::find_if(devices.begin(), devices.end(),
                              [&](const RunDevice& other) { return other.uuid == device.uuid; });
    if (known == devices.end()) known = devices.insert(devices.end(), std::move(device));
    known->ranks.push_back(static_cast<int>(rank));
  }
  return devices;
}

void put_times(const Communicator& communicator, const ProgramFacts& facts, std::int64_t cells,
               std::int64_t element_bytes, RunResult& result) {
  result.setup_seconds = comm::max_over_ranks(communicator, facts.setup_seconds);
  result.first_sweep_seconds = comm::max_over_ranks(communicator, facts.first_sweep_seconds);
  result.loop_seconds = comm::max_over_ranks(communicator, facts.loop_seconds);
  const std::int64_t apart = result.first_sweep_seconds > 0 ? 1 : 0;
  const auto updates = static_cast<double>(cells) *
                       static_cast<double>(std::max<std::int64_t>(0, facts.sweeps - apart));
  result.glups = result.loop_seconds > 0 ? updates / result.loop_seconds / 1e9 : 0;
  result.bytes_per_update = 2 * element_bytes;
}

RunResult result_of(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
                    const ExchangeInfo& exchange, const ProgramFacts& facts) {
  RunResult result;
  result.problem = facts.problem;
  result.cells = grid.cells();
  result.process_grid = grid.process_grid();
  result.precision = field.shape().element_bytes == 4 ? "f32" : "f64";
  result.norm = name_of(facts.norm);
  result.sweeps = facts.sweeps;
  result.tolerance = facts.tolerance;
  if (facts.norm != Norm::none && facts.sweeps > 0) {
    result.norm_history.emplace_back(facts.sweeps - 1, facts.norm_value);
    result.converged = facts.tolerance && facts.norm_value <= *facts.tolerance;
    result.diverged = !std::isfinite(facts.norm_value);
  }
  result.checksum = checksum(communicator, grid, field);
  result.sum = sum(communicator, grid, field);
  std::int64_t cells = 1;
  for (int axis = 0; axis < grid.axes(); ++axis) cells *= grid.cells()[axis];
  put_times(communicator, facts, cells, field.shape().element_bytes, result);

  result.ranks = communicator.size();
  result.nodes = communicator.node_count();
  result.threads = facts.threads;
  result.backend = facts.backend;
  result.memory = name_of(field.shape().memory);
  result.devices = devices_of(communicator, field.shape().memory);
  result.mpi = comm::library_version();
  result.schedule = facts.schedule;
  result.transports = exchange.transports;
  result.races = exchange.races;
  result.halo_messages = comm::max_over_ranks(communicator, exchange.messages);
  result.halo_bytes = comm::max_over_ranks(communicator, exchange.bytes);
  result.notes = exchange.notes;
  return result;
}

Report report_of(const RunResult& result) {
  Report report = program::titled("program", result);
  program::add_result(report, result);
  program::add_sum(report, result, program::sum_text(result.sum));
  report.add_json("verified", nullptr);
  report.add_line("");
  program::add_rate(report, result);
  report.add_line("");
  program::add_machine(report, result);
  report.add("schedule", "schedule", result.schedule);
  Section& halo = report.add_section("halo", "", Audience::json);
  halo.add_json("messages", result.halo_messages);
  halo.add_json("bytes", result.halo_bytes);
  if (!result.transports.empty())
    report.add_text("halo", fmt::format("{}, {} per rank and exchange",
                                        counted(result.halo_messages, "message"),
                                        bytes_text(result.halo_bytes)));
  if (!result.notes.empty()) report.add_line("");
  report.add_notes("notes", result.notes);
  return report;
}

}  // namespace

void write_report(const Communicator& communicator, const Grid& grid, const FieldStorage& result,
                  const ExchangeInfo& exchange, const ProgramFacts& facts,
                  const ReportFiles& files) {
  comm::together(communicator, [&] { check(facts); });
  const RunResult whole = result_of(communicator, grid, result, exchange, facts);
  program::write_report(communicator, report_of(whole), files);
}

}  // namespace halocline
