// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>

#include <halocline/gpu.hpp>
#include <halocline/mpi_fortran.hpp>

#include "guard.hpp"

using namespace halocline;

// Version 1. A later one adds members at the end, and earlier_sizes has the size before.
static_assert(sizeof(halocline_device_info) == 160);

namespace {

template <std::size_t Size>
void put(const std::string& from, char (&to)[Size]) {
  std::strncpy(to, from.c_str(), Size - 1);
  to[Size - 1] = '\0';
}

}  // namespace

halocline_status halocline_bind_device(int communicator, halocline_device_info* info) {
  return binding::guarded([&] {
    if (info != nullptr) binding::fillable(info, "halocline_device_info");
    const GpuChoice choice = bind_gpu(from_mpi_fortran(communicator));
    if (info == nullptr) return;
    info->ordinal = choice.ordinal;
    info->ranks_on_gpu = choice.ranks_on_gpu;
    put(choice.name, info->name);
    put(choice.uuid, info->uuid);
  });
}
