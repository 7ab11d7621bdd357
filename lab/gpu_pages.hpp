// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU memory whose pages can be mapped again, in another order: in this process, and in others of
// the node, which get descriptors of them.

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/descriptors.hpp"

namespace halocline::bench {

/// Returns the bytes of a page of the current GPU's memory, 2 MiB on today's. Throws device if its
/// driver maps none.
std::int64_t gpu_page_bytes();

/// `count` pages from number `first` on.
struct PageRange {
  std::int64_t first, count;
};

/// Allocates GPU memory of pages that are allocations of their own, for CUDA maps no part of one: a
/// call of the driver for each.
std::shared_ptr<void> allocate_page_by_page(std::int64_t bytes);

/// Maps pages of such memory one behind the other for the current GPU, until the result is
/// released. Throws device or resource.
std::shared_ptr<void> view_of(const void* memory, const std::vector<PageRange>& ranges);

/// Offers pages of such memory to other processes, until the result is released. Each is an open
/// file.
std::vector<std::unique_ptr<device::OfferedDescriptor>> offer_pages(
    const void* memory, const std::vector<PageRange>& ranges);

/// Maps pages of another process one behind the other for the current GPU, until the result is
/// released; that process must offer them until this returns. Throws as map() in
/// device/sharing.hpp.
std::shared_ptr<void> map_pages(const std::vector<device::DescriptorName>& names,
                                std::chrono::duration<double> limit);

}  // namespace halocline::bench
