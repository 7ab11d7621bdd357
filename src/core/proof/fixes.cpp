// SPDX-License-Identifier: Apache-2.0
#include "proof/fixes.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace halocline::proof {
namespace {

constexpr auto or_staged =
    "or use transport staged, which needs none of this and which auto uses if it has no proof";

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_on(const std::string& value) { return !value.empty() && value != "0"; }

/// As UCX reads a yes or no.
bool is_off(const std::string& value) {
  const std::string word = lower_case(value);
  return word == "n" || word == "no" || word == "0" || word == "off";
}

/// Tried with Open MPI 4.1.6 and 5.0.11 and the PyPI wheel of UCX 1.22 on H200.
std::string for_open_mpi(const Variables& variables, int signal) {
  const bool uses_ucx = value_of(variables, "OMPI_MCA_pml") == "ucx";
  // Without these two, Open MPI does not use UCX if there is no InfiniBand.
  const bool any_ucx = value_of(variables, "OMPI_MCA_opal_common_ucx_tls") == "any" &&
                       value_of(variables, "OMPI_MCA_opal_common_ucx_devices") == "any";
  constexpr auto options =
      "mpirun --mca pml ucx --mca opal_common_ucx_tls any --mca opal_common_ucx_devices any";
  if (!uses_ucx || !any_ucx)
    return fmt::format(
        "this Open MPI needs a UCX that was built with CUDA (PyPI: libucx-cu13, "
        "conda-forge: ucx; not Debian's or Ubuntu's) in front of LD_LIBRARY_PATH, "
        "and {}; with UCX_MEMTYPE_CACHE=n too if that crashes, which can be slow",
        options);
  if (signal != 0 && !is_off(value_of(variables, "UCX_MEMTYPE_CACHE")))
    return "set UCX_MEMTYPE_CACHE=n (mpirun -x UCX_MEMTYPE_CACHE=n): without it UCX may mistake a "
           "GPU pointer for a host pointer";
  if (signal != 0)
    return "this UCX seems to be built without CUDA (ucx_info -d must list cuda_copy): put a UCX "
           "with CUDA (PyPI: libucx-cu13, conda-forge: ucx) in front of LD_LIBRARY_PATH, and set "
           "UCX_MODULE_DIR to its modules";
  return "disable UCX's direct path between GPUs with UCX_TLS=^cuda_ipc, which shows whether that "
         "path is at fault";
}

/// The settings with which Open MPI passes GPU memory to a UCX with CUDA support.
Variables to_try_with_open_mpi(const Variables& variables, int signal) {
  Variables settings;
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"OMPI_MCA_pml", "ucx"},
           {"OMPI_MCA_opal_common_ucx_tls", "any"},
           {"OMPI_MCA_opal_common_ucx_devices", "any"}})
    if (value_of(variables, name) != value) settings[name] = value;
  if (!settings.empty()) return settings;
  const std::string ways = value_of(variables, "UCX_TLS");
  if (!ways.empty() && ways.front() != '^' && ways.find("cuda") == std::string::npos &&
      ways.find("all") == std::string::npos && ways.find("any") == std::string::npos)
    return {{"UCX_TLS", ways + ",cuda_copy,cuda_ipc"}};
  if (signal != 0 && !is_off(value_of(variables, "UCX_MEMTYPE_CACHE")))
    return {{"UCX_MEMTYPE_CACHE", "n"}};
  return {};
}

std::string for_cray(const Variables& variables) {
  if (!is_on(value_of(variables, "MPICH_GPU_SUPPORT_ENABLED")))
    return "set MPICH_GPU_SUPPORT_ENABLED=1, with the GTL library linked or in LD_PRELOAD "
           "(libmpi_gtl_cuda.so; module craype-accel-nvidia90 when linking)";
  return "link the GTL library of this Cray MPICH (libmpi_gtl_cuda.so; load module "
         "craype-accel-nvidia90 when linking) or name it in LD_PRELOAD";
}

std::string with_switch(const Variables& variables, const char* name, std::string_view mpi,
                        std::string_view build) {
  if (!is_on(value_of(variables, name)))
    return fmt::format("set {}=1, which needs an {} {}", name, mpi, build);
  return fmt::format("{}={} is set, so this {} seems not to be {}: use one that is", name,
                     value_of(variables, name), mpi, build);
}

std::string for_library(const std::string& library, const Variables& variables, int signal) {
  const std::string name = lower_case(library);
  const auto says = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  if (says("open mpi")) return for_open_mpi(variables, signal);
  if (says("cray")) return for_cray(variables);
  if (says("mvapich"))
    return with_switch(variables, "MV2_USE_CUDA", "MVAPICH", "built with --enable-cuda");
  if (says("intel"))
    return with_switch(variables, "I_MPI_OFFLOAD", "Intel MPI", "of 2021.10 or later");
  if (says("mpich"))
    return with_switch(variables, "MPIR_CVAR_ENABLE_GPU", "MPICH", "built with --with-cuda");
  return fmt::format("use an MPI that was built with CUDA; {} seems not to be", library);
}

}  // namespace

Variables settings_to_try(const std::string& library, const Variables& variables, int signal,
                          UcxHere ucx) {
  const std::string name = lower_case(library);
  const auto says = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const auto on = [&](const char* variable) {
    return is_on(value_of(variables, variable)) ? Variables{} : Variables{{variable, "1"}};
  };
  if (says("open mpi"))
    return ucx == UcxHere::with_cuda ? to_try_with_open_mpi(variables, signal) : Variables{};
  if (says("cray")) return on("MPICH_GPU_SUPPORT_ENABLED");
  if (says("mvapich")) return on("MV2_USE_CUDA");
  if (says("intel")) return on("I_MPI_OFFLOAD");
  if (says("mpich")) return on("MPIR_CVAR_ENABLE_GPU");
  return {};
}

Variables faster_settings_to_try(const Variables& variables) {
  // Asking the driver for every pointer takes 7 times as long as UCX's own cache of them: 207 us
  // instead of 30 for 8 bytes, 4.5 GB/s instead of 28 for 1 MiB (H200, Open MPI 4.1.6, UCX 1.22).
  if (is_off(value_of(variables, "UCX_MEMTYPE_CACHE"))) return {{"UCX_MEMTYPE_CACHE", "y"}};
  return {};
}

std::string fix(const std::string& library, const Variables& variables, int signal) {
  return fmt::format("{}; {}", for_library(library, variables, signal), or_staged);
}

}  // namespace halocline::proof
