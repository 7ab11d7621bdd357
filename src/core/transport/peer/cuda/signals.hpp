// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that signal for those who copy bytes themselves: proofs, races and trials. Exchanges do
// not use them, since their kernels signal while they pack (pack/cuda).

#include <cstdint>

#include <halocline/stream.hpp>

#include "device/watch.hpp"

namespace halocline::transport::cuda {

/// The flags of one message.
struct FlagRow {
  device::Epoch* first;
  std::int64_t count;
};

/// Loads the kernels: nothing may be loaded while neighbours wait.
void load_signals();

/// Raises all flags of `count` rows, in the GPU's memory: what the stream did before is then
/// visible to whoever sees them.
void raise_all(const FlagRow* rows, std::int64_t count, device::Epoch epoch, Stream stream);

/// Lets the stream go on when all flags have reached `epoch`, or a wait took too long.
void await_all(const FlagRow* rows, std::int64_t count, device::Epoch epoch,
               const device::Watch* watch, Stream stream);

}  // namespace halocline::transport::cuda
