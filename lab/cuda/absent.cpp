// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA, where no stream and no memory is a GPU's: nobody calls these.

#include <halocline/error.hpp>

#include "lab/gpu_pages.hpp"
#include "lab/host_calls.hpp"

namespace halocline::bench {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::unavailable, "this Halocline was built without CUDA");
}

}  // namespace

void launch_nothing(Stream) { refuse(); }
void count_on_host(Stream, std::int64_t&) { refuse(); }
std::int64_t calls_so_far(const std::int64_t& calls) { return calls; }
Registered::Registered(void* memory, std::int64_t) : memory_(memory) { refuse(); }
Registered::~Registered() = default;

std::int64_t gpu_page_bytes() { refuse(); }
std::shared_ptr<void> allocate_page_by_page(std::int64_t) { refuse(); }
std::shared_ptr<void> view_of(const void*, const std::vector<PageRange>&) { refuse(); }
std::vector<std::unique_ptr<device::OfferedDescriptor>> offer_pages(const void*,
                                                                    const std::vector<PageRange>&) {
  refuse();
}
std::shared_ptr<void> map_pages(const std::vector<device::DescriptorName>&,
                                std::chrono::duration<double>) {
  refuse();
}

}  // namespace halocline::bench
