// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that signal, for code that copies bytes without our packing kernels: proofs, races and
// trials. Exchanges do not use them, since their kernels signal while they pack (pack/cuda).

#include <cstdint>

#include <halocline/stream.hpp>

#include "device/watch.hpp"

namespace halocline::transport::cuda {

/// The flags of one message.
struct FlagRow {
  device::Epoch* first;
  std::int64_t count;
};

/// Loads the kernels, because no kernel may be loaded while neighbours wait.
void load_signals();

/// Raises all flags of `count` rows, in GPU memory: all earlier work of the stream is then visible
/// to those who see the flags.
void raise_all(const FlagRow* rows, std::int64_t count, device::Epoch epoch, Stream stream);

/// Makes the stream wait until all flags have reached `epoch`, or a wait takes too long.
void await_all(const FlagRow* rows, std::int64_t count, device::Epoch epoch,
               const device::Watch* watch, Stream stream);

}  // namespace halocline::transport::cuda
