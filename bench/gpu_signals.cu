// SPDX-License-Identifier: Apache-2.0
// Measures what the hardware allows of sweeps that wait for their neighbours' edges: places in a
// ring, a block each, send an edge to both neighbours and wait for both of theirs, again and again,
// and compute nothing. All places are on one GPU, then each on its own. Prints the time of such a
// sweep, and, by the multiprocessors' clocks, of an edge from its store to the sight of it.
//
//   bench_gpu_signals [places]
//
// One process uses all GPUs, by peer access. The clocks of two multiprocessors are compared by
// words that go back and forth: the other is taken to see a word halfway through the fastest trip.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "device/cuda/check.hpp"
#include "device/cuda/edge_words.cuh"

namespace {

using halocline::device::EdgeWords;
using halocline::device::cuda::check;
using halocline::device::cuda::look;
using halocline::device::cuda::nanoseconds;
using halocline::device::cuda::send;
using halocline::device::cuda::unlike;
using halocline::device::cuda::word_of;

constexpr int most_places = 128;
// An edge of 256 cells of 4 bytes: a thread for each pair of words, on both sides.
constexpr int words = 128, threads = 2 * words;
constexpr int sweeps = 20000, traced = 256, trips = 200;

/// What a place has in its GPU's memory.
struct Place {
  EdgeWords edge[2][2][words];  // from the lower and the upper neighbour, in two slots
  EdgeWords word;               // while clocks are compared
  // Ticks of its multiprocessor's clock.
  long long seen[trips];                // words of the first place
  long long sent[traced];               // edges
  long long came[2][traced];            // from the lower and the upper neighbour
  long long ticks, ns;                  // of all sweeps
  long long begun[most_places][trips];  // of the first place: trips to each other one
  long long ended[most_places][trips];
};

struct Ring {
  int count;
  Place* places[most_places];
};

__device__ void wait_for(const EdgeWords* from, unsigned epoch) {
  while (unlike(look(from), epoch) != 0) {
  }
}

__device__ EdgeWords words_of_epoch(unsigned epoch) {
  return {word_of(threadIdx.x, epoch), word_of(threadIdx.x, epoch)};
}

/// The first place exchanges words with every other one in turn.
__device__ void compare_clocks(const Ring& ring, int number) {
  Place &mine = *ring.places[number], &first = *ring.places[0];
  for (int other = 1; other < ring.count; ++other)
    for (int i = 0; i < trips; ++i) {
      const unsigned epoch = static_cast<unsigned>(other * trips + i);
      if (number == 0) {
        mine.begun[other][i] = clock64();
        send(&ring.places[other]->word, words_of_epoch(epoch));
        wait_for(&mine.word, epoch);
        mine.ended[other][i] = clock64();
      } else if (number == other) {
        wait_for(&mine.word, epoch);
        mine.seen[i] = clock64();
        send(&first.word, words_of_epoch(epoch));
      }
    }
}

__global__ void __launch_bounds__(threads, 1) run(Ring ring, int number) {
  if (threadIdx.x == 0) compare_clocks(ring, number);
  __syncthreads();
  Place& mine = *ring.places[number];
  const int side = static_cast<int>(threadIdx.x) / words;
  const int word = static_cast<int>(threadIdx.x) % words;
  Place& theirs = *ring.places[(number + (side == 0 ? ring.count - 1 : 1)) % ring.count];
  const auto begun_ns = static_cast<long long>(nanoseconds());
  const long long begun = clock64();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto epoch = static_cast<unsigned>(sweep) + 1;
    const int at = word == 0 ? sweep - (sweeps - traced) : -1;
    if (at >= 0 && side == 0) mine.sent[at] = clock64();
    send(&theirs.edge[1 - side][epoch % 2][word], words_of_epoch(epoch));
    wait_for(&mine.edge[side][epoch % 2][word], epoch);
    if (at >= 0) mine.came[side][at] = clock64();
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  mine.ticks = clock64() - begun;
  mine.ns = static_cast<long long>(nanoseconds()) - begun_ns;
}

struct Range {
  double least, median, most;
};

Range range_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values.front(), values[values.size() / 2], values.back()};
}

/// Runs a ring of places, each on the GPU of its number modulo `gpus`.
class Measured {
 public:
  Measured(int places, int gpus) : gpus_(gpus) {
    Ring ring{places, {}};
    std::vector<cudaStream_t> streams(static_cast<std::size_t>(places));
    for (int i = 0; i < places; ++i) {
      use(i);
      check(cudaMalloc(&ring.places[i], sizeof(Place)), "cudaMalloc");
      check(cudaMemset(ring.places[i], 0, sizeof(Place)), "cudaMemset");
      check(cudaStreamCreate(&streams[static_cast<std::size_t>(i)]), "cudaStreamCreate");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    for (int i = 0; i < places; ++i) {
      use(i);
      run<<<1, threads, 0, streams[static_cast<std::size_t>(i)]>>>(ring, i);
      check(cudaGetLastError(), "a launch");
    }
    for (int i = 0; i < places; ++i) {
      use(i);
      check(cudaStreamSynchronize(streams[static_cast<std::size_t>(i)]), "the sweeps");
      places_.push_back(std::make_unique<Place>());
      check(cudaMemcpy(places_.back().get(), ring.places[i], sizeof(Place), cudaMemcpyDefault),
            "cudaMemcpy");
      check(cudaFree(ring.places[i]), "cudaFree");
      check(cudaStreamDestroy(streams[static_cast<std::size_t>(i)]), "cudaStreamDestroy");
    }
    for (int i = 0; i < places; ++i) offsets_.push_back(offset_of(i));
  }

  double sweep_ns() const {
    double most = 0;
    for (const auto& place : places_) most = std::max(most, static_cast<double>(place->ns));
    return most / sweeps;
  }

  /// Of a word from the first place to the others and back.
  Range trip_ns() const {
    std::vector<double> all;
    for (int other = 1; other < count(); ++other)
      for (int i = 0; i < trips; ++i)
        all.push_back(ns(0, at(0).ended[other][i]) - ns(0, at(0).begun[other][i]));
    return range_of(all);
  }

  /// Of an edge from the first store at its sender until the receiver sees its first words.
  Range edge_ns() const {
    std::vector<double> all;
    for (int i = 0; i < count(); ++i)
      for (int t = 0; t < traced; ++t)
        for (const int side : {0, 1}) {
          const int from = (i + (side == 0 ? count() - 1 : 1)) % count();
          all.push_back(ns(i, at(i).came[side][t]) - offsets_[index(i)] -
                        (ns(from, at(from).sent[t]) - offsets_[index(from)]));
        }
    return range_of(all);
  }

  /// From the sight of the later edge to the store of the next.
  Range turn_ns() const {
    std::vector<double> all;
    for (int i = 0; i < count(); ++i)
      for (int t = 0; t + 1 < traced; ++t)
        all.push_back(ns(i, at(i).sent[t + 1]) -
                      ns(i, std::max(at(i).came[0][t], at(i).came[1][t])));
    return range_of(all);
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  int count() const { return static_cast<int>(places_.size()); }
  const Place& at(int i) const { return *places_[index(i)]; }
  void use(int place) const { check(cudaSetDevice(place % gpus_), "cudaSetDevice"); }

  double ns(int place, long long ticks) const {
    return static_cast<double>(ticks) * static_cast<double>(at(place).ns) /
           static_cast<double>(at(place).ticks);
  }

  /// What a place's clock shows more than the first one's.
  double offset_of(int place) const {
    if (place == 0) return 0;
    const auto& begun = at(0).begun[place];
    const auto& ended = at(0).ended[place];
    int best = 0;
    for (int i = 1; i < trips; ++i)
      if (ended[i] - begun[i] < ended[best] - begun[best]) best = i;
    return ns(place, at(place).seen[best]) - (ns(0, begun[best]) + ns(0, ended[best])) / 2;
  }

  int gpus_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<double> offsets_;
};

void print(const char* where, int places, int gpus) {
  const Measured ring(places, gpus);
  const auto row = [](const char* what, const Range& range) {
    std::printf("  %-58s%9.0f%9.0f%9.0f\n", what, range.least, range.median, range.most);
  };
  std::printf("%d places %s, ns%*sleast   median     most\n", places, where,
              static_cast<int>(40 - std::char_traits<char>::length(where)), "");
  row("a word from the first place to another, and back", ring.trip_ns());
  row("an edge, from its first store until it is seen", ring.edge_ns());
  row("from the later edge to the next sweep's first store", ring.turn_ns());
  std::printf("  %-58s%18.0f\n\n", "a sweep, of 20000 without computing", ring.sweep_ns());
}

}  // namespace

int main(int argc, char** argv) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
  const int places = argc > 1 ? std::atoi(argv[1]) : 4;
  if (gpus == 0 || places < 2 || places > most_places) {
    std::fprintf(stderr, "usage: bench_gpu_signals [places], 2 to %d, with a GPU\n", most_places);
    return 1;
  }
  for (int i = 0; i < gpus; ++i)
    for (int j = 0; j < gpus; ++j)
      if (i != j) {
        check(cudaSetDevice(i), "cudaSetDevice");
        check(cudaDeviceEnablePeerAccess(j, 0), "cudaDeviceEnablePeerAccess");
      }
  print("on one GPU", places, 1);
  if (gpus > 1) print("on as many GPUs", std::min(places, gpus), gpus);
}
