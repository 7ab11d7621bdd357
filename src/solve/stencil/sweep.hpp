// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of backends: sweeps over regions, with the same bits on every backend.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/stream.hpp>

#include "problem/model.hpp"
#include "stencil/pass.hpp"

namespace halocline::stencil {

struct SweepOptions;

/// The update of a model for one backend.
class Sweep {
 public:
  virtual ~Sweep() = default;
  /// Reads `in` and writes `out`. Ordered by `stream`.
  virtual void run(const Pass& pass, Stream stream) = 0;
  /// Returns how many sweeps, at most `most`, run() does in one pass over these levels and regions
  /// of them.
  virtual std::int64_t sweeps_in_pass(std::int64_t most, const Pass& pass) const;
  /// Makes the kernels of passes by up to `options.sweeps_per_pass` sweeps, unless there are some.
  /// Collective if the options name a communicator. Throws as Backend::make().
  virtual void make_passes(const SweepOptions&) {}
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
  /// Whether its formulas are compiled, not interpreted.
  virtual bool has_compiled_formulas() const = 0;
  /// Returns how long its formulas took to compile, if they were when it was made.
  virtual double compile_seconds() const { return 0; }
  /// Returns why its formulas are interpreted, where they should have been compiled; or nothing.
  virtual std::string not_compiled_because() const { return {}; }
  /// Returns the vector level in use, one of simd_levels(); empty on a GPU.
  virtual std::string_view simd() const { return "scalar"; }
};

/// How CPUs compute formulas: by what is compiled in, at hand, or compiled when a run begins that
/// is long enough; the same in any run; or interpreted.
enum class Formulas { automatic, compiled, interpreted };

struct SweepOptions {
  int threads = 1;        ///< of this rank
  int ranks_on_node = 1;  ///< including this one: they share caches
  /// The widest vectors to use: "auto" or one of simd_levels().
  std::string simd = "auto";
  bool in_bricks = false;  ///< the fields, instead of rows
  /// By the plainest kernel, for benchmarks: on a GPU a thread updates a cell and reads all that it
  /// takes; on CPUs with the first of simd_levels().
  bool plain = false;
  Formulas formulas = Formulas::automatic;
  /// Of cells, on the rank that has most. What takes long is compiled.
  double updates_to_come = 0;
  /// Of the sweeps to come, where a kernel is compiled for each; others are when they are asked
  /// for.
  std::vector<Norm> norms = {Norm::none};
  /// The most sweeps of a pass over memory; fewer where the update allows fewer.
  std::int64_t sweeps_per_pass = 1;
  /// Cells of the largest part of a rank, the same on every rank; none: all. Passes are shaped by
  /// it.
  std::optional<Int3> largest_part{};
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
  /// Returns why a pass over memory cannot do several sweeps of a model, or nothing.
  virtual std::optional<std::string> cannot_pass_because(const problem::Model&) const;
  /// Returns how many sweeps of a pass should be the fastest where it can do several.
  virtual std::int64_t suggested_sweeps_of_pass(const problem::Model&, Norm) const { return 1; }
  /// Returns the updates that a pass of several sweeps does for each cell beyond one a sweep: those
  /// that neighbouring warps do, too.
  virtual double redundant_in_pass(const problem::Model&, std::int64_t) const { return 0; }
  /// Whether the kernels that Sweep::make_passes() takes are at hand. Those that are not are
  /// compiled where that is allowed, which takes seconds. On any thread that uses this rank's GPU.
  enum class Compiling { allowed, forbidden };
  virtual bool has_passes_at_hand(const problem::Model&, const SweepOptions&, Compiling) const {
    return false;
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

/// Reads "auto", "compiled" or "interpreted". Throws usage for other words.
Formulas read_formulas(std::string_view word);

/// Lists the vector levels that this build and this processor support, narrowest first.
std::vector<std::string> simd_levels();

/// Throws usage, with a list of the levels, unless `name` is "auto" or a vector level; unavailable
/// if this processor lacks that level. Only the cpu backend has vector levels.
void check_simd(std::string_view name);

}  // namespace halocline::stencil
