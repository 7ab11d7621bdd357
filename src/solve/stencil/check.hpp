// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks of a pass, for every backend.

#include "stencil/sweep.hpp"

namespace halocline::stencil {

enum class SweptBy { host, gpu };

/// Throws internal if a field is missing or does not hold the region or the neighbours that the
/// model reads, an element has another size, the norm has no destination, or the backend cannot use
/// the stream or the memory. Cheap enough for every sweep.
void check_pass(const Pass& pass, const problem::Model& model, SweptBy by, Stream stream);

}  // namespace halocline::stencil
