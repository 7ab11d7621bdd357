// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/flags.cuh"
#include "device/cuda/launch.cuh"
#include "gpu/stream_work.hpp"

namespace halocline::gpu {
namespace {

using Word = std::uint64_t;
constexpr std::int64_t word_bytes = sizeof(Word);
constexpr unsigned threads = 256;

__global__ void pass(unsigned long long time) {
  const unsigned long long since = device::cuda::nanoseconds();
  while (device::cuda::nanoseconds() - since < time) __nanosleep(1000);
}

/// Calls `write` with each word's number, and `write_byte` with that of each byte behind the words.
template <class Write, class WriteByte>
__device__ void for_all(std::int64_t bytes, const Write& write, const WriteByte& write_byte) {
  const std::int64_t words = bytes / word_bytes;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::int64_t i = first; i < words; i += std::int64_t{gridDim.x} * blockDim.x) write(i);
  if (first != 0) return;
  for (std::int64_t i = words * word_bytes; i < bytes; ++i) write_byte(i);
}

__global__ void count_words(Word* to, std::int64_t bytes, Words words) {
  const auto word = [=](std::int64_t i) { return words.first + static_cast<Word>(i) * words.step; };
  for_all(
      bytes, [=](std::int64_t i) { to[i] = word(i); },
      [=](std::int64_t i) {
        reinterpret_cast<unsigned char*>(to)[i] =
            static_cast<unsigned char>(word(i / word_bytes) >> (8 * (i % word_bytes)));
      });
}

__global__ void copy_words(Word* to, const Word* from, std::int64_t bytes) {
  for_all(
      bytes, [=](std::int64_t i) { to[i] = from[i]; },
      [=](std::int64_t i) {
        reinterpret_cast<unsigned char*>(to)[i] = reinterpret_cast<const unsigned char*>(from)[i];
      });
}

unsigned blocks_for(std::int64_t bytes) {
  // How fast it is does not matter; 16 MiB take them less than a millisecond.
  constexpr std::int64_t most = 64;
  return device::cuda::blocks_for(bytes / word_bytes, threads, most);
}

}  // namespace

void pass_time(Stream stream, std::chrono::nanoseconds time) {
  device::cuda::launch(pass, 1, 1, stream, time.count());
}

void write_words(Stream stream, void* to, std::int64_t bytes, Words words) {
  device::cuda::launch(count_words, blocks_for(bytes), threads, stream, static_cast<Word*>(to),
                       bytes, words);
}

void copy_by_kernel(Stream stream, void* to, const void* from, std::int64_t bytes) {
  device::cuda::launch(copy_words, blocks_for(bytes), threads, stream, static_cast<Word*>(to),
                       static_cast<const Word*>(from), bytes);
}

}  // namespace halocline::gpu
