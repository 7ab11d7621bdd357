// All copies of a plan in one launch. The host cuts runs into jobs of a few KiB, one for each
// block, so that long rows and lone corners keep the GPU equally busy.

#include <algorithm>
#include <cstdint>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "device/queue.hpp"
#include "pack/cuda/copies.hpp"

namespace halocline::pack::cuda {
namespace {

constexpr unsigned block_threads = 256;
// A job's words: four for each thread, so that four loads are under way at once.
constexpr unsigned words_per_thread = 4;
constexpr std::int64_t job_words = block_threads * words_per_thread;

/// Part of a run: words of 1 to 16 bytes, `per_piece` of them next to each other in the field,
/// pieces `stride` bytes apart; all next to each other in the slot.
struct Job {
  std::byte* field;    // the piece that the first word is in
  std::byte* slot[2];  // the first word's place
  const std::uint64_t* epoch;
  std::int64_t stride;
  std::uint32_t per_piece;  // capped: a job has fewer words
  std::uint32_t first;      // word within its piece
  std::uint32_t words;
  std::uint32_t word_bytes;
};

template <class Word>
__device__ void copy_words(const Job& job, std::byte* slot, bool packs) {
  Word values[words_per_thread]{};
  Word* places[words_per_thread]{};
#pragma unroll
  for (unsigned k = 0; k < words_per_thread; ++k) {
    const unsigned word = k * block_threads + threadIdx.x;
    if (word >= job.words) continue;
    const unsigned at = job.first + word;
    std::byte* of_field = job.field + at / job.per_piece * job.stride +
                          static_cast<std::int64_t>(at % job.per_piece) * sizeof(Word);
    std::byte* of_slot = slot + static_cast<std::int64_t>(word) * sizeof(Word);
    values[k] = *reinterpret_cast<const Word*>(packs ? of_field : of_slot);
    places[k] = reinterpret_cast<Word*>(packs ? of_slot : of_field);
  }
#pragma unroll
  for (unsigned k = 0; k < words_per_thread; ++k)
    if (k * block_threads + threadIdx.x < job.words) *places[k] = values[k];
}

__global__ void __launch_bounds__(block_threads)
    copy_jobs(const Job* jobs, std::int64_t count, bool packs) {
  for (std::int64_t j = blockIdx.x; j < count; j += gridDim.x) {
    const Job job = jobs[j];
    const std::uint64_t epoch = job.epoch != nullptr ? *job.epoch + (packs ? 1 : 0) : 0;
    std::byte* slot = job.slot[epoch % 2];
    switch (job.word_bytes) {
      case 16:
        copy_words<uint4>(job, slot, packs);
        break;
      case 8:
        copy_words<std::uint64_t>(job, slot, packs);
        break;
      case 4:
        copy_words<std::uint32_t>(job, slot, packs);
        break;
      case 2:
        copy_words<std::uint16_t>(job, slot, packs);
        break;
      default:
        copy_words<std::uint8_t>(job, slot, packs);
    }
  }
}

/// The widest word, at most 16 bytes, on whose boundaries all of these lie.
std::int64_t word_for(std::uint64_t together) {
  std::int64_t word = 16;
  while (word > 1 && together % static_cast<std::uint64_t>(word) != 0) word /= 2;
  return word;
}

/// Cuts a run, whose bytes stand in the slots from `even` and `odd` on, into jobs.
void add_jobs(std::vector<Job>& jobs, std::byte* field, const Run& run, std::byte* even,
              std::byte* odd, const std::uint64_t* epoch) {
  const auto bits = [](const std::byte* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  };
  const std::int64_t word =
      word_for(bits(field) | bits(even) | bits(odd) | static_cast<std::uint64_t>(run.bytes) |
               static_cast<std::uint64_t>(run.count > 1 ? run.stride : 0));
  const std::int64_t per_piece = run.bytes / word, words = per_piece * run.count;
  for (std::int64_t at = 0, here = 0; at < words; at += here) {
    // The piece's words that lie before this job are left out of a long piece, so that the
    // numbers stay small.
    const std::int64_t within = at % per_piece;
    const bool long_piece = per_piece > job_words;
    const std::int64_t left = long_piece ? std::min(words - at, per_piece - within) : words - at;
    here = std::min(job_words, left);
    jobs.push_back({.field = field + at / per_piece * run.stride + (long_piece ? within * word : 0),
                    .slot = {even + at * word, odd + at * word},
                    .epoch = epoch,
                    .stride = run.stride,
                    .per_piece = static_cast<std::uint32_t>(long_piece ? job_words : per_piece),
                    .first = static_cast<std::uint32_t>(long_piece ? 0 : within),
                    .words = static_cast<std::uint32_t>(here),
                    .word_bytes = static_cast<std::uint32_t>(word)});
  }
}

std::vector<Job> jobs_of(const std::vector<Bundle>& bundles) {
  std::vector<Job> jobs;
  for (const Bundle& bundle : bundles) {
    std::byte* const odd = bundle.epoch != nullptr ? bundle.odd : bundle.even;
    for (const Piece& piece : bundle.pieces) {
      std::int64_t at = piece.offset;
      for (const Run& run : piece.runs) {
        add_jobs(jobs, piece.field + run.offset, run, bundle.even + at, odd + at, bundle.epoch);
        at += run.bytes * run.count;
      }
    }
  }
  return jobs;
}

}  // namespace

class Copies {
 public:
  Copies(const std::vector<Bundle>& bundles, Direction direction) : direction_(direction) {
    const std::vector<Job> jobs = jobs_of(bundles);
    count_ = static_cast<std::int64_t>(jobs.size());
    const std::int64_t bytes = count_ * static_cast<std::int64_t>(sizeof(Job));
    jobs_ = device::allocate(Memory::device, bytes);
    device::copy(jobs_.get(), jobs.data(), bytes, Stream::host());
  }

  void run(Stream stream) const {
    if (count_ == 0) return;
    device::cuda::launch(copy_jobs, device::cuda::blocks_for(count_, 1), block_threads, stream,
                         static_cast<const Job*>(jobs_.get()), count_,
                         direction_ == Direction::pack);
  }

 private:
  Direction direction_;
  std::int64_t count_ = 0;
  std::shared_ptr<void> jobs_;
};

std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>& bundles, Direction direction) {
  return std::make_shared<Copies>(bundles, direction);
}

void run(const Copies& copies, Stream stream) { copies.run(stream); }

}  // namespace halocline::pack::cuda
