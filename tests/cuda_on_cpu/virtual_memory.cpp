// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <iterator>

#include <sys/mman.h>
#include <sys/stat.h>

#include "cuda_on_cpu/threads.hpp"

namespace cuda_on_cpu {
namespace {

constexpr std::uint64_t magic = 0xc0da0c90564d4d31u;

/// Behind the memory in its file.
struct Label {
  std::uint64_t magic, bytes;
  int index;
};

}  // namespace

VirtualMemory::~VirtualMemory() {
  while (!mapped_.empty()) {
    const auto [begin, handle] = *mapped_.begin();
    unmap(begin, physical_.at(handle).bytes);
  }
  for (const auto& [begin, bytes] : reserved_) munmap(begin, bytes);
  for (const auto& [handle, physical] : physical_) ::close(physical.file);
}

std::optional<VirtualMemory::Handle> VirtualMemory::create(std::size_t bytes, int device,
                                                           int index) {
  if (!memory_.take(device, bytes)) return std::nullopt;
  const Label label{magic, bytes, index};
  const int file = memfd_create("cuda_on_cpu memory", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0 ||
      pwrite(file, &label, sizeof label, static_cast<off_t>(bytes)) != sizeof label) {
    fatal("memory for a device could not be made");
  }
  memory_.poison(file, bytes);
  physical_[++last_] = {.file = file, .bytes = bytes, .index = index, .counted_for = device};
  return last_;
}

int VirtualMemory::export_descriptor(Handle handle) const {
  const auto found = physical_.find(handle);
  return found == physical_.end() ? -1 : fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
}

std::optional<VirtualMemory::Handle> VirtualMemory::import_descriptor(int descriptor) {
  struct stat is {};
  Label label{};
  if (fstat(descriptor, &is) != 0 || is.st_size < static_cast<off_t>(sizeof label) ||
      pread(descriptor, &label, sizeof label, is.st_size - static_cast<off_t>(sizeof label)) !=
          sizeof label ||
      label.magic != magic) {
    return std::nullopt;
  }
  const int file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return std::nullopt;
  physical_[++last_] = {.file = file, .bytes = label.bytes, .index = label.index};
  return last_;
}

bool VirtualMemory::release(Handle handle) {
  if (!physical_.contains(handle)) return false;
  drop(handle);
  return true;
}

void VirtualMemory::drop(Handle handle) {
  Physical& physical = physical_.at(handle);
  if (--physical.holders > 0) return;
  if (physical.counted_for >= 0) memory_.give_back(physical.counted_for, physical.bytes);
  ::close(physical.file);
  physical_.erase(handle);
}

std::byte* VirtualMemory::reserve(std::size_t bytes) {
  void* const place =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  reserved_[static_cast<std::byte*>(place)] = bytes;
  return static_cast<std::byte*>(place);
}

bool VirtualMemory::free_addresses(std::byte* begin, std::size_t bytes) {
  const auto found = reserved_.find(begin);
  if (found == reserved_.end() || found->second != bytes) return false;
  const auto mapped = mapped_.lower_bound(begin);
  if (mapped != mapped_.end() && mapped->first < begin + bytes) return false;
  munmap(begin, bytes);
  reserved_.erase(found);
  return true;
}

/// Whether these addresses are part of a reservation and nothing is mapped there.
bool VirtualMemory::is_free(std::byte* begin, std::size_t bytes) const {
  const auto after = reserved_.upper_bound(begin);
  if (after == reserved_.begin()) return false;
  const auto [place, reserved] = *std::prev(after);
  if (begin + bytes > place + reserved) return false;
  const auto next = mapped_.lower_bound(begin);
  if (next != mapped_.end() && next->first < begin + bytes) return false;
  if (next == mapped_.begin()) return true;
  const auto [mapped, handle] = *std::prev(next);
  return mapped + physical_.at(handle).bytes <= begin;
}

bool VirtualMemory::map(std::byte* begin, std::size_t bytes, Handle handle) {
  const auto physical = physical_.find(handle);
  if (physical == physical_.end() || physical->second.bytes != bytes || !is_free(begin, bytes)) {
    return false;
  }
  if (mmap(begin, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->second.file, 0) ==
      MAP_FAILED) {
    return false;
  }
  ++physical->second.holders;
  mapped_[begin] = handle;
  memory_.add_virtual(begin, bytes);
  return true;
}

bool VirtualMemory::unmap(std::byte* begin, std::size_t bytes) {
  const auto found = mapped_.find(begin);
  if (found == mapped_.end() || physical_.at(found->second).bytes != bytes) return false;
  memory_.forget(begin);
  if (mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0) == MAP_FAILED) {
    fatal("addresses could not be emptied");
  }
  drop(found->second);
  mapped_.erase(found);
  return true;
}

std::optional<int> VirtualMemory::index_at(const std::byte* begin) const {
  const auto found = mapped_.find(const_cast<std::byte*>(begin));
  if (found == mapped_.end()) return std::nullopt;
  return physical_.at(found->second).index;
}

}  // namespace cuda_on_cpu
