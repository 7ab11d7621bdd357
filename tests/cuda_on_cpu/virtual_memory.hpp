// SPDX-License-Identifier: Apache-2.0
#pragma once
// Physical memory apart from the addresses where it is mapped, as CUDA's driver has it: each piece
// is a file of its own, so that a descriptor of it is all that another process needs.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "memory.hpp"

namespace cuda_on_cpu {

class VirtualMemory {
 public:
  using Handle = unsigned long long;
  static constexpr std::size_t granularity = 65536;

  explicit VirtualMemory(Memory& memory) : memory_(memory) {}
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Makes memory of a device, which is number `index` in the machine; nothing if none is left.
  std::optional<Handle> create(std::size_t bytes, int device, int index);
  /// Returns a new descriptor of it, -1 for no handle.
  int export_descriptor(Handle handle) const;
  /// Takes note of what another process has made; the descriptor stays the caller's.
  std::optional<Handle> import_descriptor(int descriptor);
  bool release(Handle handle);

  std::byte* reserve(std::size_t bytes);
  bool free_addresses(std::byte* begin, std::size_t bytes);
  bool map(std::byte* begin, std::size_t bytes, Handle handle);
  bool unmap(std::byte* begin, std::size_t bytes);
  /// The machine's number of the device whose memory is mapped there; nothing if none is.
  std::optional<int> index_at(const std::byte* begin) const;

 private:
  struct Physical {
    int file;
    std::size_t bytes;
    int index;             // in the machine
    int counted_for = -1;  // the device of this process that has made it
    int holders = 1;       // the handle, and each mapping
  };
  void drop(Handle handle);
  bool is_free(std::byte* begin, std::size_t bytes) const;

  Memory& memory_;
  Handle last_ = 0;
  std::map<Handle, Physical> physical_;
  std::map<std::byte*, std::size_t> reserved_;
  std::map<std::byte*, Handle> mapped_;
};

}  // namespace cuda_on_cpu
