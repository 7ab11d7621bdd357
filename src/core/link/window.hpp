// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of each rank's GPU that kernels of other ranks of the node store to.

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

/// This rank's memory, shown to some ranks of the node, and theirs mapped here.
class Window {
 public:
  /// What a peer has to know of this rank's window beside where it is.
  using Offsets = std::array<std::int64_t, 3>;

  /// Allocates `bytes` of zeros in the current GPU's memory; `places[p]` is told to rank
  /// `peers[p]`. Every peer must name this rank, too; a rank may name itself. Collective, for ranks
  /// without peers too. Throws, on every rank, resource, or unavailable where GPUs or processes
  /// cannot share memory: neither by CUDA's handles nor, which is tried then on all ranks and kept
  /// to, by file descriptors.
  Window(const Communicator& communicator, std::int64_t bytes, const std::vector<int>& peers,
         const std::vector<Offsets>& offsets);
  /// The same with memory that is there: `memory` was allocated by
  /// device::allocate_to_share(Memory::device, ...) and must outlive the window. It is shared in
  /// the way it was made for.
  Window(const Communicator& communicator, void* memory, const std::vector<int>& peers,
         const std::vector<Offsets>& offsets);
  /// Collective over the node's ranks: nobody unmaps before all GPUs are done, nor frees before all
  /// have unmapped. Where others may be gone, everything stays to the end of the program.
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::byte* mine() const { return static_cast<std::byte*>(mine_.get()); }
  /// Where the window of `peers[p]` begins in this process; an address for kernels.
  std::byte* of(std::size_t p) const { return static_cast<std::byte*>(theirs_[p].get()); }
  /// What `peers[p]` tells of it.
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

/// Finds out how GPUs of the node share memory, so that what device::allocate_to_share() returns
/// from now on can be shared, if it can at all. Collective.
void agree_on_sharing(const Communicator& communicator);

/// How this process's memory is shared, where that is not the usual way, in words; else empty.
std::string note_on_sharing();

}  // namespace halocline::link
