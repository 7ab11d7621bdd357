// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interface of backends: sweeps over regions, with the same bits on every backend.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <halocline/field.hpp>
#include <halocline/stream.hpp>

#include "device/all_reduce_port.hpp"
#include "device/face_port.hpp"
#include "problem/problem.hpp"
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
  /// In device memory, may be null: set to 1 if the norm is at most `tolerance`, or not finite. If
  /// it is set before, the reduction does nothing.
  unsigned* stop = nullptr;
  double tolerance = -1;
  /// Connects the ranks whose partial norms make one norm, or null. Waits until all ranks reduce
  /// it.
  const device::AllReducePort* all_reduce = nullptr;
  /// In device memory, may be null: gets this rank's part of the norm, and nothing else is done.
  /// The caller gathers the parts of all ranks, for another reduction.
  double* share = nullptr;
  /// In device memory, may be null: the parts of so many ranks, in their order, to reduce instead
  /// of `parts`.
  const double* shares = nullptr;
  int ranks = 0;
};

struct SweepArguments {
  const FieldStorage& in;
  const FieldStorage& out;
  /// Cells to update; may reach into the halo of `out` (the redundant rim of a deep halo). `in`
  /// must hold the neighbours of every cell.
  Box region;
  Norm norm = Norm::none;
  /// Destination of the norm of the update, in the backend's memory: the maximum of |new - old|, or
  /// the sum of squares of new - old in double precision (with the difference in the fields'
  /// precision). Accumulates, so that several regions make one norm. Counts owned cells only. NaN
  /// if a difference is NaN. Unused if `norm` is none. A GPU needs a second launch for it.
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
  /// Sweep::can_push. Null: the halo is filled already.
  const device::FacePort* faces = nullptr;
};

/// A problem's update compiled for one backend, number of axes and precision.
class Sweep {
 public:
  virtual ~Sweep() = default;
  /// Reads `in` and writes `out`, in one pass and without a third array. Ordered by `stream`.
  virtual void run(const SweepArguments& arguments, Stream stream) = 0;
  /// Reduces a norm in its own launch, on a GPU. Ordered by `stream`. Throws internal on the host.
  virtual void reduce(const NormReduction& reduction, Stream stream);
  /// Returns memory for partial norms on a GPU, owned by the sweep; null on the host. For a sweep
  /// in several regions whose norm is reduced after the last.
  virtual PartialNorms* room_for_partial_norms() { return nullptr; }
  /// Whether run() accepts `faces` for these fields and all their owned cells.
  virtual bool can_push(const FieldStorage& in, const FieldStorage& out) const;
  /// Returns the vector level in use, one of simd_levels(); empty on a GPU.
  virtual std::string_view simd() const { return "scalar"; }
};

struct SweepOptions {
  int threads = 1;        ///< of this rank
  int ranks_on_node = 1;  ///< including this one: they share caches
  /// The widest vectors to use: "auto" or one of simd_levels().
  std::string simd = "auto";
  /// Boxes of fewer cells run in one thread: laplace 128^2 in fp64 takes 4.5 us in one thread of an
  /// EPYC 9004 and 4.0 in two, 256^2 18 and 11, and a busy machine wakes threads late. Other values
  /// are for tests.
  std::int64_t fewest_cells_for_threads = 32768;
  /// Size of the caches that this rank can use; 0 asks the operating system. Other values are for
  /// tests.
  std::int64_t cache_bytes = 0;
};

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
  /// Makes the sweep of a problem. Throws usage if the problem does not have that many axes.
  virtual std::unique_ptr<Sweep> make(const problem::Problem& problem,
                                      const problem::Setting& setting, problem::Precision precision,
                                      const SweepOptions& options) const = 0;
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
