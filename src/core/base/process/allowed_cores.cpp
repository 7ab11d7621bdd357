// SPDX-License-Identifier: Apache-2.0
#include "base/process/allowed_cores.hpp"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include <sys/syscall.h>

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

void bind_this_thread(const std::vector<int>& cores) {
  const std::vector<unsigned long> bits = core_bits(cores);
  ::syscall(SYS_sched_setaffinity, 0, bits.size() * sizeof bits[0], bits.data());
}

/// Those of the cores that the kernel lets this thread use: it leaves out all others.
std::vector<int> granted(const std::vector<int>& cores) {
  const std::vector<int> before = cores_of_this_thread();
  bind_this_thread(cores);
  std::vector<int> found = cores_of_this_thread();
  bind_this_thread(before);
  return found;
}

}  // namespace

std::vector<unsigned long> core_bits(const std::vector<int>& cores) {
  constexpr std::size_t each = 8 * sizeof(unsigned long);
  std::vector<unsigned long> bits;
  for (const int core : cores) {
    const auto bit = static_cast<std::size_t>(core);
    bits.resize(std::max(bits.size(), bit / each + 1));
    bits[bit / each] |= 1UL << bit % each;
  }
  return bits;
}

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
  // A place whose cores are not there binds no thread.
  const std::vector<int> places = cores_of_places();
  if (!cores.empty() && std::includes(places.begin(), places.end(), cores.begin(), cores.end()))
    cores = granted(places);
  if (cores.empty()) cores.push_back(0);
  return cores;
}

}  // namespace halocline
