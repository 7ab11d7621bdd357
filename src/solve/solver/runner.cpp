// SPDX-License-Identifier: Apache-2.0
#include "solver/runner.hpp"

#include <functional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "transport/transport.hpp"

namespace halocline::solver {
namespace {

/// What all transports of an exchange have in common.
transport::Capabilities common_capabilities(const ExchangeInfo& info) {
  transport::Capabilities all{.host_driven = false,
                              .in_place = false,
                              .prove_in_job = false,
                              .needs_proof = false,
                              .in_graph = true};
  for (const auto& use : info.transports) {
    const transport::Capabilities one = transport::find_transport(use.second).capabilities();
    all.host_driven |= one.host_driven;
    all.in_graph &= one.in_graph;
  }
  return all;
}

Levels made_on_all_ranks(const Case& the_case, const Grid& grid, const RunnerParts& parts) {
  std::optional<Levels> levels;
  comm::together(parts.communicator, [&] {
    check_memory(parts.communicator, the_case, grid, parts.place);
    levels = make_levels(the_case, grid, the_case.halo_depth, parts.place.memory);
  });
  return *levels;
}

std::array<Exchange, 2> exchanges_of(const Case& the_case, const Grid& grid, const Levels& levels,
                                     const RunnerParts& parts) {
  ExchangeOptions options{
      .neighbours = the_case.halo_depth > 1 ? Neighbours::all : Neighbours::faces,
      .transport = parts.transport,
      .proofs = parts.proofs};
  Exchange even(parts.communicator, grid, {levels[0]}, options);
  // Chosen once: both levels have the same messages.
  options.transport = even.info().transport();
  return {std::move(even), Exchange(parts.communicator, grid, {levels[1]}, options)};
}

}  // namespace

Runner::Runner(const Case& the_case, const RunnerParts& parts)
    : parts_(parts),
      case_(the_case),
      grid_(parts.communicator.rank(), parts.communicator.size(), case_.grid),
      levels_(made_on_all_ranks(case_, grid_, parts)),
      exchanges_(exchanges_of(case_, grid_, levels_, parts)) {
  for (const std::string& note : exchange().notes) notes_.add(note);
  norms_stay_ = parts_.place.gpu && !is_host_driven();
  if (norms_stay_ && parts_.communicator.size() > 1 && case_.norm != problem::NormKind::none)
    make_meeting();
}

void Runner::make_meeting() {
  try {
    comm::together(parts_.communicator, [&] { meeting_.emplace(parts_.communicator); });
  } catch (const Error& error) {
    meeting_.reset();
    norms_stay_ = false;
    notes_.add(fmt::format("norms are reduced by MPI: {}", error.what()));
  }
}

void Runner::fill(int threads) { fill_levels(case_, grid_, levels_, parts_.communicator, threads); }

void Runner::fill_for_trial(int threads) {
  if (parts_.place.gpu) {
    for (const FieldStorage& level : levels_) fill_with_noise(level, parts_.place.stream());
    return;
  }
  Case without_file = case_;
  without_file.initial.reset();
  fill_levels(without_file, grid_, levels_, parts_.communicator, threads);
}

bool Runner::is_host_driven() const { return common_capabilities(exchange()).host_driven; }

/// Why sweeps cannot send their halos themselves; nothing if they can, on every rank.
std::optional<std::string> Runner::no_links_because() const {
  const Place& place = parts_.place;
  if (!place.gpu) return fmt::format("backend {} cannot", place.backend->name());
  if (case_.halo_depth > 1) return "halos are deep";
  if (auto why = exchange::FaceLinks::unavailable(parts_.communicator, grid_, levels_[0]))
    return why;
  for (const auto& [pair, transport] : exchange().transports)
    if (transport != "peer") return fmt::format("transport {} is used", transport);
  const bool able = place.gpu->ranks_on_gpu == 1 && parts_.sweep.can_push(levels_[0], levels_[1]);
  if (comm::max_over_ranks(parts_.communicator, std::int64_t{able ? 0 : 1}) > 0)
    return "ranks share a GPU, or rows do not begin on 16 bytes";
  return std::nullopt;
}

/// Why many sweeps cannot be one launch; nothing if they can, as far as is known without trying.
std::optional<std::string> Runner::no_persistence_because() const {
  const Place& place = parts_.place;
  if (!place.gpu) return fmt::format("backend {} cannot", place.backend->name());
  if (case_.halo_depth > 1) return "halos are deep";
  if (place.memory != Memory::device) return "the fields are not in device memory";
  if (auto why = exchange::EdgeLinks::unavailable(parts_.communicator, grid_)) return why;
  for (const auto& [pair, transport] : exchange().transports)
    if (transport != "peer" && transport != "self")
      return fmt::format("transport {} is used", transport);
  if (!norms_stay_) return "norms are reduced by MPI";
  if (comm::max_over_ranks(parts_.communicator, std::int64_t{place.gpu->ranks_on_gpu}) > 1)
    return "ranks share a GPU";
  return std::nullopt;
}

void Runner::make_links() {
  links_.emplace().why_not = no_links_because();
  if (links_->why_not) return;
  try {
    comm::together(parts_.communicator, [&] {
      links_->made.emplace(
          parts_.communicator, grid_,
          std::array{std::cref<FieldStorage>(levels_[0]), std::cref<FieldStorage>(levels_[1])});
    });
  } catch (const Error& error) {
    links_->made.reset();
    links_->why_not = error.what();
    notes_.add(fmt::format("schedule fused was left out: {}", error.what()));
  }
}

void Runner::make_persistent() {
  persistence_.emplace().why_not = no_persistence_because();
  if (persistence_->why_not) return;
  try {
    comm::together(parts_.communicator, [&] {
      persistence_->edges.emplace(parts_.communicator, grid_,
                                  grid_.owned().extent().x * case_.element_bytes());
    });
  } catch (const Error& error) {
    persistence_->edges.reset();
    persistence_->why_not = error.what();
    notes_.add(fmt::format("schedule persistent was left out: {}", error.what()));
    return;
  }
  try {
    comm::together(parts_.communicator, [&] {
      persistence_->sweep =
          parts_.place.backend->make_persistent({.problem = *case_.problem,
                                                 .setting = case_.setting,
                                                 .precision = case_.precision,
                                                 .levels = {levels_[0], levels_[1]},
                                                 .wraps_along_x = grid_.periodic(0),
                                                 .port = persistence_->edges->port()});
    });
  } catch (const Error& error) {
    // Too large for it, most likely: no news where nobody asked for it.
    persistence_->sweep.reset();
    persistence_->why_not = error.what();
  }
}

std::optional<std::string> Runner::unavailable(const Schedule& schedule) {
  if (schedule.takes_batches()) {
    if (!persistence_) make_persistent();
    return persistence_->why_not;
  }
  if (!schedule.needs_links()) return std::nullopt;
  if (!links_) make_links();
  return links_->why_not;
}

std::optional<std::string> Runner::no_graphs_because() const {
  if (!parts_.place.gpu)
    return fmt::format("backend {} queues nothing on a GPU", parts_.place.backend->name());
  if (!common_capabilities(exchange()).in_graph)
    return fmt::format("transport {} needs the host in every exchange",
                       exchange().transports.back().second);
  if (!norms_stay_) return "norms are reduced by MPI";
  return std::nullopt;
}

/// By norms that stay on the GPUs where no host has to move anything between two sweeps.
std::unique_ptr<Stopping> Runner::stopping_for(const Case& the_case) const {
  const Stream stream = parts_.place.stream();
  if (!norms_stay_) return make_reduced_stopping(parts_.communicator, the_case, stream);
  return make_device_stopping({.communicator = parts_.communicator,
                               .the_case = the_case,
                               .sweep = parts_.sweep,
                               .meeting = meeting_ ? &meeting_->on_gpu() : nullptr,
                               .stream = stream});
}

std::int64_t Runner::sweeps_at_once() const { return norms_stay_ ? sweeps_of_batch(case_) : 1; }

Runner::Result Runner::run(const Case& the_case, const Way& way, const AfterSweep& after_sweep) {
  std::unique_ptr<Stopping> stopping;
  comm::together(parts_.communicator, [&] { stopping = stopping_for(the_case); });
  TimeLoop loop({.communicator = parts_.communicator,
                 .the_case = the_case,
                 .grid = grid_,
                 .levels = levels_,
                 .exchanges = exchanges_,
                 .sweep = parts_.sweep,
                 .schedule = *way.schedule,
                 .stream = parts_.place.stream(),
                 .links = links_ && links_->made ? &*links_->made : nullptr,
                 .persistent = persistence_ ? persistence_->sweep.get() : nullptr,
                 .edges = persistence_ && persistence_->edges ? &*persistence_->edges : nullptr,
                 .graphs = way.graphs});
  const LoopResult done =
      loop.run(*stopping, [&](std::int64_t sweep) { after_sweep(sweep, *stopping); });
  return {done, std::move(stopping)};
}

}  // namespace halocline::solver
