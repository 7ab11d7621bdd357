// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory on each rank's GPU to which kernels of other ranks of the node store.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "device/sharing.hpp"

namespace halocline::link {

/// This rank's memory, shared with some ranks of the node, and their memory mapped here.
class Window {
 public:
  /// Offsets in this rank's window that a peer needs.
  using Offsets = std::array<std::int64_t, 3>;

  /// Allocates `bytes` of zeros in the current GPU's memory; sends `offsets[p]` to rank `peers[p]`.
  /// Every peer must name this rank too; a rank may name itself. Collective, for ranks without
  /// peers too. Throws on every rank: resource, or unavailable if GPUs or processes cannot share
  /// memory, neither by CUDA's handles nor by file descriptors. If handles fail, all ranks switch
  /// to file descriptors for good.
  Window(const Communicator& communicator, std::int64_t bytes, const std::vector<int>& peers,
         const std::vector<Offsets>& offsets);
  /// Shares existing memory, likewise: `memory` comes from
  /// device::allocate_to_share(Memory::device, ...), and the window holds it as it does its own. It
  /// is shared by the method it was allocated for.
  Window(const Communicator& communicator, std::shared_ptr<void> memory,
         const std::vector<int>& peers, const std::vector<Offsets>& offsets);
  /// Collective over the node's ranks: no rank unmaps before all GPUs are done, or frees before all
  /// ranks have unmapped. While an error unwinds the stack it only unmaps, and this rank's memory
  /// stays to the end of the program; after a wait exceeded its limit all of it does.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::byte* mine() const { return static_cast<std::byte*>(mine_.get()); }
  /// Returns the begin of the window of `peers[p]` in this process; an address for kernels.
  std::byte* of(std::size_t p) const { return static_cast<std::byte*>(theirs_[p].get()); }
  /// Returns the offsets that `peers[p]` sent.
  const Offsets& offsets_of(std::size_t p) const { return offsets_[p]; }

 private:
  using MakeMemory = std::function<std::shared_ptr<void>()>;
  void open(const MakeMemory& make, const std::vector<int>& peers,
            const std::vector<Offsets>& offsets);
  device::MemoryHandle handle_of_mine() const;
  std::shared_ptr<void> map(const std::vector<int>& peers, std::size_t p,
                            const device::MemoryHandle& handle) const;
  void close();
  void keep();

  Communicator communicator_;
  std::shared_ptr<void> mine_;
  std::vector<std::shared_ptr<void>> theirs_;
  std::vector<Offsets> offsets_;
};

/// Finds out how GPUs of the node share memory, so that later memory from
/// device::allocate_to_share() can be shared, if sharing is possible. Collective.
void agree_on_sharing(const Communicator& communicator);

/// Returns a note if this process's memory is not shared in the usual way; else empty.
std::string note_on_sharing();

}  // namespace halocline::link
