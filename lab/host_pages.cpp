// SPDX-License-Identifier: Apache-2.0
#include "lab/host_pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <sys/mman.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "bench/byte_ranges.hpp"

namespace halocline::bench {
namespace {

constexpr int both_ways = PROT_READ | PROT_WRITE;
constexpr std::size_t copied_at_once = std::size_t{32} << 20;

[[noreturn]] void fail(ErrorKind kind, const std::string& what, const char* remedy) {
  throw Error(kind, fmt::format("could not {}: {}; {}", what,
                                std::generic_category().message(errno), remedy));
}

}  // namespace

PagedMemory::PagedMemory(std::byte* memory, std::int64_t bytes)
    : file_(memfd_create("halocline field", MFD_CLOEXEC)) {
  if (!file_.is_open())
    fail(ErrorKind::unavailable, "make a file in memory", "leave out mapped_views");
  const auto size = static_cast<std::size_t>(bytes);
  void* mapped = MAP_FAILED;
  if (ftruncate(file_.get(), bytes) == 0)
    mapped = mmap(nullptr, size, both_ways, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED)
    fail(ErrorKind::resource, fmt::format("map {} bytes of a field as a file", bytes),
         "use fewer cells per rank");
  // Piece by piece, so that memory is never there twice.
  for (std::size_t done = 0; done < size; done += copied_at_once) {
    const std::size_t piece = std::min(copied_at_once, size - done);
    std::memcpy(static_cast<std::byte*>(mapped) + done, memory + done, piece);
    madvise(memory + done, piece, MADV_DONTNEED);
  }
  munmap(mapped, size);
  // Not mremap of the copy: UCX puts a function of its own in its place, which loses the address.
  if (mmap(memory, size, both_ways, MAP_SHARED | MAP_FIXED, file_.get(), 0) == MAP_FAILED)
    fail(ErrorKind::resource, fmt::format("put {} bytes of a field into a file", bytes),
         "leave out mapped_views");
}

std::shared_ptr<std::byte> PagedMemory::view(const std::vector<Run>& ranges) const {
  const auto size = static_cast<std::size_t>(bytes_of(ranges));
  void* const begin = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED)
    fail(ErrorKind::resource, fmt::format("reserve {} bytes of addresses", size),
         "use fewer cells per rank");
  std::shared_ptr<std::byte> view(static_cast<std::byte*>(begin),
                                  [size](std::byte* first) { munmap(first, size); });
  std::byte* at = view.get();
  for (const Run& range : ranges) {
    if (mmap(at, static_cast<std::size_t>(range.bytes), both_ways, MAP_SHARED | MAP_FIXED,
             file_.get(), range.offset) == MAP_FAILED)
      fail(errno == ENOMEM ? ErrorKind::resource : ErrorKind::internal,
           fmt::format("map all {} of a message", counted(ranges.size(), "piece")),
           "raise vm.max_map_count (sysctl), or use fewer cells per rank");
    at += range.bytes;
  }
  return view;
}

}  // namespace halocline::bench
