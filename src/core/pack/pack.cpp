// SPDX-License-Identifier: Apache-2.0
#include "pack/pack.hpp"

#include <algorithm>
#include <utility>

#include <halocline/error.hpp>

#include "pack/cuda/copies.hpp"
#include "pack/host/copies.hpp"
#include "pack/pieces.hpp"

namespace halocline::pack {

Copies::Copies(const std::vector<Bundle>& bundles, Direction direction, Memory memory,
               const std::vector<Move>& moves)
    : empty_(bundles.empty() && moves.empty()) {
  if (empty_) return;
  all_signal_ = gpu_reads(memory);
  for (const Bundle& bundle : bundles) all_signal_ &= bundle.flags.first != nullptr;
  for (const Bundle& bundle : bundles)
    for (const FieldRuns& piece : bundle.pieces) bytes_ += bytes_of(piece);
  for (const Move& move : moves) bytes_ += bytes_of(move.from);
  // The GPU raises and awaits flags between GPUs, and their slots are in its memory.
  const bool is_gpus_alone = std::any_of(bundles.begin(), bundles.end(), [](const Bundle& bundle) {
    return bundle.flags.first != nullptr;
  });
  if (gpu_reads(memory)) {
    gpu_ = cuda::make_copies(bundles, direction, moves);
    widest_word_ = cuda::widest_word(*gpu_);
  }
  if (host_reads(memory) && !(gpu_ != nullptr && is_gpus_alone))
    host_ = std::make_shared<HostCopies>(bundles, direction, moves);
}

void Copies::run(Stream stream, Shifts shifts) const {
  if (empty_) return;
  if (stream.is_host()) {
    if (host_ == nullptr)
      throw Error(ErrorKind::usage,
                  "fields in device memory need a stream of their GPU, not the host's; pass "
                  "Stream::cuda(...) to start() and finish()");
    host_->run(shifts);
  } else {
    if (gpu_ == nullptr)
      throw Error(ErrorKind::usage,
                  "fields in host memory need the host's stream; a GPU cannot read them");
    cuda::run(gpu_.get(), nullptr, stream, shifts);
  }
}

void Copies::run_both(const Copies& packing, const Copies& unpacking, Stream stream,
                      Shifts shifts) {
  cuda::run(packing.gpu_.get(), unpacking.gpu_.get(), stream, shifts);
}

}  // namespace halocline::pack
