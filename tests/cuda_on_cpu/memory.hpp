// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that CUDA hands out or knows of, each piece mapped for itself.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "cuda_runtime_api.h"

namespace cuda_on_cpu {

enum class Kind { device, managed, pinned, registered };

struct Block {
  std::byte* begin;
  std::size_t bytes;
  Kind kind;
  int device;
  std::byte* mapping;        // null if it is the caller's
  std::size_t mapped_bytes;  // without the guard
  bool free_is_queued = false;
  bool pooled = false;      // of cudaMallocAsync
  bool is_virtual = false;  // mapped by VirtualMemory; device -1: no one has access
  // Device memory is a piece of a file, by which other processes find it.
  long long offset = 0;
  int file = -1;     // another process's, from which this was opened
  int openings = 0;  // not yet closed

  bool is_foreign() const { return file >= 0; }
};

/// Device memory as another process can find it; the contents of a cudaIpcMemHandle_t.
struct Exported {
  std::uint64_t magic;
  int pid, file, device;  // device: in the machine, without CUDA_VISIBLE_DEVICES
  std::uint64_t inode;    // of the file
  long long offset;
  std::uint64_t bytes;
};

class Memory {
 public:
  Memory(std::size_t bytes_per_device, bool host_readable);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Returns memory full of 0xA5, a multiple of 256 bytes long, that ends where nothing can be
  /// touched; null when there is none left.
  std::byte* allocate(Kind kind, int device, std::size_t bytes);
  /// Ends the program if bytes around the block were written.
  void release(std::byte* begin);

  /// Takes note of the caller's memory; false if part of it is known already.
  bool add(std::byte* begin, std::size_t bytes, int device);
  void forget(std::byte* begin);

  /// Tells where other processes find a block of device memory.
  Exported share(const Block& block, int index) const;
  /// Maps another process's memory into this device's, or finds it there.
  cudaError_t open_shared(const Exported& memory, int device, void** begin);
  /// Takes back one opening; ends the program if the owner has freed the memory before.
  void close_shared(std::byte* begin);

  /// For VirtualMemory: counts memory that is not allocated here, false if there is not so much;
  /// fills a file as allocate() does; takes note of what is mapped, to which nobody has access yet,
  /// until forget().
  bool take(int device, std::size_t bytes);
  void give_back(int device, std::size_t bytes) { used_[device] -= bytes; }
  void poison(int file, std::size_t bytes) const;
  void add_virtual(std::byte* begin, std::size_t bytes);
  void give_access(Block& block, int device);

  /// Sets bytes of a block, and opens what has to be open for that.
  void fill(std::byte* begin, int value, std::size_t bytes);

  /// Whether these bytes from one in `block` on are in it, or in memory mapped directly behind it
  /// to which some device has access.
  bool holds(const Block& block, const std::byte* begin, std::size_t bytes);
  /// Returns the block that has this byte, or null.
  Block* find(const void* address);
  std::size_t free_bytes(int device) const;

  // Device memory can be touched only between open() and close(), which must not be left out
  // before the caller's code goes on.
  void open(int device);
  void open_all();
  void close();

 private:
  std::byte* map(std::size_t bytes, int file, long long offset) const;
  void protect(int device, int protection);
  void unmap(const Block& block);

  std::size_t bytes_per_device_;
  bool host_readable_;
  int file_;                  // behind all device memory of this process
  int empty_file_;            // behind the page after each allocation: it has no bytes
  long long file_bytes_ = 0;  // no part is used twice: a handle never means another allocation
  std::map<std::uintptr_t, Block> blocks_;
  std::map<int, std::size_t> used_;
  std::map<int, bool> open_;
};

}  // namespace cuda_on_cpu
