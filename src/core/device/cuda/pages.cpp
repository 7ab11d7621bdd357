// SPDX-License-Identifier: Apache-2.0
#include "device/pages.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <halocline/error.hpp>

#include "device/cuda/known_memory.hpp"
#include "device/cuda/runtime.hpp"
#include "device/cuda/virtual_memory.hpp"

namespace halocline::device::cuda {
namespace {

using Pages = std::vector<std::unique_ptr<const Physical>>;

/// The pages of all memory from allocate_page_by_page().
using Paged = KnownMemory<const Pages*>;

const Pages& pages_of(const void* memory) {
  const auto pages = Paged::all().find(memory);
  if (!pages) throw Error(ErrorKind::internal, "memory was not allocated page by page");
  return **pages;
}

std::vector<const Physical*> addresses_of(const Pages& pages) {
  std::vector<const Physical*> all;
  for (const auto& page : pages) all.push_back(page.get());
  return all;
}

Pages make_pages(std::int64_t count) {
  Pages pages;
  for (std::int64_t i = 0; i < count; ++i)
    pages.push_back(std::make_unique<const Physical>(static_cast<std::size_t>(page_bytes())));
  return pages;
}

struct PagedMemory {
  Pages pages;
  Mapping mapping;

  explicit PagedMemory(std::int64_t count)
      : pages(make_pages(count)), mapping(addresses_of(pages)) {
    Paged::all().add(mapping.get(), &pages);
  }
  ~PagedMemory() { Paged::all().remove(mapping.get()); }
  PagedMemory(const PagedMemory&) = delete;
  PagedMemory& operator=(const PagedMemory&) = delete;
};

std::shared_ptr<void> map_all(const std::vector<const Physical*>& pages) {
  const auto mapping = std::make_shared<Mapping>(pages);
  return {mapping, mapping->get()};
}

}  // namespace

std::shared_ptr<void> allocate_page_by_page(std::int64_t bytes) {
  const std::int64_t page = page_bytes(), count = std::max<std::int64_t>(1, bytes / page);
  const auto made = std::make_shared<PagedMemory>(count + (count * page < bytes ? 1 : 0));
  clear(made->mapping.get(), bytes, Stream::host());
  return {made, made->mapping.get()};
}

std::shared_ptr<void> view_of(const void* memory, const std::vector<PageRange>& ranges) {
  const Pages& pages = pages_of(memory);
  std::vector<const Physical*> seen;
  for (const PageRange& range : ranges)
    for (std::int64_t i = 0; i < range.count; ++i)
      seen.push_back(pages.at(static_cast<std::size_t>(range.first + i)).get());
  return map_all(seen);
}

int descriptor_of_page(const void* memory, std::int64_t page) {
  return pages_of(memory).at(static_cast<std::size_t>(page))->make_descriptor();
}

std::shared_ptr<void> map_pages(const std::vector<DescriptorName>& names,
                                std::chrono::duration<double> limit) {
  Pages pages;
  for (const DescriptorName& name : names)
    pages.push_back(std::make_unique<const Physical>(fetch_descriptor(name, limit),
                                                     static_cast<std::size_t>(page_bytes())));
  return map_all(addresses_of(pages));
}

}  // namespace halocline::device::cuda
