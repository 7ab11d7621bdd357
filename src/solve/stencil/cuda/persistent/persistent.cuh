// SPDX-License-Identifier: Apache-2.0
#pragma once
// Many sweeps in one launch. All blocks are resident at once; each keeps its cells in registers and
// waits only for the edges of its neighbours. One more block reduces norms while the others
// continue: they wait for its permission before the second sweep after one that has a norm.
//
// Compiled by NVRTC, so nothing of the standard library is included.

#include "device/cuda/block_memory.cuh"
#include "stencil/cuda/persistent/resident.cuh"
#include "stencil/cuda/reduce.cuh"

namespace halocline::stencil::cuda {

/// The word by which the reducing block permits sweeps: four times a number that rises from sweep
/// to sweep and from launch to launch, plus 1 if the run had stopped before the launch, or 2 or 3
/// if it stops with the result of an even or an odd sweep of the launch, of which -1 is its input.
class Permission {
 public:
  template <class Real>
  __device__ explicit Permission(const ResidentWork<Real>& work)
      : word_(work.permission), first_(work.first_permit), watch_(work.port.watch) {}

  /// Permits the sweeps up to this one. Number `count` is the end.
  __device__ void give(int sweep) const { device::cuda::send(word_, 4 * number(sweep)); }
  __device__ void refuse_all(int count) const { device::cuda::send(word_, 4 * number(count) + 1); }
  __device__ void stop_after(int sweep, int count) const {
    device::cuda::send(word_, 4 * number(count) + 2 + (sweep & 1));
  }

  enum class Answer { go, refused, ends_with_last, ends_with_last_but_one, lost };
  /// Waits until a sweep is permitted, or the run ends: with the result of the sweep before it, or
  /// of the one before that. `lost` if the wait took too long.
  __device__ Answer ask(int sweep) {
    if (sweep <= permitted_) return Answer::go;
    device::cuda::Patience patience(watch_, -1);
    unsigned long long word = 0;
    for (;;) {
      word = device::cuda::look(word_);
      if (word / 4 >= number(sweep)) break;
      device::cuda::between_looks();
      if (!patience.lasts(0)) return Answer::lost;
    }
    const auto code = static_cast<int>(word % 4);
    if (code == 0) {
      permitted_ = static_cast<int>(word / 4 - first_);
      return Answer::go;
    }
    if (code == 1) return Answer::refused;
    return (code - sweep) % 2 == 0 ? Answer::ends_with_last_but_one : Answer::ends_with_last;
  }
  /// Waits for the first word of the launch. Where this launch stops the run, all blocks begin:
  /// their neighbours wait for their first edges.
  __device__ Answer ask_to_begin() {
    const Answer answer = ask(0);
    return answer == Answer::refused || answer == Answer::lost ? answer : Answer::go;
  }

 private:
  __device__ unsigned long long number(int sweep) const {
    return first_ + static_cast<unsigned>(sweep);
  }

  unsigned long long *word_, first_;
  const device::Watch* watch_;
  int permitted_ = -1;
};

/// The place of a block's partial norm. A block sends that of sweep n when it has done it, while
/// the reducing block may still wait for that of sweep n - 1 from others; it has all of n - 2,
/// without which n was not permitted.
template <class Real>
__device__ device::EdgeWords* part_of(const ResidentWork<Real>& work, int block, int sweep) {
  return work.parts + sweep % 2 * resident_threads + block;
}

/// Reduces the norm of the sweep before the pass, described by `before`, and those of all sweeps of
/// the pass except the last. Without a norm before the pass, `before` still gives the destinations.
template <Norm kind, class Real>
__device__ void reduce_sweeps(const ResidentWork<Real>& work, const ReduceWork& before) {
  Permission permission(work);
  NormOfRanks ranks(before.all_reduce);
  __shared__ bool ends;
  // After the norm of `reduced`: permits sweeps up to the one after the next norm, for which later
  // ones wait; or stops the run.
  const auto give_up_to = [&](int next_norm, int reduced) {
    if (threadIdx.x != 0) return;
    if (ends)
      permission.stop_after(reduced, work.count);
    else
      permission.give(next_norm + 1 < work.count ? next_norm + 1 : work.count);
  };
  if (threadIdx.x == 0) {
    ends = before.stop_seen != nullptr && *before.stop_seen != 0;
    if (ends) permission.refuse_all(work.count);
  }
  __syncthreads();
  if (ends) return;
  give_up_to(work.norm_before ? -1 : work.first_norm, -1);
  if (work.norm_before) {
    const bool no_more = reduce_parts<kind, resident_warps>(before, ranks);
    if (threadIdx.x == 0) ends = no_more;
    give_up_to(work.first_norm, -1);
  }
  ReduceWork reduction = before;
  for (int sweep = work.first_norm;; sweep += work.norm_every) {
    __syncthreads();
    if (ends || sweep + 1 >= work.count) return;
    const unsigned epoch = work.epoch + static_cast<unsigned>(sweep) + 1;
    bool came = true;
    double mine = 0;
    if (static_cast<int>(threadIdx.x) < work.tiles.blocks())
      mine = device::cuda::number_of(
          device::cuda::await_words(part_of(work, static_cast<int>(threadIdx.x), sweep), epoch,
                                    device::cuda::Patience(work.port.watch, -1), came));
    const bool all_came = __syncthreads_and(came) != 0;
    if (before.norm != nullptr) reduction.norm = before.norm + sweep + 1;
    const bool no_more = !all_came || reduce_share<kind, resident_warps>(reduction, ranks, mine);
    if (threadIdx.x == 0) ends = no_more;
    give_up_to(sweep + work.norm_every, sweep);
  }
}

/// The first warp of a block sends the partial norm of the block's warps.
template <Norm kind, class Real>
__device__ void send_part(const ResidentWork<Real>& work, int block, const double* of_warp,
                          int sweep) {
  const auto lane = static_cast<int>(threadIdx.x);
  const double part = joined_over_warp<kind>(lane < resident_warps ? of_warp[lane] : 0);
  if (lane != 0) return;
  if (sweep + 1 == work.count) {
    work.last_parts->values[block] = part;
    if (block == 0) work.last_parts->count = work.tiles.blocks();
    return;
  }
  const unsigned epoch = work.epoch + static_cast<unsigned>(sweep) + 1;
  device::cuda::send(part_of(work, block, sweep), device::cuda::words_of(part, epoch));
}

/// Does the first `sweeps` sweeps again, from the launch's input, and stores their result: the norm
/// of the last of them stops the run. By then blocks may have done one more; since they repeat
/// their sweeps with their neighbours, all blocks of all ranks do. Keeping every result that has a
/// norm took 7.06 us instead of 5.43 for 1400x1400 cells in f64, norm each sweep, on an H100.
///
/// A function of its own, so that the other loop keeps its registers: as a second turn of that,
/// 512x512 cells in f32 took 1.33 us instead of 1.19. It gets addresses of the kernel's
/// arguments, which without __grid_constant__ would make the kernel copy them to its stack.
template <int axes, int rows, class Real, class Update>
__device__ __noinline__ void repeat(const ResidentWork<Real>& work, const Update& update,
                                    typename VectorOf<Real>::Type* shared, Places<Real>& places,
                                    bool& lost, int sweeps) {
  Resident<axes, rows, Real> cells(work, static_cast<int>(blockIdx.x) - 1, shared, places, lost);
  // Epochs that no sweep had. The first overwrites the slot of edges that the last of these sweeps
  // read, which all blocks had done when its norm was known; a neighbour that does one more may
  // have yet to read those in the other one.
  const auto count = static_cast<unsigned>(work.count), last = static_cast<unsigned>(sweeps) - 1;
  const unsigned first_epoch = work.epoch + count + ((count ^ last) & 1);
  if (cells.works()) cells.load();
  __syncthreads();
  if (cells.works()) cells.send_first(first_epoch);
  if (axes == 3 && cells.works()) cells.share_lines();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    if (__syncthreads_or(lost)) return;
    const unsigned epoch = first_epoch + static_cast<unsigned>(sweep);
    cells.await_edges(epoch);
    if constexpr (axes == 3) __syncthreads();
    Change<Norm::none, Real> nothing;
    if (cells.works()) cells.sweep_any(update, sweep, epoch, sweep + 1 < sweeps, nothing);
    if constexpr (axes == 3) {
      __syncthreads();
      if (cells.works()) cells.share_lines();
    }
  }
  if (cells.works()) cells.store();
}

template <int axes, int rows, Norm kind, class Real, class Update>
__global__ void __launch_bounds__(resident_threads, 1)
    persist(const __grid_constant__ ResidentWork<Real> work, ReduceWork before,
            const __grid_constant__ Update update) {
  if (blockIdx.x == 0) return reduce_sweeps<kind>(work, before);
  using Answer = Permission::Answer;
  __shared__ double of_warp[resident_warps];
  __shared__ Answer answers[2];
  __shared__ Places<Real> places[resident_warps];
  __shared__ bool lost;
  if (threadIdx.x == 0) lost = false;
  __syncthreads();
  const int block = static_cast<int>(blockIdx.x) - 1;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  auto* const shared =
      reinterpret_cast<typename VectorOf<Real>::Type*>(device::cuda::kept_block_memory());
  Resident<axes, rows, Real> cells(work, block, shared, places[warp], lost);
  Permission permission(work);
  if (threadIdx.x == warp_lanes) answers[1] = permission.ask_to_begin();
  if (cells.works()) cells.load();
  __syncthreads();
  // After a stop nothing may be sent: a neighbour that is late has yet to read, for the sweep that
  // its run ends with, the edge in the slot that this launch's first one would overwrite.
  if (answers[1] != Answer::go) return;
  if (cells.works()) cells.send_first(work.epoch);
  if (axes == 3 && cells.works()) cells.share_lines();
  int to_norm = work.first_norm;  // sweeps until one has a norm
  int sweep = 0;
  for (;; ++sweep) {
    // Not in the first warp, which may be sending a partial norm: a look takes 0.6 us.
    if (threadIdx.x == warp_lanes) answers[sweep % 2] = lost ? Answer::lost : permission.ask(sweep);
    __syncthreads();
    const Answer answer = answers[sweep % 2];
    if (answer == Answer::go && sweep == work.count) break;
    if (answer == Answer::ends_with_last || answer == Answer::ends_with_last_but_one) {
      const int sweeps = answer == Answer::ends_with_last ? sweep : sweep - 1;
      if (sweeps > 0) repeat<axes, rows>(work, update, shared, places[warp], lost, sweeps);
      return;
    }
    if (answer != Answer::go) return;
    const bool has_norm = to_norm == 0;
    to_norm = has_norm ? work.norm_every - 1 : to_norm - 1;
    const unsigned epoch = work.epoch + static_cast<unsigned>(sweep);
    const bool sends = sweep + 1 < work.count;
    cells.await_edges(epoch);
    if constexpr (axes == 3) __syncthreads();
    if (has_norm) {
      Change<kind, Real> change;
      if (cells.works()) cells.sweep(update, sweep, epoch, sends, change);
      const double part = change.of_warp();
      if (threadIdx.x % warp_lanes == 0) of_warp[warp] = part;
      __syncthreads();
      // Before the wait for permission, which depends on parts of earlier sweeps. A lost edge ends
      // the run without this norm.
      if (warp == 0 && !lost) send_part<kind>(work, block, of_warp, sweep);
    } else if (cells.works()) {
      Change<Norm::none, Real> nothing;
      cells.sweep(update, sweep, epoch, sends, nothing);
    }
    if constexpr (axes == 3) {
      if (!has_norm) __syncthreads();
      if (cells.works()) cells.share_lines();
    }
  }
  if (cells.works()) cells.store();
}

}  // namespace halocline::stencil::cuda
