// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU memory whose pages can be mapped again, in another order: in this process, and in others of
// the node, which get descriptors of them.

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/descriptors.hpp"

namespace halocline::device {

/// Returns the bytes of a page of the current GPU's memory, 2 MiB on today's. Throws device if its
/// driver maps none.
std::int64_t page_bytes();

/// `count` pages from number `first` on.
struct PageRange {
  std::int64_t first, count;
};

/// While one exists, allocate_to_share() makes GPU memory of pages that are allocations of their
/// own, for CUDA maps no part of one: a call of the driver for each. One at a time.
class PageByPage {
 public:
  PageByPage();
  ~PageByPage();
  PageByPage(const PageByPage&) = delete;
  PageByPage& operator=(const PageByPage&) = delete;
};

/// Maps pages of such memory one behind the other for the current GPU, until the result is
/// released. Throws device or resource.
std::shared_ptr<void> view_of(const void* memory, const std::vector<PageRange>& ranges);

/// Pages of such memory for other processes, until this is destroyed. Each is an open file.
class OfferedPages {
 public:
  OfferedPages(const void* memory, const std::vector<PageRange>& ranges);
  std::vector<DescriptorName> names() const;

 private:
  std::vector<std::unique_ptr<OfferedDescriptor>> offers_;
};

/// Maps pages of another process one behind the other for the current GPU, until the result is
/// released; that process must offer them until this returns. Throws as map() in sharing.hpp.
std::shared_ptr<void> map_pages(const std::vector<DescriptorName>& names,
                                std::chrono::duration<double> limit);

}  // namespace halocline::device
