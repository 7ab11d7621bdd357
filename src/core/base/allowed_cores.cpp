// SPDX-License-Identifier: Apache-2.0
#include "base/allowed_cores.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <set>

namespace halocline {
namespace {

/// Cores that the calling thread may run on, ascending; empty if that is not known.
std::vector<int> cores_of_this_thread() {
  std::vector<int> cores;
  // Masks beyond 1024 cores need a larger set; doubled until the kernel's fits.
  for (int capacity = 1024; capacity <= 1 << 18; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    CPU_ZERO_S(bytes, set);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    for (int core = 0; known && core < capacity; ++core)
      if (CPU_ISSET_S(static_cast<std::size_t>(core), bytes, set)) cores.push_back(core);
    CPU_FREE(set);
    if (known) break;
  }
  return cores;
}

}  // namespace

std::vector<int> cores_of_places() {
  if (omp_get_proc_bind() == omp_proc_bind_false) return {};
  std::set<int> cores;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> of_place(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, of_place.data());
    cores.insert(of_place.begin(), of_place.end());
  }
  return {cores.begin(), cores.end()};
}

std::vector<int> allowed_cores() {
  std::vector<int> cores = cores_of_this_thread();
  // Places may name cores that are not there; of such a place no thread is.
  std::vector<int> places = cores_of_places();
  if (std::includes(places.begin(), places.end(), cores.begin(), cores.end())) cores = places;
  if (cores.empty()) cores.push_back(0);
  return cores;
}

}  // namespace halocline
