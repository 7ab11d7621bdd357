// SPDX-License-Identifier: Apache-2.0
// For builds without CUDA, which have no face links.

#include "links/cuda/face_flags.hpp"

namespace halocline::links::cuda {

void load_face_flags() {}
void await_all(const device::FacePort&, std::int64_t, Stream) {}
void meet_all(const device::FacePort&, std::int64_t, Stream) {}

}  // namespace halocline::links::cuda
