// SPDX-License-Identifier: Apache-2.0
#include "proof/surroundings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/files/small_files.hpp"
#include "base/libraries/run_time_library.hpp"
#include "base/process/mapped_files.hpp"
#include "base/text/numbers.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "proof/cuda_parts.hpp"
#include "transport/transport.hpp"

namespace halocline::proof {
namespace {

namespace fs = std::filesystem;

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// "580.65.06", from one of two files: containers often have only one.
std::string driver_version(const fs::path& root) {
  const std::string version = first_line(root / "sys/module/nvidia/version");
  if (!version.empty()) return version;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27 ..."
  std::istringstream words(first_line(root / "proc/driver/nvidia/version"));
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == word.npos)
      return word;
  return "unknown";
}

std::vector<std::string> gpu_names(const fs::path& root) {
  std::set<std::string> names;
  for (const fs::path& gpu : entries_of(root / "proc/driver/nvidia/gpus")) {
    std::ifstream file(gpu / "information");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("Model:")) continue;
      const std::size_t at = line.find_first_not_of(" \t", 6);
      if (at != std::string::npos) names.insert(line.substr(at));
    }
  }
  return {names.begin(), names.end()};
}

/// Returns a path and its size: another build of the same version has another size, while copies of
/// one build on several nodes have the same.
std::string words_for(const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  const std::uintmax_t size = fs::file_size(real, error);
  if (error) return file.string();
  return fmt::format("{} ({} bytes)", real.string(), size);
}

/// Returns the first file of this name; empty if there is none.
fs::path file_in(const std::vector<fs::path>& folders, const char* name) {
  std::error_code ignored;
  for (const fs::path& folder : folders)
    if (fs::exists(folder / name, ignored)) return folder / name;
  return {};
}

/// Returns UCX and libfabric, and whether they have CUDA support.
std::vector<std::string> files_below_mpi(const Variables& variables,
                                         const std::vector<fs::path>& folders) {
  std::vector<std::string> words;
  if (const fs::path ucp = file_in(folders, "libucp.so.0"); !ucp.empty()) {
    const fs::path modules = ucx_modules(ucp, variables);
    const fs::path module = cuda_module_in(modules);
    words.push_back(words_for(ucp));
    words.push_back(module.empty() ? "no libuct_cuda in " + modules.string() : words_for(module));
  }
  if (const fs::path fabric = file_in(folders, "libfabric.so.1"); !fabric.empty()) {
    words.push_back(words_for(fabric));
    if (!libfabric_knows_cuda(fabric)) words.push_back("no CUDA in " + fabric.string());
  }
  return words;
}

/// Returns the path and the content's hash of each existing configuration file of MPI and UCX,
/// which may have settings instead of variables.
std::vector<std::string> files_of_settings(const Variables& variables, const fs::path& root) {
  std::vector<fs::path> files{root / "etc/openmpi/openmpi-mca-params.conf",
                              root / "etc/ucx/ucx.conf"};
  if (const std::string home = value_of(variables, "HOME"); !home.empty()) {
    files.push_back(fs::path(home) / ".openmpi/mca-params.conf");
    files.push_back(fs::path(home) / "ucx.conf");
  }
  std::vector<std::string> words;
  for (const fs::path& path : files) {
    std::ifstream file(path);
    std::ostringstream content;
    if (file && content << file.rdbuf())
      words.push_back(fmt::format("{} (content {})", path.string(), key_of({content.str()}).hash));
  }
  return words;
}

}  // namespace

int count_gpus(const Variables& variables, const fs::path& root) {
  const std::string assumed = value_of(variables, assume_gpu_variable);
  if (!assumed.empty()) return read_whole<int>(assumed, assume_gpu_variable, 0);
  const auto is_gpu = [](const fs::path& path) {
    constexpr std::string_view stem = "nvidia";
    const std::string name = path.filename().string();
    return name.starts_with(stem) && number(std::string_view(name).substr(stem.size()));
  };
  const std::vector<fs::path> devices = entries_of(root / "dev");
  auto count = std::count_if(devices.begin(), devices.end(), is_gpu);
  if (count == 0) count = std::ssize(entries_of(root / "proc/driver/nvidia/gpus"));
  const auto shown = variables.find("CUDA_VISIBLE_DEVICES");
  if (shown == variables.end()) return static_cast<int>(count);
  const std::string& list = shown->second;
  if (list.empty() || list.starts_with('-')) return 0;  // CUDA stops at the first invalid one
  return static_cast<int>(
      std::min(count, std::count(list.begin(), list.end(), ',') + std::ptrdiff_t{1}));
}

int gpus_here(const Variables& variables) {
  if (!device::gpus_are_supported() && !variables.contains(assume_gpu_variable)) return 0;
  return count_gpus(variables);
}

std::vector<GpuPair> pairs_between(int ranks_on_node, int gpus) {
  if (ranks_on_node < 2 || gpus < 1) return {};
  if (gpus == 1) return {GpuPair::same_gpu};
  if (ranks_on_node <= gpus) return {GpuPair::same_node};
  return {GpuPair::same_node, GpuPair::same_gpu};
}

Environment this_environment(const Variables& variables, const fs::path& root) {
  Environment environment;
  environment.variables = variables;
  environment.mpi = comm::library_version();
  // It is linked, so all of its files are loaded before MPI_Init.
  const std::set<fs::path> mpi = mapped_files("libmpi");
  if (!mpi.empty()) environment.mpi_library = mpi.begin()->string();
  for (const fs::path& file : mpi) environment.libraries.push_back(words_for(file));
  for (std::string& words :
       files_below_mpi(variables, folders_of_loader(variables, root, environment.mpi_library)))
    environment.libraries.push_back(std::move(words));
  for (const transport::Transport* one : transport::transports())
    for (const fs::path& file : one->files(variables))
      environment.libraries.push_back(words_for(file));
  for (std::string& words : files_of_settings(variables, root))
    environment.libraries.push_back(std::move(words));
  environment.driver = driver_version(root);
  environment.gpus = gpu_names(root);
  return environment;
}

}  // namespace halocline::proof
