// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory that NCCL knows on all ranks.

#include <cstddef>
#include <cstdint>
#include <memory>

#include <halocline/communicator.hpp>

#include "transport/nccl/connection.hpp"

namespace halocline::transport::nccl {

/// Zeroed memory of this rank's GPU, registered together with that of the other ranks (NCCL 2.27).
/// Kernels can store into that of a peer whose address NCCL reports (2.29.2): on the same node, and
/// on other nodes of one NVLink domain.
class Window {
 public:
  /// Registers the largest number of bytes that a rank requests. Collective, as its end is. Throws
  /// the same on every rank: unavailable if NCCL cannot, resource.
  Window(const Communicator& communicator, std::shared_ptr<Connection> connection,
         std::int64_t bytes);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::byte* mine() const { return static_cast<std::byte*>(memory_); }
  /// Returns the address of a peer's memory for kernels of this rank, or null.
  std::byte* of(int peer) const;

 private:
  void end();

  Communicator communicator_;
  std::shared_ptr<Connection> connection_;
  void* memory_ = nullptr;
  RegisteredWindow* registered_ = nullptr;
};

}  // namespace halocline::transport::nccl
