// SPDX-License-Identifier: Apache-2.0
#include "cli/version.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process/variables.hpp"
#include "build_info.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "doctor/libraries.hpp"
#include "launch/launcher.hpp"
#include "machine/cores.hpp"
#include "stencil/sweep.hpp"
#include "transport/transport.hpp"

namespace halocline::cli {
namespace {

std::string usable(const std::optional<std::string>& why_not) {
  if (why_not && why_not == device::no_gpu_because()) return "not usable: no usable GPU, see above";
  return why_not ? fmt::format("not usable: {}", *why_not) : std::string("usable");
}

std::string mode_text(device::ComputeMode mode) {
  if (mode == device::ComputeMode::exclusive) return ", for one process only";
  return mode == device::ComputeMode::prohibited ? ", use prohibited" : "";
}

std::string gpus_text() {
  const device::Gpus& gpus = device::gpus();
  if (gpus.list.empty()) return fmt::format("  GPUs        none: {}\n", gpus.none_because);
  std::string text;
  for (const device::Gpu& gpu : gpus.list)
    text +=
        fmt::format("  GPU {:<7} {}, {}, {:.0f} GB, compute capability {}.{}, PCI {}{}\n",
                    gpu.ordinal, gpu.name, gpu.uuid, static_cast<double>(gpu.memory_bytes) / 1e9,
                    gpu.major, gpu.minor, gpu.pci, mode_text(gpu.mode));
  text += fmt::format("  driver      CUDA {}\n", gpus.driver);
  if (const auto why = device::no_gpu_because())
    text += fmt::format("  GPUs        not usable: {}\n", *why);
  return text;
}

/// "  NCCL        2.28.9: /usr/lib/libnccl.so.2, found by the loader".
std::string library_text(const doctor::Library& library) {
  const std::string words = doctor::words_for(library);
  return fmt::format("  {:<11} {}\n", library.name,
                     words.substr(words.find_first_not_of(": ", library.name.size())));
}

}  // namespace

std::string version_text() {
  return fmt::format("halocline {} (commit {}, {}, for {})\n", build_info::version,
                     build_info::commit(), build_info::compiler, name_of(comm::family()));
}

std::string verbose_version_text() {
  std::string text = version_text();
  text += fmt::format("  C++         {}\n", build_info::cxx);
  if (!build_info::cuda.empty()) text += fmt::format("  CUDA        {}\n", build_info::cuda);
  text += fmt::format("  MPI         {}\n", comm::library_version());
  text += fmt::format("  processor   {}, vectors {}\n", machine::processor_name(),
                      fmt::join(stencil::simd_levels(), " "));
  text += gpus_text();
  for (const doctor::Library& library : doctor::find_own_libraries(current_variables()))
    text += library_text(library);
  text += "\nbackends\n";
  for (const stencil::Backend* backend : stencil::backends())
    text += fmt::format("  {:<11} {}\n", backend->name(), usable(backend->unavailable()));
  text += "\ntransports\n";
  for (const transport::Transport* transport : transport::transports())
    text += fmt::format("  {:<11} {}\n", transport->name(), usable(transport->missing_here()));
  return text;
}

}  // namespace halocline::cli
