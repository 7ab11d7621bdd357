// SPDX-License-Identifier: Apache-2.0
#include "device/sharing.hpp"

#include "device/buffer.hpp"
#include "device/cuda/runtime.hpp"

namespace halocline::device {
namespace {

std::string& because_of_descriptors() {
  static std::string because;
  return because;
}

using Allocate = std::shared_ptr<void> (*)(std::int64_t bytes);
Allocate& other_allocator() {
  static Allocate other = nullptr;
  return other;
}

}  // namespace

std::shared_ptr<void> allocate_to_share(Memory memory, std::int64_t bytes) {
  if (memory == Memory::device && other_allocator() != nullptr) return other_allocator()(bytes);
  if (memory != Memory::device || descriptors_because().empty()) return allocate(memory, bytes);
  return cuda::allocate_virtual(bytes);
}

MemoryHandle handle_of(const void* memory) { return cuda::handle_of(memory); }

std::shared_ptr<void> map(const MemoryHandle& handle, std::chrono::duration<double> limit) {
  return cuda::map(handle, limit);
}

void share_by_descriptors(const std::string& because) { because_of_descriptors() = because; }
void share_by_handles() { because_of_descriptors().clear(); }
const std::string& descriptors_because() { return because_of_descriptors(); }

void share_memory_from(Allocate allocate) { other_allocator() = allocate; }

}  // namespace halocline::device
