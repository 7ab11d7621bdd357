// SPDX-License-Identifier: Apache-2.0
#pragma once
// Libraries of others that carry bytes between GPUs and nodes, as programs here would find them.

#include <functional>
#include <string>
#include <vector>

#include "doctor/facts.hpp"

namespace halocline::doctor {

/// Loads NCCL, NVSHMEM, UCX and libfabric, which may do anything meanwhile: `before` is called with
/// the name of each.
std::vector<Library> find_libraries(const Variables& variables,
                                    const std::function<void(const std::string&)>& before);

}  // namespace halocline::doctor
