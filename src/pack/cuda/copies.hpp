#pragma once
// Copies by a GPU.

#include <memory>

#include "pack/pack.hpp"

namespace halocline::pack::cuda {

/// Lists the copies in the current GPU's memory. Throws resource.
std::shared_ptr<const Copies> make_copies(const std::vector<Bundle>& bundles, Direction direction);

/// Enqueues them: one launch.
void run(const Copies& copies, Stream stream);

}  // namespace halocline::pack::cuda
