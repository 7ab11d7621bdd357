// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include <sys/mman.h>
#include <sys/stat.h>

#include "cuda_on_cpu/threads.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, bytes) (static_cast<void>(begin), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(begin, bytes) \
  (static_cast<void>(begin), static_cast<void>(bytes))
#endif

namespace cuda_on_cpu {
namespace {

constexpr int kPoison = 0xA5;
constexpr std::uint64_t kMagic = 0xc0da0c9049504331u;
constexpr std::size_t kAlignment = 256;  // what CUDA promises at least

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

bool is_poison(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte b) { return b == std::byte{kPoison}; });
}

void set_protection(std::byte* begin, std::size_t bytes, int protection) {
  if (mprotect(begin, bytes, protection) != 0) fatal("mprotect failed");
}

/// Takes whole pages of a file from this process until it touches them again; the file keeps their
/// bytes. Each page that is there makes open() and close() take longer, for buffers that are filled
/// and of which little else is ever used: the rank tests on two ranks took 297 s instead of 214.
void let_go(std::byte* begin, std::size_t bytes) {
  const std::size_t page = page_bytes();
  const std::uintptr_t first = round_up(number(begin), page),
                       end = (number(begin) + bytes) / page * page;
  constexpr std::size_t large = 64 << 10;  // smaller ones are used whole
  if (first + large < end) madvise(begin + (first - number(begin)), end - first, MADV_DONTNEED);
}

std::uint64_t inode(int file) {
  struct stat is {};
  return fstat(file, &is) == 0 ? is.st_ino : 0;
}

/// Allocations are filled with bytes, those that are freed become holes.
bool is_allocated(int file, long long offset, std::size_t bytes) {
  const off_t hole = lseek(file, offset, SEEK_HOLE);
  return hole >= 0 && static_cast<std::size_t>(hole - offset) >= bytes;
}

}  // namespace

Memory::Memory(std::size_t bytes_per_device, bool host_readable)
    : bytes_per_device_(bytes_per_device),
      host_readable_(host_readable),
      file_(memfd_create("cuda_on_cpu", MFD_CLOEXEC)),
      empty_file_(memfd_create("cuda_on_cpu, behind memory", MFD_CLOEXEC)) {
  if (file_ < 0 || empty_file_ < 0) fatal("memfd_create failed");
}

Memory::~Memory() {
  for (const auto& [address, block] : blocks_) unmap(block);
  ::close(file_);
  ::close(empty_file_);
}

// A page that cannot be touched comes behind.
std::byte* Memory::map(std::size_t bytes, int file, long long offset) const {
  const std::size_t page = page_bytes();
  void* const place =
      mmap(nullptr, bytes + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  const int from = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (mmap(place, bytes, PROT_READ | PROT_WRITE, from | MAP_FIXED | MAP_NORESERVE, file, offset) ==
      MAP_FAILED) {
    munmap(place, bytes + page);
    return nullptr;
  }
  // Behind the end of a file nothing can be touched whatever the protection, so protect() may
  // change that of neighbours together.
  if (file >= 0 && mmap(static_cast<std::byte*>(place) + bytes, page, PROT_NONE,
                        MAP_SHARED | MAP_FIXED, empty_file_, 0) == MAP_FAILED)
    fatal("the page behind an allocation could not be mapped");
  return static_cast<std::byte*>(place);
}

std::byte* Memory::allocate(Kind kind, int device, std::size_t bytes) {
  const std::size_t physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  if (bytes > (kind == Kind::device ? bytes_per_device_ : physical)) return nullptr;
  const std::size_t rounded = round_up(bytes, kAlignment);
  if (kind == Kind::device && rounded > free_bytes(device)) return nullptr;
  const std::size_t mapped = round_up(rounded, page_bytes());
  const long long offset = file_bytes_;
  const bool in_file = kind == Kind::device;
  if (in_file && ftruncate(file_, offset + static_cast<long long>(mapped)) != 0) return nullptr;
  std::byte* const mapping = map(mapped, in_file ? file_ : -1, in_file ? offset : 0);
  if (!mapping) return nullptr;
  if (in_file) file_bytes_ += static_cast<long long>(mapped);
  std::memset(mapping, kPoison, mapped);
  if (in_file) let_go(mapping, mapped);
  std::byte* const begin = mapping + (mapped - rounded);
  ASAN_POISON_MEMORY_REGION(mapping, mapped);
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
  Block& block = blocks_[number(begin)] = {begin, bytes, kind, device, mapping, mapped};
  block.offset = offset;
  if (kind == Kind::device) {
    used_[device] += rounded;
    if (!host_readable_ && !open_[device]) set_protection(mapping, mapped, PROT_NONE);
  }
  return begin;
}

void Memory::release(std::byte* begin) {
  const Block block = blocks_.at(number(begin));
  if (block.kind == Kind::device) {
    open(block.device);
    used_[block.device] -= round_up(block.bytes, kAlignment);
  }
  ASAN_UNPOISON_MEMORY_REGION(block.mapping, block.mapped_bytes);
  if (!is_poison(block.mapping, begin)) fatal("bytes before an allocation were written");
  if (!is_poison(begin + block.bytes, block.mapping + block.mapped_bytes)) {
    fatal("bytes after the end of an allocation were written");
  }
  unmap(block);
  if (block.kind == Kind::device) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block.offset,
              static_cast<off_t>(block.mapped_bytes));
  }
  blocks_.erase(number(begin));
}

Exported Memory::share(const Block& block, int index) const {
  return {kMagic, getpid(), file_, index, inode(file_), block.offset, block.bytes};
}

cudaError_t Memory::open_shared(const Exported& memory, int device, void** result) {
  if (memory.magic != kMagic) return cudaErrorInvalidValue;
  const std::string path =
      "/proc/" + std::to_string(memory.pid) + "/fd/" + std::to_string(memory.file);
  const std::size_t rounded = round_up(memory.bytes, kAlignment);
  const std::size_t mapped = round_up(rounded, page_bytes());
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return cudaErrorInvalidResourceHandle;  // the process has ended
  if (inode(file) != memory.inode || !is_allocated(file, memory.offset, mapped)) {
    ::close(file);
    return cudaErrorInvalidResourceHandle;
  }
  for (auto& [address, block] : blocks_) {
    if (block.is_foreign() && block.device == device && block.offset == memory.offset &&
        inode(block.file) == memory.inode) {
      ::close(file);
      ++block.openings;
      *result = block.begin;
      return cudaSuccess;
    }
  }
  // Where memory that its owner has freed is still open here, CUDA may find new memory at its
  // address to be mapped already. Here it always does.
  for (const auto& [address, block] : blocks_) {
    if (block.is_foreign() && inode(block.file) == memory.inode &&
        !is_allocated(block.file, block.offset, block.mapped_bytes)) {
      ::close(file);
      return cudaErrorAlreadyMapped;
    }
  }
  std::byte* const mapping = map(mapped, file, memory.offset);
  if (!mapping) {
    ::close(file);
    return cudaErrorMapBufferObjectFailed;
  }
  std::byte* const begin = mapping + (mapped - rounded);
  ASAN_POISON_MEMORY_REGION(mapping, mapped);
  ASAN_UNPOISON_MEMORY_REGION(begin, memory.bytes);
  Block& block =
      blocks_[number(begin)] = {begin, memory.bytes, Kind::device, device, mapping, mapped};
  block.offset = memory.offset;
  block.file = file;
  block.openings = 1;
  if (!host_readable_ && !open_[device]) set_protection(mapping, mapped, PROT_NONE);
  *result = begin;
  return cudaSuccess;
}

void Memory::close_shared(std::byte* begin) {
  Block& block = blocks_.at(number(begin));
  if (!is_allocated(block.file, block.offset, block.mapped_bytes)) {
    fatal("memory was freed before another process has closed it");
  }
  if (--block.openings > 0) return;
  unmap(block);
  blocks_.erase(number(begin));
}

void Memory::unmap(const Block& block) {
  if (!block.mapping || block.is_virtual) return;
  ASAN_UNPOISON_MEMORY_REGION(block.mapping, block.mapped_bytes);
  munmap(block.mapping, block.mapped_bytes + page_bytes());
  if (block.is_foreign()) ::close(block.file);
}

bool Memory::add(std::byte* begin, std::size_t bytes, int device) {
  const auto after = blocks_.lower_bound(number(begin) + bytes);
  if (after != blocks_.begin()) {
    const Block& before = std::prev(after)->second;
    if (number(before.begin) + before.bytes > number(begin)) return false;
  }
  blocks_[number(begin)] = {begin, bytes, Kind::registered, device, nullptr, 0};
  return true;
}

bool Memory::take(int device, std::size_t bytes) {
  if (bytes > free_bytes(device)) return false;
  used_[device] += bytes;
  return true;
}

void Memory::poison(int file, std::size_t bytes) const {
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) fatal("memory for a device could not be mapped");
  std::memset(place, kPoison, bytes);
  munmap(place, bytes);
}

void Memory::add_virtual(std::byte* begin, std::size_t bytes) {
  Block& block = blocks_[number(begin)] = {begin, bytes, Kind::device, -1, begin, bytes};
  block.is_virtual = true;
}

void Memory::give_access(Block& block, int device) {
  block.device = device;
  set_protection(block.mapping, block.mapped_bytes,
                 host_readable_ || open_[device] ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void Memory::forget(std::byte* begin) { blocks_.erase(number(begin)); }

void Memory::fill(std::byte* begin, int value, std::size_t bytes) {
  open_all();
  std::memset(begin, value, bytes);
  if (const Block* block = find(begin); block && block->kind == Kind::device) let_go(begin, bytes);
}

bool Memory::holds(const Block& block, const std::byte* begin, std::size_t bytes) {
  const Block* last = &block;
  while (begin + bytes > last->begin + last->bytes) {
    if (!last->is_virtual) return false;
    last = find(last->begin + last->bytes);
    if (!last || !last->is_virtual || last->device < 0) return false;
  }
  return true;
}

Block* Memory::find(const void* address) {
  const auto after = blocks_.upper_bound(number(address));
  if (after == blocks_.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return number(address) < number(block.begin) + block.bytes ? &block : nullptr;
}

std::size_t Memory::free_bytes(int device) const {
  const auto used = used_.find(device);
  return bytes_per_device_ - (used == used_.end() ? 0 : used->second);
}

void Memory::open(int device) {
  if (host_readable_ || open_[device]) return;
  open_[device] = true;
  protect(device, PROT_READ | PROT_WRITE);
}

void Memory::open_all() {
  std::set<int> devices;
  for (const auto& [address, block] : blocks_) {
    if (block.kind == Kind::device && block.device >= 0) devices.insert(block.device);
  }
  for (const int device : devices) open(device);
}

void Memory::close() {
  for (auto& [device, is_open] : open_) {
    if (is_open) protect(device, PROT_NONE);
    is_open = false;
  }
}

void Memory::protect(int device, int protection) {
  // Neighbours at once: the rank tests on two ranks take 171 s instead of 214.
  std::byte *begin = nullptr, *end = nullptr;
  for (const auto& [address, block] : blocks_) {
    if (block.kind != Kind::device || block.device != device) continue;
    std::byte* const behind =
        block.mapping + block.mapped_bytes + (block.is_virtual ? 0 : page_bytes());
    if (block.mapping != end) {
      if (begin) set_protection(begin, static_cast<std::size_t>(end - begin), protection);
      begin = block.mapping;
    }
    end = behind;
  }
  if (begin) set_protection(begin, static_cast<std::size_t>(end - begin), protection);
}

}  // namespace cuda_on_cpu
