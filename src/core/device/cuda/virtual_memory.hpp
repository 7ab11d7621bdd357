// SPDX-License-Identifier: Apache-2.0
#pragma once
// The driver's virtual memory: memory of a GPU apart from the addresses where it is mapped. Its
// functions are looked up at run time, like the driver itself.

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halocline::device::cuda {

/// Returns the bytes of a page of the current GPU's memory. Throws device if its driver maps none.
std::int64_t page_bytes();

/// Memory of a GPU that is not mapped to an address yet.
class Physical {
 public:
  /// Allocates whole pages of the current GPU. Throws resource if they are not there.
  explicit Physical(std::size_t bytes);
  /// Another process's memory, whose descriptor this closes.
  Physical(int descriptor, std::size_t bytes);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  CUmemGenericAllocationHandle get() const { return handle_; }
  std::size_t bytes() const { return bytes_; }
  /// Returns a descriptor for other processes, which the caller must close.
  int make_descriptor() const;

 private:
  CUmemGenericAllocationHandle handle_ = 0;
  std::size_t bytes_;
};

/// Addresses of this process with memory mapped there, one piece behind the other, for kernels of
/// the current GPU. CUDA maps a piece only as a whole. What is mapped stays, without its handle,
/// too.
class Mapping {
 public:
  explicit Mapping(const std::vector<const Physical*>& pieces);
  /// As cudaFree does, waits for all work that may use it.
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver's addresses are numbers
  void* get() const { return reinterpret_cast<void*>(address_); }

 private:
  void undo();

  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::size_t> mapped_;  // bytes of each piece
};

}  // namespace halocline::device::cuda
