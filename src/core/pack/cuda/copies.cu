// SPDX-License-Identifier: Apache-2.0
// All copies of a plan in one launch. The host cuts every slot into chunks, one for each block, and
// lists the segments of runs in each chunk, so that long rows and single corners keep the GPU
// equally busy.
//
// Between GPUs each chunk has a flag: its block raises the flag when the chunk is packed, and the
// block that unpacks it on the other side waits for that flag alone. So one kernel packs, signals,
// waits and unpacks, and none of its blocks waits for another of them.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "device/buffer.hpp"
#include "device/cuda/early.cuh"
#include "device/cuda/flags.cuh"
#include "device/cuda/launch.cuh"
#include "device/port.hpp"
#include "device/queue.hpp"
#include "pack/cuda/copies.hpp"

namespace halocline::pack::cuda {
namespace {

using device::Epoch;

constexpr unsigned block_threads = 256;
// Words per thread at a time, so that as many loads are in flight at once; and one word if no chunk
// has more words than a block has threads, which saves 0.1 us.
constexpr unsigned most_words_per_thread = 4, fewest_words_per_thread = 1;
// If pieces are longer, a segment is part of one.
constexpr std::int64_t longest_piece = 16384;

/// Part of a run that lies in one chunk: words of 1 to 16 bytes, `per_piece` of them next to each
/// other in the field, pieces `stride` bytes apart; all next to each other in the slot.
struct Segment {
  std::byte* field;  // the piece that the first word is in
  std::int64_t stride;
  std::uint32_t per_piece;
  std::uint32_t skip;   // the first word within its piece
  std::uint32_t first;  // words of the chunk before it
  std::uint32_t at;     // the first word's place in the chunk's part of the slot
};

/// Part of a slot; constant after construction.
struct Chunk {
  std::byte* slot[2];
  std::uint64_t* flag;  // or null
  const device::Watch* watch;
  int message;
  std::uint32_t first_segment, segments;
  std::uint32_t words, word_bytes;
  Segment first;  // its first segment, usually the only one
};

/// Returns the last of a chunk's segments that begins at `word` or before.
__device__ Segment segment_of(const Chunk& chunk, const Segment* segments, std::uint32_t word) {
  if (chunk.segments <= 1) return chunk.first;
  std::uint32_t low = 0, high = chunk.segments;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    if (segments[middle].first <= word)
      low = middle;
    else
      high = middle;
  }
  return segments[low];
}

template <class Word, unsigned words_per_thread>
__device__ void copy_words(const Chunk& chunk, const Segment* segments, std::byte* slot,
                           bool packs) {
  for (std::uint32_t base = 0; base < chunk.words; base += block_threads * words_per_thread) {
    Word values[words_per_thread]{};
    Word* places[words_per_thread]{};
#pragma unroll
    for (unsigned k = 0; k < words_per_thread; ++k) {
      const std::uint32_t word = base + k * block_threads + threadIdx.x;
      if (word >= chunk.words) continue;
      const Segment segment = segment_of(chunk, segments, word);
      const std::uint32_t within = word - segment.first, at = segment.skip + within;
      std::byte* of_field = segment.field + at / segment.per_piece * segment.stride +
                            static_cast<std::int64_t>(at % segment.per_piece) * sizeof(Word);
      std::byte* of_slot = slot + static_cast<std::int64_t>(segment.at + within) * sizeof(Word);
      values[k] = *reinterpret_cast<const Word*>(packs ? of_field : of_slot);
      places[k] = reinterpret_cast<Word*>(packs ? of_slot : of_field);
    }
#pragma unroll
    for (unsigned k = 0; k < words_per_thread; ++k)
      if (base + k * block_threads + threadIdx.x < chunk.words) *places[k] = values[k];
  }
}

template <unsigned words_per_thread>
__device__ void copy_chunk(const Chunk& chunk, const Segment* segments, std::byte* slot,
                           bool packs) {
  segments += chunk.first_segment;
  switch (chunk.word_bytes) {
    case 16:
      return copy_words<uint4, words_per_thread>(chunk, segments, slot, packs);
    case 8:
      return copy_words<std::uint64_t, words_per_thread>(chunk, segments, slot, packs);
    case 4:
      return copy_words<std::uint32_t, words_per_thread>(chunk, segments, slot, packs);
    case 2:
      return copy_words<std::uint16_t, words_per_thread>(chunk, segments, slot, packs);
    default:
      return copy_words<std::uint8_t, words_per_thread>(chunk, segments, slot, packs);
  }
}

/// The list of one direction, for the kernel. A block handles every gridDim.x-th chunk.
struct List {
  const Chunk* chunks;
  Epoch* epochs;  // the last epoch of each chunk, if it has a flag
  const Segment* segments;
  std::uint32_t count;
};

__device__ std::byte* slot_in(const Chunk& chunk, Epoch epoch) {
  return chunk.flag != nullptr && epoch % 2 != 0 ? chunk.slot[1] : chunk.slot[0];
}

/// A block's iteration over a list: every gridDim.x-th chunk. The constructor reads constant data,
/// while the previous kernel may still run; epochs are read only after await_stream().
class Turns {
 public:
  __device__ explicit Turns(const List& list) : list_(list), at_(blockIdx.x) {
    if (!ended()) chunk_ = list_.chunks[at_];
  }
  __device__ void read_epoch() {
    if (!ended()) epoch_ = list_.epochs[at_] + 1;
  }
  __device__ bool ended() const { return at_ >= list_.count; }
  __device__ bool is_last() const { return list_.count - at_ <= gridDim.x; }

  template <unsigned words_per_thread>
  __device__ void copy(bool packs) const {
    copy_chunk<words_per_thread>(chunk_, list_.segments, slot_in(chunk_, epoch_), packs);
  }
  /// Called by one thread, after all threads have stored.
  __device__ void tell() const {
    if (chunk_.flag != nullptr) device::cuda::raise(chunk_.flag, epoch_);
  }
  __device__ bool has_come() const {
    return chunk_.flag == nullptr || device::cuda::reached(chunk_.flag, epoch_);
  }
  __device__ bool await() const {
    return chunk_.flag == nullptr ||
           device::cuda::await(chunk_.flag, epoch_, chunk_.watch, chunk_.message);
  }
  __device__ void go_on() {
    // Only this block reads it again, in a later launch.
    if (threadIdx.x == 0) list_.epochs[at_] = epoch_;
    at_ += gridDim.x;
    if (ended()) return;
    chunk_ = list_.chunks[at_];
    read_epoch();
  }

 private:
  List list_;
  std::uint32_t at_;
  Chunk chunk_{};
  Epoch epoch_ = 0;
};

/// Between two chunks to pack, a block unpacks a chunk that has arrived, so that links and memory
/// are busy at the same time. It does not wait until it has packed all its chunks, because others
/// wait for those.
template <unsigned words_per_thread>
__global__ void __launch_bounds__(block_threads, 4) copy_lists(List packing, List unpacking) {
  device::cuda::let_next_begin();
  Turns to_pack(packing), to_unpack(unpacking);
  device::cuda::await_stream();
  to_pack.read_epoch();
  to_unpack.read_epoch();
  __shared__ bool has_come;
  while (!to_pack.ended()) {
    to_pack.copy<words_per_thread>(true);
    __syncthreads();  // all have stored
    if (threadIdx.x == 0) to_pack.tell();
    const bool is_last = to_pack.is_last();
    to_pack.go_on();
    if (is_last || to_unpack.ended()) continue;
    if (threadIdx.x == 0) has_come = to_unpack.has_come();
    __syncthreads();
    if (!has_come) continue;
    to_unpack.copy<words_per_thread>(false);
    to_unpack.go_on();
  }
  for (; !to_unpack.ended(); to_unpack.go_on()) {
    __syncthreads();  // all have seen the last `has_come`
    if (threadIdx.x == 0) has_come = to_unpack.await();
    __syncthreads();
    if (has_come) to_unpack.copy<words_per_thread>(false);
  }
}

using Kernel = void (*)(List, List);

/// Returns the widest word, at most 16 bytes, to which all of these are aligned.
std::int64_t word_for(std::uint64_t together) {
  std::int64_t word = 16;
  while (word > 1 && together % static_cast<std::uint64_t>(word) != 0) word /= 2;
  return word;
}

/// Part of a run within a chunk, in bytes.
struct Cut {
  std::byte* field;  // the run's first piece
  const Run* run;
  std::int64_t from;  // bytes of the run before it
  std::int64_t bytes;
  std::int64_t at;  // in the chunk's part of the slot
};

std::uint64_t bits(const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); }

/// Lists the chunks of bundles and the segments in them.
class Lister {
 public:
  void add(const Bundle& bundle) {
    const std::vector<std::pair<std::int64_t, Cut>> runs = runs_of(bundle);
    const std::int64_t bytes = runs.empty() ? 0 : runs.back().first + runs.back().second.bytes;
    const std::int64_t most = device::chunk_bytes(bytes), count = device::chunks_of(bytes);
    std::size_t next = 0;  // run that reaches into the chunk or beyond
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t from = c * most, to = std::min(bytes, from + most);
      std::vector<Cut> cuts;
      for (std::size_t r = next; r < runs.size() && runs[r].first < to; ++r) {
        const auto& [at, run] = runs[r];
        const std::int64_t begin = std::max(from, at), end = std::min(to, at + run.bytes);
        add_cuts(cuts, run, at, begin, end, from);
        if (at + run.bytes <= to) next = r + 1;
      }
      add_chunk(bundle, c, from, cuts);
    }
  }

  /// The first chunks of all messages come first, then the second ones, and so on: in order of
  /// messages, all ranks would send to the same few at once, and others would wait.
  void take_messages_in_turn() {
    std::vector<std::size_t> order(chunks_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return numbers_[a] < numbers_[b]; });
    const std::vector<Chunk> chunks = chunks_;
    const std::vector<Epoch> epochs = epochs_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      chunks_[i] = chunks[order[i]];
      epochs_[i] = epochs[order[i]];
    }
  }

  const std::vector<Chunk>& chunks() const { return chunks_; }
  const std::vector<Epoch>& epochs() const { return epochs_; }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  /// All runs with their offsets in the slot, in order.
  static std::vector<std::pair<std::int64_t, Cut>> runs_of(const Bundle& bundle) {
    std::vector<std::pair<std::int64_t, Cut>> runs;
    for (const FieldRuns& piece : bundle.pieces) {
      std::int64_t at = piece.offset;
      for (const Run& run : piece.runs) {
        const std::int64_t bytes = run.bytes * run.count;
        if (bytes > 0) runs.push_back({at, {piece.field + run.offset, &run, 0, bytes, 0}});
        at += bytes;
      }
    }
    return runs;
  }

  /// The bytes [begin, end) of a run at offset `at`, for a chunk from `from` on. Long pieces become
  /// separate segments, so that numbers stay small.
  static void add_cuts(std::vector<Cut>& cuts, const Cut& run, std::int64_t at, std::int64_t begin,
                       std::int64_t end, std::int64_t from) {
    const std::int64_t piece = run.run->bytes;
    while (begin < end) {
      const std::int64_t end_of_piece = at + ((begin - at) / piece + 1) * piece;
      const std::int64_t stop = piece > longest_piece ? std::min(end, end_of_piece) : end;
      cuts.push_back({run.field, run.run, begin - at, stop - begin, begin - from});
      begin = stop;
    }
  }

  void add_chunk(const Bundle& bundle, std::int64_t number, std::int64_t from,
                 const std::vector<Cut>& cuts) {
    // Without flags no block waits for a chunk that has nothing to copy.
    if (cuts.empty() && bundle.flags.first == nullptr) return;
    std::byte* const even = bundle.even + from;
    std::byte* const odd = bundle.flags.first != nullptr ? bundle.odd + from : even;
    std::uint64_t together = bits(even) | bits(odd);
    for (const Cut& cut : cuts)
      together |= bits(cut.field) | static_cast<std::uint64_t>(cut.run->bytes) |
                  static_cast<std::uint64_t>(cut.run->count > 1 ? cut.run->stride : 0) |
                  static_cast<std::uint64_t>(cut.at | cut.bytes | cut.from);
    const std::int64_t word = word_for(together);
    Chunk chunk{.slot = {even, odd},
                .flag = bundle.flags.first != nullptr ? bundle.flags.first + number : nullptr,
                .watch = bundle.flags.watch,
                .message = bundle.flags.message,
                .first_segment = static_cast<std::uint32_t>(segments_.size()),
                .segments = static_cast<std::uint32_t>(cuts.size()),
                .words = 0,
                .word_bytes = static_cast<std::uint32_t>(word),
                .first = {}};
    for (const Cut& cut : cuts) {
      add_segment(cut, word, chunk.words);
      chunk.words += static_cast<std::uint32_t>(cut.bytes / word);
    }
    if (!cuts.empty()) chunk.first = segments_[chunk.first_segment];
    chunks_.push_back(chunk);
    epochs_.push_back(bundle.flags.begun);
    numbers_.push_back(number);
  }

  void add_segment(const Cut& cut, std::int64_t word, std::uint32_t first) {
    const Run& run = *cut.run;
    const std::int64_t piece = cut.from / run.bytes, within = cut.from % run.bytes;
    const bool inside = within + cut.bytes <= run.bytes;
    segments_.push_back(
        {.field = cut.field + piece * run.stride + (inside ? within : 0),
         .stride = run.stride,
         .per_piece = static_cast<std::uint32_t>((inside ? cut.bytes : run.bytes) / word),
         .skip = static_cast<std::uint32_t>((inside ? 0 : within) / word),
         .first = first,
         .at = static_cast<std::uint32_t>(cut.at / word)});
  }

  std::vector<Chunk> chunks_;
  std::vector<Epoch> epochs_;
  std::vector<std::int64_t> numbers_;  // of each chunk in its message
  std::vector<Segment> segments_;
};

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
  Copies(const std::vector<Bundle>& bundles, Direction direction)
      : direction_(direction),
        multiprocessors_(device::cuda::multiprocessors()),
        start_(device::cuda::earliest_start()) {
    Lister lister;
    for (const Bundle& bundle : bundles) {
      lister.add(bundle);
      signals_ |= bundle.flags.first != nullptr;
    }
    lister.take_messages_in_turn();
    count_ = static_cast<std::int64_t>(lister.chunks().size());
    for (const Chunk& chunk : lister.chunks()) has_long_chunks_ |= chunk.words > block_threads;
    device::cuda::load(copy_lists<most_words_per_thread>);
    device::cuda::load(copy_lists<fewest_words_per_thread>);
    chunks_ = on_gpu(lister.chunks());
    epochs_ = on_gpu(lister.epochs());
    segments_ = on_gpu(lister.segments());
  }

  List list() const {
    return {static_cast<const Chunk*>(chunks_.get()), static_cast<Epoch*>(epochs_.get()),
            static_cast<const Segment*>(segments_.get()), static_cast<std::uint32_t>(count_)};
  }
  std::int64_t count() const { return count_; }
  /// Blocks that wait must all be resident, or the blocks that raise their flags might not become
  /// resident; also next to another such kernel: 4 per multiprocessor, which holds 8.
  std::int64_t most_blocks() const {
    return signals_ ? 4 * multiprocessors_ : device::cuda::most_blocks;
  }
  /// Whether threads have more than one word each.
  bool has_long_chunks() const { return has_long_chunks_; }
  Direction direction() const { return direction_; }
  device::cuda::Start start() const { return start_; }

 private:
  Direction direction_;
  std::int64_t multiprocessors_;
  device::cuda::Start start_;
  bool signals_ = false, has_long_chunks_ = false;
  std::int64_t count_ = 0;
  std::shared_ptr<void> chunks_, epochs_, segments_;
};

std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>& bundles, Direction direction) {
  return std::make_shared<Copies>(bundles, direction);
}

void run(const Copies* first, const Copies* second, Stream stream) {
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
  const Kernel kernel =
      has_long_chunks ? copy_lists<most_words_per_thread> : copy_lists<fewest_words_per_thread>;
  device::cuda::launch({start}, kernel, device::cuda::blocks_for(blocks, 1, most), block_threads,
                       stream, packing, unpacking);
}

}  // namespace halocline::pack::cuda
