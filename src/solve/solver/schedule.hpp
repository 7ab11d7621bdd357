// SPDX-License-Identifier: Apache-2.0
#pragma once
// In which order a sweep and the exchange before it are done.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <halocline/exchange.hpp>

#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "stencil/sweep.hpp"

namespace halocline::solver {

/// A sweep that needs fresh halos, and the exchange that brings them.
struct Step {
  Exchange& exchange;
  stencil::Sweep& sweep;
  const Grid& grid;
  stencil::SweepArguments arguments;  ///< of the whole region
  device::StreamClock& clock;         ///< of sweeps
  /// For a sweep that sends its halo itself, or null; the first one has none yet to wait for.
  const device::FacePort* faces;
  bool is_first;
  device::Branch* branch;  ///< on a GPU; else null
};

/// Enqueues the exchange of a step's input and its sweep, in some order that is right.
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual std::string_view name() const = 0;
  virtual void run(const Step& step, Stream stream) const = 0;
  /// Whether its sweeps send their halos themselves, over links that have to be made.
  virtual bool needs_links() const { return false; }
  /// What else it needs, for the text of an error.
  virtual std::string_view needs() const { return "nothing else"; }
  /// Whether whole batches of sweeps are one launch, which leaves only the others to run().
  virtual bool takes_batches() const { return false; }
};

std::span<const Schedule* const> schedules();

/// Throws usage, naming the schedules there are.
const Schedule& find_schedule(std::string_view name);

/// Whether a region is the first one of its sweep: then it begins the norm, and settles the one
/// before.
enum class Part { first, more };

/// Sweeps a region and books the time as compute.
void sweep_timed(const Step& step, const Box& region, Part part, Stream stream);

}  // namespace halocline::solver
