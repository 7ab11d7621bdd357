// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of backends: sweeps over regions, with the same bits on every backend.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/stream.hpp>

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "problem/model.hpp"
#include "stencil/fields.hpp"
#include "stencil/graph_clock.hpp"
#include "stencil/partial_norms.hpp"

namespace halocline::stencil {

/// A norm to reduce from partial norms of an earlier sweep, and where it goes.
struct NormReduction {
  const PartialNorms* parts = nullptr;  ///< null: nothing to reduce
  Norm kind = Norm::none;
  /// In device memory, may be null: gets the norm (for l2 the root of the sum).
  double* norm = nullptr;
  /// In device memory, may be null: accumulates. Gets the larger of its value and the norm, or for
  /// l2 the sum of its value and the squares.
  double* sum = nullptr;
  /// In device memory, may be null: set to 1 if the norm is at most `tolerance` and at least
  /// `least`, or not finite. If it is set before, the reduction does nothing.
  unsigned* stop = nullptr;
  double tolerance = -1, least = 0;
  /// Connects the ranks whose partial norms make one norm, or null. Waits until all ranks reduce
  /// it.
  const device::AllReducePort* all_reduce = nullptr;
  /// In device memory, may be null: gets this rank's part of the norm, and nothing else is done.
  /// The caller gathers the parts of all ranks, for another reduction.
  double* share = nullptr;
  /// In device memory, may be null: the parts of `ranks` ranks, in their order, to reduce instead
  /// of `parts`.
  const double* shares = nullptr;
  int ranks = 0;
};

struct SweepArguments {
  /// All fields of the model, in its order, of the old and of the new level. A field that follows
  /// another is not written: its memory in `out` is that of the other in `in`.
  Fields in, out;
  /// Cells to update; may reach into the halo of `out` (the redundant rim of a deep halo). `in` and
  /// `coefficients` must hold the neighbours of every cell.
  Box region;
  /// Axes along which the region is whole and periodic: neighbours beyond an end are the cells at
  /// the other end, and the halo is not read. See Sweep::can_wrap().
  std::array<bool, 3> wraps{};
  Fields coefficients = {};
  double time = 0;        ///< t of `in`
  GraphClock clock = {};  ///< on a GPU: gives it instead of `time` where a graph is recorded
  Norm norm = Norm::none;
  /// Destination of the norm of the update of the model's field, in the backend's memory: the
  /// maximum of |new - old|, or the sum of squares of new - old in double precision (with the
  /// difference in the fields' precision). Accumulates, so that several regions make one norm.
  /// Counts owned cells only. NaN if a difference is NaN. Unused if `norm` is none. A GPU needs a
  /// second launch for it.
  double* norm_sum = nullptr;
  /// On a GPU, instead: destination of partial norms, for a later sweep to reduce.
  PartialNorms* partial_norms = nullptr;
  /// Whether this is the first queued region of its sweep, which overwrites earlier partial norms,
  /// and the last, which stores their number. Regions may run at the same time.
  bool is_first = true, is_last = true;
  /// On a GPU: one more block reduces this norm, of an earlier sweep, while the others sweep.
  NormReduction reduction{};
  /// In the backend's memory; a sweep does nothing if this is not zero when it begins, so that the
  /// host can queue sweeps before it knows where the run ends. Null: always sweep.
  const unsigned* stop = nullptr;
  /// On a GPU: the sweep itself waits for the halo along the last axis and sends the next one; see
  /// Sweep::rows_of_pushing_tile. Null: the halo is filled already.
  const device::FacePort* faces = nullptr;
};

/// The update of a model for one backend.
class Sweep {
 public:
  virtual ~Sweep() = default;
  /// Reads `in` and writes `out`, in one pass. Ordered by `stream`.
  virtual void run(const SweepArguments& arguments, Stream stream) = 0;
  /// Reduces a norm in its own launch, on a GPU. Ordered by `stream`. Throws internal on the host.
  virtual void reduce(const NormReduction& reduction, Stream stream);
  /// Returns memory for partial norms on a GPU, owned by the sweep; null on the host. For a sweep
  /// in several regions whose norm is reduced after the last.
  virtual PartialNorms* room_for_partial_norms() { return nullptr; }
  /// Whether run() accepts `faces` for these fields and all their owned cells: 0 if not, else the
  /// rows of a tile, which must be as many on the ranks that are linked.
  virtual int rows_of_pushing_tile(Fields in, Fields coefficients, Fields out) const;
  /// Whether run() accepts that all owned cells wrap around an axis, reading and writing such
  /// levels.
  virtual bool can_wrap(int axis, Fields level, Fields coefficients) const;
  /// Returns how long its formulas took to compile, if they were when it was made.
  virtual double compile_seconds() const { return 0; }
  /// Returns the vector level in use, one of simd_levels(); empty on a GPU.
  virtual std::string_view simd() const { return "scalar"; }
};

enum class Formulas { compiled_where_possible, interpreted };

struct SweepOptions {
  int threads = 1;        ///< of this rank
  int ranks_on_node = 1;  ///< including this one: they share caches
  /// The widest vectors to use: "auto" or one of simd_levels().
  std::string simd = "auto";
  bool in_bricks = false;  ///< the fields, instead of rows
  /// By the plainest kernel, for benchmarks: on a GPU a thread updates a cell and reads all that it
  /// takes; on CPUs with the first of simd_levels().
  bool plain = false;
  /// On CPUs. Interpreted: also where a compiled formula is the model's. For tests and benchmarks.
  Formulas formulas = Formulas::compiled_where_possible;
  /// Of the sweeps to come, where a kernel is compiled for each; others are when they are asked
  /// for.
  std::vector<Norm> norms = {Norm::none};
  /// Ranks that make the same sweep at the same time, so that one compiles for all; null: this one
  /// alone.
  const Communicator* communicator = nullptr;
  /// Boxes of fewer cells run in one thread: laplace 128^2 in fp64 takes 4.5 us in one thread of an
  /// EPYC 9004 and 4.0 in two, 256^2 18 and 11, and a busy machine wakes threads late. Other values
  /// are for tests.
  std::int64_t fewest_cells_for_threads = 32768;
  /// Size of the caches that this rank can use; 0 asks the operating system. Other values are for
  /// tests.
  std::int64_t cache_bytes = 0;
};

class ChangingGhosts;
class Ghosts;
class PersistentSweep;
struct PersistentParts;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Returns why the backend is not available here, or nothing.
  virtual std::optional<std::string> unavailable() const { return std::nullopt; }
  /// Whether it sweeps on a stream of a GPU, over memory that the GPU can read; else on the host.
  virtual bool on_gpu() const { return false; }
  /// Returns why it cannot sweep a model, or nothing.
  virtual std::optional<std::string> cannot_sweep_because(const problem::Model&) const {
    return std::nullopt;
  }
  /// Makes the sweep of a model, which must outlive it. Throws unavailable where the backend or its
  /// sweep of this model is not.
  virtual std::unique_ptr<Sweep> make(const problem::Model& model,
                                      const SweepOptions& options) const = 0;
  /// Makes the object that fills the ghosts that change, for sweeps of `ghosts.model()`. The ghosts
  /// must outlive it. Collective if the options name a communicator. Throws as make().
  virtual std::unique_ptr<ChangingGhosts> make_ghosts(const Ghosts& ghosts,
                                                      const SweepOptions& options) const;
  /// Whether kernels for persistent sweeps of the model came with the program; others are compiled
  /// first, which takes seconds.
  virtual bool has_persistent_kernels(const problem::Model&, Norm) const { return false; }
  /// Makes a persistent sweep: see stencil/persistent.hpp. Throws unavailable, with the reason, if
  /// the backend, the problem or the size of the fields does not allow one.
  virtual std::unique_ptr<PersistentSweep> make_persistent(const PersistentParts& parts) const;
};

/// Lists the backends of this build. To add one, add a folder and a row in backends.cpp.
std::span<const Backend* const> backends();

/// Returns the backend of that name. Throws usage, with a list of the backends, for other names.
const Backend& find_backend(std::string_view name);

/// Lists the vector levels that this build and this processor support, narrowest first.
std::vector<std::string> simd_levels();

/// Throws usage, with a list of the levels, unless `name` is "auto" or a vector level; unavailable
/// if this processor lacks that level. Only the cpu backend has vector levels.
void check_simd(std::string_view name);

}  // namespace halocline::stencil
