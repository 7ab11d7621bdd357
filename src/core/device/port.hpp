// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device port: the data that a kernel needs to store into a neighbour's memory and to signal
// it. The same plain data for GPU memory and for a node's shared memory; and, in one place, the
// order of the stores: release and acquire at system scope.
//
// One exchange is one epoch. Data of epoch e goes into window[e % 2]; then the neighbour's flag is
// raised to e. A receiver that has seen a flag of e may read window[e % 2] until it raises its own
// flag for e + 1, because the other side writes that window again only after seeing that flag. So
// two windows need no acknowledgement, provided that every pair signals both ways in every epoch.
// Spin checks the protocol in every order of events: tests/model.
//
// On the host a message has one flag. On a GPU it has one for each chunk of its bytes: the block
// that packs a chunk raises its flag, the block that unpacks it waits for that flag alone, and no
// block waits for others of its kernel. The kernels of one plan are ordered by a stream, so the
// rule above holds for every chunk.
//
// Kernels that do many sweeps do not use flags: see device/edge_port.hpp.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/watch.hpp"

namespace halocline::device {

struct PortPeer {
  std::byte* window[2];   ///< the neighbour's receive slots for us, mapped here
  std::uint64_t* raise;   ///< the first flag in the neighbour's memory
  std::uint64_t* raised;  ///< the first flag in our memory, which the neighbour raises
};

struct DevicePort {
  PortPeer* peers;  ///< in the host's memory
  int peer_count;
  /// On the host: the last epoch begun. Null on a GPU, whose kernels count epochs themselves for
  /// each chunk, since graph capture would freeze a counter of the host.
  std::uint64_t* epoch;
  /// In GPU memory; null on the host.
  const Watch* watch;
};

/// Returns the bytes of a chunk, which share a flag of a GPU's message; the last chunk may be
/// shorter. The same on both sides. Small chunks spread a message over more blocks, and large ones
/// need fewer flags. On two H100, in us with chunks of 4, 8 and 16 KiB: a face of 16 MiB 71, 57 and
/// 56; with 26 neighbours, 3 fields of 256^3 cells (1.5 MiB to the other GPU in fp32, 3 in fp64)
/// 36, 43 and 52, and 46, 41 and 41; the same split along x, where a chunk's words are of 4 bytes,
/// 49, 58 and 68; 8 fields of 100^3 (1.3 MiB) 15, 15 and 23.
inline std::int64_t chunk_bytes(std::int64_t message_bytes) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  return message_bytes <= 2 * mebibyte ? 4096 : message_bytes <= 8 * mebibyte ? 8192 : 16384;
}

/// At least one: messages without bytes signal too.
inline std::int64_t chunks_of(std::int64_t message_bytes) {
  const std::int64_t bytes = chunk_bytes(message_bytes);
  return std::max<std::int64_t>(1, (message_bytes + bytes - 1) / bytes);
}

/// Raises the flag to `epoch`; threads that see it also see all earlier stores.
inline void raise(std::uint64_t* flag, std::uint64_t epoch) {
  std::atomic_ref(*flag).store(epoch, std::memory_order_release);
}

/// Returns true once the flag has reached `epoch`; all stores before its raising are then visible.
inline bool reached(const std::uint64_t* flag, std::uint64_t epoch) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(flag)).load(std::memory_order_acquire) >=
         epoch;
}

}  // namespace halocline::device
