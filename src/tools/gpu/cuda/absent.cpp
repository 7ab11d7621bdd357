// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA, which never call these.

#include <halocline/error.hpp>

#include "gpu/managed_pages.hpp"
#include "gpu/stream_work.hpp"

namespace halocline::gpu {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorKind::unavailable, "this Halocline was built without CUDA");
}

}  // namespace

void pass_time(Stream, std::chrono::nanoseconds) { refuse(); }
void write_words(Stream, void*, std::int64_t, Words) { refuse(); }
void copy_by_kernel(Stream, void*, const void*, std::int64_t) { refuse(); }
std::optional<std::string> no_prefetch_because() { refuse(); }
void prefetch(void*, std::int64_t, Side, Stream) { refuse(); }

}  // namespace halocline::gpu
