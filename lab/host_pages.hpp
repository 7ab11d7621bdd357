// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the host whose pages can be seen a second time, in another order.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <halocline/field.hpp>

#include "base/files/descriptor.hpp"

namespace halocline::bench {

/// Memory of a mapping of its own, put into a file that lies in memory alone: it stays where it is
/// and keeps its values. Its pages are huge only where the system makes those of such files so, and
/// all are on the NUMA node of the thread that made this.
class PagedMemory {
 public:
  /// `memory` must begin a page and be whole pages, mapped by mmap for this process alone, as
  /// fields on the host are, and must outlive this. If this throws its values are lost: resource,
  /// or unavailable if the system has no such files.
  PagedMemory(std::byte* memory, std::int64_t bytes);

  /// Maps ranges of whole pages (`count` is 1) behind each other, until the result is released:
  /// what is stored on one side is seen on the other. Throws resource if this process has as many
  /// mappings as the system allows, internal if the ranges are no pages of the file.
  std::shared_ptr<std::byte> view(const std::vector<Run>& ranges) const;

 private:
  Descriptor file_;
};

}  // namespace halocline::bench
