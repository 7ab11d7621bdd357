// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA. Never called, since no field can be in GPU memory.

#include <halocline/error.hpp>

#include "pack/cuda/copies.hpp"

namespace halocline::pack::cuda {

std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>&, Direction,
                                          const std::vector<Move>&) {
  throw Error(ErrorKind::unavailable, "this Halocline was built without CUDA");
}

void run(const Copies*, const Copies*, Stream) {}

}  // namespace halocline::pack::cuda
