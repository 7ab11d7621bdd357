#include "memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include <sys/mman.h>

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

}  // namespace

Memory::Memory(std::size_t bytes_per_device, bool host_readable)
    : bytes_per_device_(bytes_per_device), host_readable_(host_readable) {}

Memory::~Memory() {
  for (const auto& [address, block] : blocks_) unmap(block);
}

std::byte* Memory::allocate(Kind kind, int device, std::size_t bytes) {
  const std::size_t physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  if (bytes > (kind == Kind::device ? bytes_per_device_ : physical)) return nullptr;
  const std::size_t rounded = round_up(bytes, kAlignment), page = page_bytes();
  if (kind == Kind::device && rounded > free_bytes(device)) return nullptr;
  const std::size_t mapped = round_up(rounded, page);
  void* const memory = mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const mapping = static_cast<std::byte*>(memory);
  std::memset(mapping, kPoison, mapped);
  set_protection(mapping + mapped, page, PROT_NONE);
  std::byte* const begin = mapping + (mapped - rounded);
  ASAN_POISON_MEMORY_REGION(mapping, mapped);
  ASAN_UNPOISON_MEMORY_REGION(begin, bytes);
  blocks_[number(begin)] = {begin, bytes, kind, device, mapping, mapped};
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
  blocks_.erase(number(begin));
}

void Memory::unmap(const Block& block) {
  if (!block.mapping) return;
  ASAN_UNPOISON_MEMORY_REGION(block.mapping, block.mapped_bytes);
  munmap(block.mapping, block.mapped_bytes + page_bytes());
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

void Memory::forget(std::byte* begin) { blocks_.erase(number(begin)); }

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
  for (const auto& [device, bytes] : used_) open(device);
}

void Memory::close() {
  for (auto& [device, is_open] : open_) {
    if (is_open) protect(device, PROT_NONE);
    is_open = false;
  }
}

void Memory::protect(int device, int protection) {
  for (const auto& [address, block] : blocks_) {
    if (block.kind == Kind::device && block.device == device) {
      set_protection(block.mapping, block.mapped_bytes, protection);
    }
  }
}

}  // namespace cuda_on_cpu
