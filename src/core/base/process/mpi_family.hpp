// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace halocline {

/// MPICH includes its derivatives. Ranks started by the launcher of the other family do not find
/// each other: each runs alone.
enum class MpiFamily { open_mpi, mpich };

}  // namespace halocline
