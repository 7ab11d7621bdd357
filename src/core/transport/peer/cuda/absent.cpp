// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA, where no channel of `peer` is opened.

#include "transport/peer/cuda/signals.hpp"

namespace halocline::transport::cuda {

void load_signals() {}
void raise_all(const FlagRow*, std::int64_t, device::Epoch, Stream) {}
void await_all(const FlagRow*, std::int64_t, device::Epoch, const device::Watch*, Stream) {}

}  // namespace halocline::transport::cuda
