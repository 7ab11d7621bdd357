// SPDX-License-Identifier: Apache-2.0
#include "lab/gpu_pages.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <halocline/error.hpp>

#include "device/cuda/known_memory.hpp"
#include "device/cuda/runtime.hpp"
#include "device/cuda/virtual_memory.hpp"

namespace halocline::bench {
namespace {

using device::cuda::Mapping;
using device::cuda::Physical;

using Pages = std::vector<std::unique_ptr<const Physical>>;

/// The pages of all memory from allocate_page_by_page().
using Paged = device::cuda::KnownMemory<const Pages*>;

const Pages& pages_of(const void* memory) {
  const auto pages = Paged::all().find(memory);
  if (!pages) throw Error(ErrorKind::internal, "memory was not allocated page by page");
  return **pages;
}

std::vector<const Physical*> pages_in(const void* memory, const std::vector<PageRange>& ranges) {
  const Pages& pages = pages_of(memory);
  std::vector<const Physical*> seen;
  for (const PageRange& range : ranges)
    for (std::int64_t i = 0; i < range.count; ++i)
      seen.push_back(pages.at(static_cast<std::size_t>(range.first + i)).get());
  return seen;
}

std::vector<const Physical*> addresses_of(const Pages& pages) {
  std::vector<const Physical*> all;
  for (const auto& page : pages) all.push_back(page.get());
  return all;
}

Pages make_pages(std::int64_t count) {
  Pages pages;
  for (std::int64_t i = 0; i < count; ++i)
    pages.push_back(std::make_unique<const Physical>(static_cast<std::size_t>(gpu_page_bytes())));
  return pages;
}

struct OwnPages {
  Pages pages;
  Mapping mapping;

  explicit OwnPages(std::int64_t count) : pages(make_pages(count)), mapping(addresses_of(pages)) {
    Paged::all().add(mapping.get(), &pages);
  }
  ~OwnPages() { Paged::all().remove(mapping.get()); }
  OwnPages(const OwnPages&) = delete;
  OwnPages& operator=(const OwnPages&) = delete;
};

std::shared_ptr<void> map_all(const std::vector<const Physical*>& pages) {
  const auto mapping = std::make_shared<Mapping>(pages);
  return {mapping, mapping->get()};
}

}  // namespace

std::int64_t gpu_page_bytes() { return device::cuda::page_bytes(); }

std::shared_ptr<void> allocate_page_by_page(std::int64_t bytes) {
  const std::int64_t page = gpu_page_bytes(), count = std::max<std::int64_t>(1, bytes / page);
  const auto made = std::make_shared<OwnPages>(count + (count * page < bytes ? 1 : 0));
  device::cuda::clear(made->mapping.get(), bytes, Stream::host());
  return {made, made->mapping.get()};
}

std::shared_ptr<void> view_of(const void* memory, const std::vector<PageRange>& ranges) {
  return map_all(pages_in(memory, ranges));
}

std::vector<std::unique_ptr<device::OfferedDescriptor>> offer_pages(
    const void* memory, const std::vector<PageRange>& ranges) {
  std::vector<std::unique_ptr<device::OfferedDescriptor>> offers;
  for (const Physical* page : pages_in(memory, ranges))
    offers.push_back(std::make_unique<device::OfferedDescriptor>(page->make_descriptor()));
  return offers;
}

std::shared_ptr<void> map_pages(const std::vector<device::DescriptorName>& names,
                                std::chrono::duration<double> limit) {
  Pages pages;
  for (const device::DescriptorName& name : names)
    pages.push_back(std::make_unique<const Physical>(device::fetch_descriptor(name, limit),
                                                     static_cast<std::size_t>(gpu_page_bytes())));
  return map_all(addresses_of(pages));
}

}  // namespace halocline::bench
