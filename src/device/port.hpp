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

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace halocline::device {

struct PortPeer {
  std::byte* window[2];         ///< the neighbour's receive slots for us, mapped here
  std::uint64_t* raise;         ///< flag in the neighbour's memory
  const std::uint64_t* raised;  ///< flag in ours that the neighbour raises
};

struct DevicePort {
  PortPeer* peers;
  int peer_count;
  /// Last epoch begun; in the memory of whoever runs the sweep, since a host counter would be
  /// frozen by graph capture.
  std::uint64_t* epoch;
};

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
