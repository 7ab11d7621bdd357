// SPDX-License-Identifier: Apache-2.0
#pragma once
// The device port: what a kernel needs to store into a neighbour's memory and to tell it so.
// Plain data, the same for a GPU's memory and for a node's shared memory; and, in one place, the
// order of the stores: release and acquire at system scope.
//
// One exchange is one epoch. Data of epoch e goes into window[e % 2]; then the neighbour's flag
// is raised to e. Whoever has seen a flag of e may read window[e % 2] until it raises its own
// flag for e + 1, because the other side writes that window again only after seeing that. So two
// windows need no acknowledgement, provided that every pair signals both ways in every epoch.
// Spin goes through the protocol in every order: tests/model.
//
// On the host a message has one flag. On a GPU it has one for each chunk of its bytes: whoever
// packs a chunk raises its flag, whoever unpacks it waits for that alone, and no block waits for
// the others of its kernel. Kernels of one plan follow each other in a stream, so the rule above
// holds for every chunk.
//
// Kernels that do many sweeps have no flags at all: see device/edge_port.hpp.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "device/watch.hpp"

namespace halocline::device {

struct PortPeer {
  std::byte* window[2];   ///< the neighbour's receive slots for us, mapped here
  std::uint64_t* raise;   ///< first flag in the neighbour's memory
  std::uint64_t* raised;  ///< first flag in ours, which the neighbour raises
};

struct DevicePort {
  PortPeer* peers;  ///< in the host's memory
  int peer_count;
  /// On the host: the last epoch begun. On a GPU null: its kernels count epochs themselves, chunk
  /// by chunk, since a host counter would be frozen by graph capture.
  std::uint64_t* epoch;
  /// On a GPU; null on the host. In the GPU's memory.
  const Watch* watch;
};

/// The bytes that share a flag of a GPU's message, the last ones fewer: small ones spread a message
/// over many blocks, large ones spare the GPU flags. The same on both sides. On four H200 in a row
/// exchanges of two faces took, with chunks of 4, 8, 16 and 32 KiB: of 64 KiB 4.1, 4.1, 4.7 and 6.0
/// us, of 1 MiB 11.7, 11.1, 11.3 and 12.2 us; of 16 MiB, with 8, 16 and 32 KiB, 115, 105 and 105
/// us. Yet 8 KiB from 256 KiB on, and 32 from 4 MiB on, cost exchanges with 26 neighbours, most of
/// which is copied within the GPU, 30 % (3 fields of 100^3) and 14 % (of 256^3).
inline std::int64_t chunk_bytes(std::int64_t message_bytes) {
  return message_bytes <= (std::int64_t{1} << 20) ? 4096 : 16384;
}

/// At least one: messages without bytes signal, too.
inline std::int64_t chunks_of(std::int64_t message_bytes) {
  const std::int64_t bytes = chunk_bytes(message_bytes);
  return std::max<std::int64_t>(1, (message_bytes + bytes - 1) / bytes);
}

/// Makes all stores before it visible to whoever then sees the flag at `epoch`.
inline void raise(std::uint64_t* flag, std::uint64_t epoch) {
  std::atomic_ref(*flag).store(epoch, std::memory_order_release);
}

/// True once the flag has reached `epoch`; what was stored before it was raised is then visible.
inline bool reached(const std::uint64_t* flag, std::uint64_t epoch) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(flag)).load(std::memory_order_acquire) >=
         epoch;
}

}  // namespace halocline::device
