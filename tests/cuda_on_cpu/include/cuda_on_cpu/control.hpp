// SPDX-License-Identifier: Apache-2.0
#pragma once
// For tests of one process under several settings.

namespace cuda_on_cpu {

/// Forgets devices, memory, streams and pending work, and reads the environment again. Every
/// handle and pointer obtained before is void.
void restart();

}  // namespace cuda_on_cpu
