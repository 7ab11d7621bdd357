// SPDX-License-Identifier: Apache-2.0
#include "device/pages.hpp"

#include "device/cuda/runtime.hpp"
#include "device/sharing.hpp"

namespace halocline::device {

std::int64_t page_bytes() { return cuda::page_bytes(); }

PageByPage::PageByPage() { share_page_by_page(true); }
PageByPage::~PageByPage() { share_page_by_page(false); }

std::shared_ptr<void> view_of(const void* memory, const std::vector<PageRange>& ranges) {
  return cuda::view_of(memory, ranges);
}

OfferedPages::OfferedPages(const void* memory, const std::vector<PageRange>& ranges) {
  for (const PageRange& range : ranges)
    for (std::int64_t i = 0; i < range.count; ++i)
      offers_.push_back(
          std::make_unique<OfferedDescriptor>(cuda::descriptor_of_page(memory, range.first + i)));
}

std::vector<DescriptorName> OfferedPages::names() const {
  std::vector<DescriptorName> names;
  for (const auto& offer : offers_) names.push_back(offer->name());
  return names;
}

std::shared_ptr<void> map_pages(const std::vector<DescriptorName>& names,
                                std::chrono::duration<double> limit) {
  return cuda::map_pages(names, limit);
}

}  // namespace halocline::device
