// SPDX-License-Identifier: Apache-2.0
// All copies of a plan in one launch. The host cuts them into chunks, one for each block, and lists
// the segments in each chunk, so that long rows and single corners keep the GPU equally busy.
//
// Between GPUs each chunk has a flag: its block raises the flag when the chunk is packed, and the
// block that unpacks it on the other side waits for that flag alone. So one kernel packs, signals,
// waits and unpacks, and none of its blocks waits for another of them.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <halocline/error.hpp>

#include "device/buffer.hpp"
#include "device/cuda/early.cuh"
#include "device/cuda/flags.cuh"
#include "device/cuda/launch.cuh"
#include "device/queue.hpp"
#include "pack/cuda/copies.hpp"
#include "pack/cuda/segments.hpp"

namespace halocline::pack::cuda {
namespace {

using device::Epoch;

constexpr unsigned block_threads = 256;
constexpr int blocks_per_multiprocessor = 4;
// Words per thread at a time, so that as many loads are in flight at once; and one word if no chunk
// has more words than a block has threads, which saves 0.1 us.
constexpr unsigned most_words_per_thread = 4, fewest_words_per_thread = 1;
// And in chunks of several segments, where more would not fit in registers.
constexpr unsigned words_in_segments = 2;

/// Where a word comes from and goes to.
struct WordCopy {
  const std::byte* from;
  std::byte* to;
};

/// Words next to each other on both sides.
struct InOnePiece {
  const std::byte* from;
  std::byte* to;

  __device__ WordCopy at(std::uint32_t word, std::size_t word_bytes) const {
    return {from + word * word_bytes, to + word * word_bytes};
  }
};

/// The fields where the plan found them.
struct InPlace {
  __device__ void share() const {}

  /// The bytes that a chunk's addresses on each side are shifted by.
  struct Shifts {
    std::int64_t from_slot, to_slot;

    __device__ Shifts(const Chunk&, bool packs, std::int64_t slot)
        : from_slot(packs ? 0 : slot), to_slot(packs ? slot : 0) {}
    __device__ std::int64_t from(const Segment&) const { return from_slot; }
    __device__ std::int64_t to(const Segment&) const { return to_slot; }
  };
};

/// The fields elsewhere. A kernel's argument, which its blocks keep in their own memory. 26
/// neighbours take 0.3 us longer on two H200 (bench/results/h200x2/gpu-moved.txt).
struct Moved {
  std::int64_t bytes[most_moved_on_gpus];

  /// Before a barrier.
  __device__ void share() const {
    if (threadIdx.x < most_moved_on_gpus) shared()[threadIdx.x] = bytes[threadIdx.x];
  }

  struct Shifts {
    std::int64_t slot;
    unsigned of_field;  // 1: where a word comes from, 2: where it goes to, 3: both

    /// What moves within a rank has fields on both sides, and no slot.
    __device__ Shifts(const Chunk& chunk, bool packs, std::int64_t slot_shift)
        : slot(slot_shift),
          of_field(chunk.is_within != 0 ? 3
                   : packs              ? 1
                                        : 2) {}
    __device__ std::int64_t from(const Segment& segment) const {
      return (of_field & 1) != 0 ? shared()[segment.field] : slot;
    }
    __device__ std::int64_t to(const Segment& segment) const {
      return (of_field & 2) != 0 ? shared()[segment.field] : slot;
    }
  };

 private:
  static __device__ std::int64_t* shared() {
    __shared__ std::int64_t here[most_moved_on_gpus];
    return here;
  }
};

struct InOneSegment {
  const Segment& segment;
  std::int64_t from_shift, to_shift;

  __device__ WordCopy at(std::uint32_t word, std::size_t word_bytes) const {
    const WordPlace place = place_of(segment, word);
    return {place.on(segment.from, word_bytes) + from_shift,
            place.on(segment.to, word_bytes) + to_shift};
  }
};

/// Finds a word's segment by where each begins, or each of `every`, which the block keeps in its
/// own memory: by the list in the GPU's, 26 neighbours took up to 12 % longer on two H200. Make one
/// on all threads.
template <class Fields>
class InSegments {
 public:
  __device__ InSegments(const Segment* segments, std::uint32_t count,
                        const typename Fields::Shifts& shifts)
      : segments_(segments),
        count_(count),
        every_((count + block_threads - 1) / block_threads),
        shifts_(shifts) {
    const std::uint32_t mine = threadIdx.x * every_;
    __syncthreads();  // all have copied what was here
    begins()[threadIdx.x] = mine < count ? segments[mine].before : 0;
    __syncthreads();
  }

  __device__ WordCopy at(std::uint32_t word, std::size_t word_bytes) const {
    std::uint32_t low = 0, high = (count_ + every_ - 1) / every_;
    last_before(word, low, high, [](std::uint32_t one) { return begins()[one]; });
    low *= every_;
    high = low + every_ < count_ ? low + every_ : count_;
    last_before(word, low, high, [&](std::uint32_t one) { return segments_[one].before; });
    const Segment& segment = segments_[low];
    return InOneSegment{segment, shifts_.from(segment), shifts_.to(segment)}.at(word, word_bytes);
  }

 private:
  static __device__ std::uint32_t* begins() {
    __shared__ std::uint32_t here[block_threads];
    return here;
  }
  /// Sets `low` to the last one that begins at the word or before.
  template <class BeginOf>
  static __device__ void last_before(std::uint32_t word, std::uint32_t& low, std::uint32_t high,
                                     const BeginOf& begin_of) {
#pragma unroll 1
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      if (begin_of(middle) <= word)
        low = middle;
      else
        high = middle;
    }
  }

  const Segment* segments_;
  std::uint32_t count_, every_;
  typename Fields::Shifts shifts_;
};

template <class Word, unsigned words_per_thread, class Words>
__device__ void copy_words(std::uint32_t count, const Words& words) {
#pragma unroll 1
  for (std::uint32_t base = 0; base < count; base += block_threads * words_per_thread) {
    Word values[words_per_thread]{};
    Word* places[words_per_thread]{};
#pragma unroll
    for (unsigned k = 0; k < words_per_thread; ++k) {
      const std::uint32_t word = base + k * block_threads + threadIdx.x;
      if (word >= count) continue;
      const WordCopy copy = words.at(word, sizeof(Word));
      values[k] = *reinterpret_cast<const Word*>(copy.from);
      places[k] = reinterpret_cast<Word*>(copy.to);
    }
#pragma unroll
    for (unsigned k = 0; k < words_per_thread; ++k)
      if (base + k * block_threads + threadIdx.x < count) *places[k] = values[k];
  }
}

/// For words of at least 4 bytes.
template <unsigned words_per_thread, class Words>
__device__ void copy_long_words(const Chunk& chunk, const Words& words) {
  if (chunk.word_bytes == 16) return copy_words<uint4, words_per_thread>(chunk.words, words);
  if (chunk.word_bytes == 8) return copy_words<std::uint64_t, words_per_thread>(chunk.words, words);
  copy_words<std::uint32_t, words_per_thread>(chunk.words, words);
}

/// Copies a chunk, with its addresses on each side shifted. Most chunks have one segment, and those
/// of long rows one piece, which saves most of the work for addresses. A call, not inlined three
/// times: a GPU that runs code once waits for the code, too.
template <unsigned words_per_thread, class Fields>
__device__ __attribute__((noinline)) void copy_chunk(const ListedChunk& listed,
                                                     const Segment* segments,
                                                     typename Fields::Shifts shifts) {
  const Chunk& chunk = listed.chunk;
  const Segment& first = listed.first;
  if (chunk.segments > 1 || chunk.word_bytes < 4) {
    const InSegments<Fields> words(segments + chunk.first_segment, chunk.segments, shifts);
    if (chunk.word_bytes == 1) return copy_words<std::uint8_t, 1>(chunk.words, words);
    if (chunk.word_bytes == 2) return copy_words<std::uint16_t, 1>(chunk.words, words);
    constexpr unsigned few =
        words_per_thread < words_in_segments ? words_per_thread : words_in_segments;
    return copy_long_words<few>(chunk, words);
  }
  const std::int64_t from_shift = shifts.from(first), to_shift = shifts.to(first);
  if (first.is_one_piece())
    return copy_long_words<words_per_thread>(
        chunk, InOnePiece{first.from.first + from_shift, first.to.first + to_shift});
  copy_long_words<words_per_thread>(chunk, InOneSegment{first, from_shift, to_shift});
}

/// The list of one direction, for the kernel. A block handles every gridDim.x-th chunk.
struct List {
  const ListedChunk* chunks;
  Epoch* epochs;  // the last epoch of each chunk; of those without a flag it stays
  const Segment* segments;
  std::uint32_t count;
};

/// A block's iteration over a list: every gridDim.x-th chunk. The constructor reads constant data,
/// while the previous kernel may still run; epochs are read only after await_stream(). The next
/// chunk is read while this one is copied, and is there after the next barrier: in the block's
/// memory, for in registers, with the words on their way, two chunks would not fit.
class Turns {
 public:
  __device__ Turns(const List& list, ListedChunk (&turns)[2])
      : list_(list), turns_(turns), at_(blockIdx.x) {
    if (!ended()) read(at_, turns_[0]);
  }
  __device__ void read_epoch() {
    if (!ended()) epoch_ = list_.epochs[at_] + 1;
  }
  __device__ bool ended() const { return at_ >= list_.count; }
  __device__ bool is_last() const { return list_.count - at_ <= gridDim.x; }

  /// After a barrier that all have reached who copied the last chunk.
  __device__ void look_ahead() {
    if (is_last()) return;
    read(at_ + gridDim.x, turns_[(number_ + 1) % 2]);
    next_epoch_ = list_.epochs[at_ + gridDim.x] + 1;
  }
  template <unsigned words_per_thread, class Fields>
  __device__ void copy(bool packs) const {
    const bool is_odd = chunk().flag != nullptr && epoch_ % 2 != 0;
    copy_chunk<words_per_thread, Fields>(
        turn(), list_.segments,
        typename Fields::Shifts(chunk(), packs, is_odd ? chunk().to_odd : 0));
  }
  /// The work of one thread after all threads have stored.
  class Signal {
   public:
    __device__ explicit Signal(const Turns& turns)
        : flag_(turns.chunk().flag), epoch_(turns.epoch_) {}
    __device__ void raise() const {
      if (flag_ != nullptr) device::cuda::raise(flag_, epoch_);
    }

   private:
    Epoch* flag_;
    Epoch epoch_;
  };
  __device__ bool has_come() const {
    return chunk().flag == nullptr || device::cuda::reached(chunk().flag, epoch_);
  }
  __device__ bool await() const {
    return chunk().flag == nullptr ||
           device::cuda::await(chunk().flag, epoch_, chunk().watch, chunk().message);
  }
  __device__ void go_on() {
    // Only this block reads it again, in a later launch.
    if (chunk().flag != nullptr && threadIdx.x == 0) list_.epochs[at_] = epoch_;
    at_ += gridDim.x;
    ++number_;
    epoch_ = next_epoch_;
  }

 private:
  __device__ const ListedChunk& turn() const { return turns_[number_ % 2]; }
  __device__ const Chunk& chunk() const { return turn().chunk; }
  __device__ void read(std::uint32_t at, ListedChunk& to) const {
    constexpr unsigned words = sizeof(ListedChunk) / sizeof(std::uint32_t);
    static_assert(words <= block_threads);
    if (threadIdx.x < words)
      reinterpret_cast<std::uint32_t*>(&to)[threadIdx.x] =
          reinterpret_cast<const std::uint32_t*>(list_.chunks + at)[threadIdx.x];
  }

  List list_;
  ListedChunk (&turns_)[2];
  std::uint32_t at_;
  unsigned number_ = 0;
  Epoch epoch_ = 0, next_epoch_ = 0;
};

/// Between two chunks to pack, a block unpacks a chunk that has arrived, so that links and memory
/// are busy at the same time. It does not wait until it has packed all its chunks, because others
/// wait for those.
template <unsigned words_per_thread, class Fields>
__global__ void __launch_bounds__(block_threads, blocks_per_multiprocessor)
    copy_lists(List packing, List unpacking, Fields fields) {
  device::cuda::let_next_begin();
  __shared__ ListedChunk turns_to_pack[2], turns_to_unpack[2];
  __shared__ bool has_come;
  Turns to_pack(packing, turns_to_pack), to_unpack(unpacking, turns_to_unpack);
  fields.share();
  device::cuda::await_stream();
  to_pack.read_epoch();
  to_unpack.read_epoch();
  __syncthreads();
  while (!to_pack.ended()) {
    to_pack.look_ahead();
    to_pack.copy<words_per_thread, Fields>(true);
    // Read now: the others continue, and this turn's memory is used again, while one thread raises
    // it.
    const Turns::Signal signal(to_pack);
    const bool is_last = to_pack.is_last();
    to_pack.go_on();
    __syncthreads();  // all have stored
    if (threadIdx.x == 0) signal.raise();
    if (is_last || to_unpack.ended()) continue;
    if (threadIdx.x == 0) has_come = to_unpack.has_come();
    __syncthreads();
    if (!has_come) continue;
    to_unpack.look_ahead();
    to_unpack.copy<words_per_thread, Fields>(false);
    to_unpack.go_on();
  }
  for (; !to_unpack.ended(); to_unpack.go_on()) {
    __syncthreads();  // all have copied, and seen the last `has_come`
    to_unpack.look_ahead();
    if (threadIdx.x == 0) has_come = to_unpack.await();
    __syncthreads();
    if (has_come) to_unpack.copy<words_per_thread, Fields>(false);
  }
}

template <class Fields>
void load_kernels() {
  device::cuda::load(copy_lists<most_words_per_thread, Fields>);
  device::cuda::load(copy_lists<fewest_words_per_thread, Fields>);
}

/// A list in the current GPU's memory.
template <class Item>
std::shared_ptr<void> on_gpu(const std::vector<Item>& items) {
  const auto bytes = static_cast<std::int64_t>(items.size() * sizeof(Item));
  std::shared_ptr<void> memory = device::allocate(Memory::device, bytes);
  device::copy(memory.get(), items.data(), bytes, Stream::host());
  return memory;
}

}  // namespace

class Copies {
 public:
  Copies(const std::vector<Bundle>& bundles, Direction direction, const std::vector<Move>& moves)
      : direction_(direction),
        multiprocessors_(device::cuda::multiprocessors()),
        start_(device::cuda::earliest_start()) {
    Lister lister;
    for (const Bundle& bundle : bundles) {
      lister.add(bundle, direction);
      signals_ |= bundle.flags.first != nullptr;
    }
    lister.take_messages_in_turn();
    add_moves(lister, moves);
    count_ = static_cast<std::int64_t>(lister.chunks().size());
    for (const ListedChunk& listed : lister.chunks()) {
      has_long_chunks_ |= listed.chunk.words > block_threads;
      widest_word_ = std::max<std::int64_t>(widest_word_, listed.chunk.word_bytes);
    }
    load_kernels<InPlace>();
    load_kernels<Moved>();
    chunks_ = on_gpu(lister.chunks());
    epochs_ = on_gpu(lister.epochs());
    segments_ = on_gpu(lister.segments());
  }

  List list() const {
    return {static_cast<const ListedChunk*>(chunks_.get()), static_cast<Epoch*>(epochs_.get()),
            static_cast<const Segment*>(segments_.get()), static_cast<std::uint32_t>(count_)};
  }
  std::int64_t count() const { return count_; }
  /// Blocks that wait must all be resident, or the blocks that raise their flags might not become
  /// resident; also next to another such kernel: 4 per multiprocessor, which holds 8.
  std::int64_t most_blocks() const {
    return signals_ ? blocks_per_multiprocessor * multiprocessors_ : device::cuda::most_blocks;
  }
  /// Whether threads have more than one word each.
  bool has_long_chunks() const { return has_long_chunks_; }
  std::int64_t widest_word() const { return widest_word_; }
  Direction direction() const { return direction_; }
  device::cuda::Start start() const { return start_; }

 private:
  /// Moves go to blocks that have no chunk of a message, if there are enough: others would unpack
  /// it late: on two H100, 3 fields of 256^3 in fp64 took 49 us with chunks of at most 4 words a
  /// thread, and 39 with 16; in fp32 8 fields 105 and 93, 3 fields 48 and 52
  /// (bench/results/h100x2/gpu-chunks-tried.txt). Without messages there may be more blocks than
  /// the GPU holds at once.
  void add_moves(Lister& lister, const std::vector<Move>& moves) const {
    const std::int64_t all = std::int64_t{blocks_per_multiprocessor} * multiprocessors_;
    if (signals_)
      lister.add(moves, block_threads, 16 * block_threads,
                 std::max(all / 2, all - std::ssize(lister.chunks())));
    else
      lister.add(moves, block_threads, most_words_per_thread * block_threads, all);
  }

  Direction direction_;
  std::int64_t multiprocessors_;
  device::cuda::Start start_;
  bool signals_ = false, has_long_chunks_ = false;
  std::int64_t count_ = 0, widest_word_ = 1;
  std::shared_ptr<void> chunks_, epochs_, segments_;
};

std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>& bundles, Direction direction,
                                          const std::vector<Move>& moves) {
  return std::make_shared<Copies>(bundles, direction, moves);
}

std::int64_t widest_word(const Copies& copies) { return copies.widest_word(); }

void run(const Copies* first, const Copies* second, Stream stream, Shifts shifts) {
  List packing{}, unpacking{};
  std::int64_t blocks = 0, most = device::cuda::most_blocks;
  auto start = device::cuda::Start::after_all;
  bool has_long_chunks = false;
  for (const Copies* copies : {first, second}) {
    if (copies == nullptr) continue;
    (copies->direction() == Direction::pack ? packing : unpacking) = copies->list();
    blocks = std::max(blocks, copies->count());
    most = std::min(most, copies->most_blocks());
    start = copies->start();
    has_long_chunks |= copies->has_long_chunks();
  }
  if (blocks == 0) return;
  const auto launch = [&](const auto& fields) {
    using Fields = std::decay_t<decltype(fields)>;
    device::cuda::launch({start},
                         has_long_chunks ? copy_lists<most_words_per_thread, Fields>
                                         : copy_lists<fewest_words_per_thread, Fields>,
                         device::cuda::blocks_for(blocks, 1, most), block_threads, stream, packing,
                         unpacking, fields);
  };
  if (shifts.empty()) return launch(InPlace{});
  if (shifts.size() > most_moved_on_gpus)
    throw Error(ErrorKind::internal, "more fields are moved than a kernel has arguments for");
  Moved moved{};
  std::copy(shifts.begin(), shifts.end(), moved.bytes);
  launch(moved);
}

}  // namespace halocline::pack::cuda
