#include "device/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <halocline/error.hpp>

namespace halocline::device {
namespace {

// Below this a huge page would be mostly unused.
constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;

std::shared_ptr<void> allocate_host(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::resource,
                fmt::format("{:.1f} GB of host memory could not be had; use fewer cells per rank "
                            "or more nodes",
                            static_cast<double>(bytes) / 1e9));
  if (bytes >= huge_page_bytes) madvise(memory, size, MADV_HUGEPAGE);  // a hint: may fail
  return {memory, [size](void* address) { munmap(address, size); }};
}

}  // namespace

std::shared_ptr<void> allocate(Memory memory, std::int64_t bytes) {
  if (memory != Memory::host)
    throw Error(ErrorKind::unavailable,
                "this build of Halocline has no GPU backend, so fields live in host memory only");
  return allocate_host(bytes);
}

}  // namespace halocline::device
