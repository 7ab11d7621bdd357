// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace halocline {

/// MPICH stands for its kin as well. Ranks started by the launcher of the other family find each
/// other not: each runs alone.
enum class MpiFamily { open_mpi, mpich };

}  // namespace halocline
