// SPDX-License-Identifier: Apache-2.0
#pragma once
// One sweep over a region: what every backend computes, each in its way, to the same bits.

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
#include "stencil/norm_parts.hpp"

namespace halocline::stencil {

/// A norm whose parts earlier work on a GPU's stream has left, and what becomes of it.
struct NormReduction {
  const NormParts* parts = nullptr;  ///< null: there is none
  Norm kind = Norm::none;
  /// In device memory, may be null: gets the norm itself (of l2, the root of the sum).
  double* norm = nullptr;
  /// In device memory, may be null: gets the larger of what is there and the norm, or their sum of
  /// squares.
  double* sum = nullptr;
  /// Set to 1 if the norm is at most `tolerance`, or not finite; may be null. Where it is set
  /// before, nothing is done.
  unsigned* stop = nullptr;
  double tolerance = -1;
  /// Ranks whose parts make one norm, or null. All must reduce it; it waits for them.
  const device::AllReducePort* all_reduce = nullptr;
};

struct SweepArguments {
  const FieldStorage& in;
  const FieldStorage& out;
  /// Cells to update; may reach into the halo of `out` (the redundant rim of a deep halo), and
  /// the neighbours of every cell must be held by `in`.
  Box region;
  Norm norm = Norm::none;
  /// Where the norm of the update is added up, in the backend's memory: the maximum of
  /// |new - old|, or the sum of squares of new - old in double precision (the difference taken in
  /// the fields' precision). Starts from the value found there, so that several regions make one
  /// norm. Owned cells only. A difference that is not a number makes it not a number. Unused if
  /// norm is none. A GPU needs a second launch for it.
  double* norm_sum = nullptr;
  /// On a GPU, instead: the parts of the norm are left here, to be reduced by a later sweep.
  NormParts* norm_parts = nullptr;
  /// The first region of its sweep to be queued: parts of an earlier norm make room. And the last,
  /// with which it is known how many there are. Regions may be swept at the same time.
  bool is_first = true, is_last = true;
  /// On a GPU: reduced by one more block while the others sweep. Not the parts that are left.
  NormReduction reduction{};
  /// In the backend's memory; a sweep that finds it not zero when it begins does nothing, so that
  /// sweeps may be queued before it is known where the run ends. Null: always sweep.
  const unsigned* stop = nullptr;
  /// On a GPU: the halo along the last axis is awaited and sent by the sweep itself; see
  /// Sweep::can_push. Null: it is there.
  const device::FacePort* faces = nullptr;
};

/// A problem's update compiled for one backend, number of axes and precision.
class Sweep {
 public:
  virtual ~Sweep() = default;
  /// Reads `in`, writes `out`: no third array, no second pass. Ordered by `stream`.
  virtual void run(const SweepArguments& arguments, Stream stream) = 0;
  /// Reduces a norm by itself, on a GPU. Ordered by `stream`.
  virtual void reduce(const NormReduction& reduction, Stream stream);
  /// Room for parts of a norm, on a GPU; null on the host. For a sweep in several regions whose
  /// norm is reduced when all are done.
  virtual NormParts* room_for_parts() { return nullptr; }
  /// Whether it can take `faces` for such fields and all their owned cells.
  virtual bool can_push(const FieldStorage& in, const FieldStorage& out) const;
  /// The vector level it computes with, one of simd_levels(); empty on a GPU.
  virtual std::string_view simd() const { return "scalar"; }
};

struct SweepOptions {
  int threads = 1;        ///< of this rank
  int ranks_on_node = 1;  ///< this one too: they share caches
  /// "auto" or one of simd_levels(): the widest vectors to use.
  std::string simd = "auto";
  /// Boxes of fewer cells are not worth waking threads for: laplace 128^2 in fp64 takes 4.5 us in
  /// one thread of an EPYC 9004 and 4.0 in two, 256^2 18 and 11, and a busy machine wakes them
  /// late. Other values are for tests.
  std::int64_t fewest_cells_for_threads = 32768;
  /// Of the caches that this rank can use; 0 asks the operating system. Other values are for
  /// tests.
  std::int64_t cache_bytes = 0;
};

class PersistentSweep;
struct PersistentParts;

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Why it cannot be used here, or nothing.
  virtual std::optional<std::string> unavailable() const { return std::nullopt; }
  /// Where it sweeps: on a stream of a GPU over memory that the GPU reads, or on the host.
  virtual bool on_gpu() const { return false; }
  /// Throws usage if the problem does not have that many axes.
  virtual std::unique_ptr<Sweep> make(const problem::Problem& problem,
                                      const problem::Setting& setting, problem::Precision precision,
                                      const SweepOptions& options) const = 0;
  /// See stencil/persistent.hpp. Throws unavailable with the reason where the backend, the problem
  /// or the size of the fields does not allow it.
  virtual std::unique_ptr<PersistentSweep> make_persistent(const PersistentParts& parts) const;
};

/// The backends of this build. A new one is a folder and a row in backends.cpp.
std::span<const Backend* const> backends();

/// Throws usage, naming the backends there are.
const Backend& find_backend(std::string_view name);

/// The vector levels that this build knows and this processor has, narrowest first.
std::vector<std::string> simd_levels();

/// Throws usage, naming those there are, if that is neither "auto" nor a vector level, and
/// unavailable if this processor lacks it. For the cpu backend; others have no such choice.
void check_simd(std::string_view name);

}  // namespace halocline::stencil
