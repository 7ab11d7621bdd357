// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA. Never called, since no field can be in GPU memory.

#include <halocline/error.hpp>

#include "pack/cuda/copies.hpp"

namespace halocline::pack::cuda {

std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>&, Direction,
                                          const std::vector<Move>&) {
  throw Error(ErrorKind::unavailable, "this Halocline was built without CUDA");
}

std::int64_t widest_word(const Copies&) { return 1; }

void run(const Copies*, const Copies*, Stream, Shifts) {}

}  // namespace halocline::pack::cuda
