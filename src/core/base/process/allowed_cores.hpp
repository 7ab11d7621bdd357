// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cores of this process, whatever OpenMP has bound its threads to.

#include <vector>

namespace halocline {

/// Variables with which users request that OpenMP binds threads.
inline constexpr const char* binding_variables[] = {"OMP_PROC_BIND", "OMP_PLACES",
                                                    "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};

/// Numbers of the cores that this process may run on, ascending. Where OpenMP binds threads, these
/// are the cores of all its places: GCC's binds the first thread to one of them as it is loaded.
std::vector<int> allowed_cores();

/// Cores of all places of OpenMP, ascending; empty if it binds no threads. The user may have named
/// some that are not there.
std::vector<int> cores_of_places();

/// A set of cores as sched_setaffinity(2) takes it.
std::vector<unsigned long> core_bits(const std::vector<int>& cores);

}  // namespace halocline
