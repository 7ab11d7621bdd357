// SPDX-License-Identifier: Apache-2.0
#pragma once
// A case on one process grid: fields, exchanges and links, made once and run in several ways.

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "base/notes.hpp"
#include "exchange/edge_links.hpp"
#include "exchange/face_links.hpp"
#include "solver/case.hpp"
#include "solver/levels.hpp"
#include "solver/place.hpp"
#include "solver/schedule.hpp"
#include "solver/stopping.hpp"
#include "solver/time_loop.hpp"
#include "stencil/persistent.hpp"
#include "transport/peer/norm_meeting.hpp"

namespace halocline::solver {

struct RunnerParts {
  const Communicator& communicator;
  const Place& place;
  stencil::Sweep& sweep;
  /// Chosen among, or asked for by name, as SolveOptions has them.
  const std::string& transport;
  const std::optional<std::string>& proofs;
};

/// How a runner gives its sweeps to the stream. Every way leads to the same bits.
struct Way {
  const Schedule* schedule = nullptr;
  Graphs graphs = Graphs::none;
};

class Runner {
 public:
  /// Allocates two zeroed levels and opens their exchanges. The parts must outlive it. Collective;
  /// throws, the same on every rank, what making fields and exchanges throws.
  Runner(const Case& the_case, const RunnerParts& parts);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  const Grid& grid() const { return grid_; }
  const ExchangeInfo& exchange() const { return exchanges_[0].info(); }
  const Levels& levels() const { return levels_; }
  /// What was left out that would have been used, and why.
  const Notes& notes() const { return notes_; }

  /// Why sweeps cannot be run by such a schedule, or nothing; the same on every rank. Makes what it
  /// needs, the first time; what the halos held is lost. Collective.
  std::optional<std::string> unavailable(const Schedule& schedule);
  /// Why sweeps cannot be recorded in graphs, or nothing.
  std::optional<std::string> no_graphs_because() const;
  /// Whether the host has to move halos on.
  bool is_host_driven() const;
  /// Sweeps that are given to a GPU at once, and from one look at norms to the next; 1 where the
  /// host looks at every one.
  std::int64_t sweeps_at_once() const;

  struct Result {
    LoopResult loop;
    std::unique_ptr<Stopping> stopping;
  };
  using AfterSweep = std::function<void(std::int64_t sweep, const Stopping& stopping)>;
  /// Starts from level 0. `the_case` may differ from the runner's own in sweeps and tolerance, and
  /// must outlive the result. Collective.
  Result run(const Case& the_case, const Way& way, const AfterSweep& after_sweep);

  /// Start and boundary. Collective if there is a file to start from.
  void fill(int threads);
  /// Numbers that take as long as any: of zeros, sweeps on a GPU took 0.83 of the time.
  void fill_for_trial(int threads);

 private:
  std::optional<std::string> no_links_because() const;
  std::optional<std::string> no_persistence_because() const;
  void make_links();
  void make_persistent();
  void make_meeting();
  std::unique_ptr<Stopping> stopping_for(const Case& the_case) const;

  RunnerParts parts_;
  Case case_;
  Grid grid_;
  Levels levels_;
  std::array<Exchange, 2> exchanges_;
  bool norms_stay_ = false;  // on the GPUs
  std::optional<transport::NormMeeting> meeting_;
  struct Links {
    std::optional<exchange::FaceLinks> made;
    std::optional<std::string> why_not;
  };
  std::optional<Links> links_;  // none before they are asked for
  struct Persistence {
    std::optional<exchange::EdgeLinks> edges;
    std::unique_ptr<stencil::PersistentSweep> sweep;
    std::optional<std::string> why_not;
  };
  std::optional<Persistence> persistence_;  // likewise
  Notes notes_;
};

}  // namespace halocline::solver
