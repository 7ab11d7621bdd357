// SPDX-License-Identifier: Apache-2.0
#include "doctor/node_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <halocline/error.hpp>

#include "base/files/small_files.hpp"
#include "base/libraries/find_program.hpp"
#include "base/process/allowed_cores.hpp"
#include "base/process/host_name.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "machine/cores.hpp"
#include "proof/surroundings.hpp"

namespace halocline::doctor {
namespace {

namespace fs = std::filesystem;

/// Reads the number that a text begins with: "4(x2)" of Slurm is 4.
std::optional<int> number_in(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos
             ? ""
             : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

/// Effective capabilities hold CAP_SYS_PTRACE, number 19.
bool may_trace(const fs::path& root) {
  std::ifstream status(root / "proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    std::uint64_t set = 0;
    std::istringstream(line.substr(7)) >> std::hex >> set;
    return (set >> 19 & 1) != 0;
  }
  return false;
}

std::string container_of(const Variables& variables, const fs::path& root) {
  std::error_code ignored;
  if (fs::exists(root / ".dockerenv", ignored)) return "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) return "podman";
  if (variables.contains("APPTAINER_CONTAINER") || variables.contains("SINGULARITY_CONTAINER"))
    return "apptainer";
  if (variables.contains("KUBERNETES_SERVICE_HOST")) return "kubernetes";
  return "";
}

int count_numa_nodes() {
  const auto nodes = entries_of("/sys/devices/system/node");
  const auto count = std::count_if(nodes.begin(), nodes.end(), [](const fs::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
  });
  return std::max(1, static_cast<int>(count));
}

Variables variables_like(const Variables& variables, std::span<const std::string_view> beginnings,
                         std::span<const std::string_view> names) {
  Variables found;
  for (const auto& [name, value] : variables) {
    const auto begins = [&name = name](std::string_view word) { return name.starts_with(word); };
    if (std::any_of(beginnings.begin(), beginnings.end(), begins) ||
        std::find(names.begin(), names.end(), name) != names.end())
      found.emplace(name, value);
  }
  return found;
}

}  // namespace

Variables settings_of_mpi(const Variables& variables) {
  constexpr std::string_view beginnings[] = {"UCX_",      "OMPI_MCA_", "MPICH_", "MPIR_CVAR_",
                                             "MV2_",      "I_MPI_",    "FI_",    "PMIX_MCA_",
                                             "PRTE_MCA_", "OPAL_",     "HYDRA_", "MPIEXEC_"};
  constexpr std::string_view names[] = {"LD_LIBRARY_PATH", "LD_PRELOAD", "TMPDIR", "TEMP", "TMP"};
  return variables_like(variables, beginnings, names);
}

std::optional<double> read_load(const fs::path& root) {
  std::istringstream words(first_line(root / "proc/loadavg"));
  double load = 0;
  return words >> load ? std::optional(load) : std::nullopt;
}

Limits read_limits(const Variables& variables, const fs::path& root) {
  Limits limits;
  struct statvfs shm {};
  if (::statvfs((root / "dev/shm").c_str(), &shm) == 0) {
    limits.shm_bytes = static_cast<std::int64_t>(shm.f_blocks * shm.f_frsize);
    limits.shm_free_bytes = static_cast<std::int64_t>(shm.f_bavail * shm.f_frsize);
  }
  limits.ptrace_scope = number_in(first_line(root / "proc/sys/kernel/yama/ptrace_scope"));
  limits.may_trace = may_trace(root);
  rlimit locked{};
  if (::getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY)
    limits.memlock_bytes = static_cast<std::int64_t>(locked.rlim_cur);
  limits.of_processes = process_limits();
  limits.temporary = "/tmp";
  for (const char* name : {"TMP", "TEMP", "TMPDIR"})
    if (const std::string folder = value_of(variables, name); !folder.empty())
      limits.temporary = folder;
  struct statvfs temporary {};
  // A file system without a limit has no blocks.
  if (::statvfs(limits.temporary.c_str(), &temporary) == 0)
    limits.temporary_free_bytes =
        temporary.f_blocks == 0
            ? std::numeric_limits<std::int64_t>::max()
            : static_cast<std::int64_t>(temporary.f_bavail * temporary.f_frsize);
  limits.temporary_is_writable = ::access(limits.temporary.c_str(), W_OK | X_OK) == 0;
  limits.container = container_of(variables, root);
  return limits;
}

std::vector<ParameterFile> read_parameter_files(const Variables& variables,
                                                const std::string& launcher, const fs::path& root) {
  std::vector<fs::path> paths;
  if (const std::string home = value_of(variables, "HOME"); !home.empty())
    paths.push_back(fs::path(home) / ".openmpi/mca-params.conf");
  std::vector<fs::path> folders{root / "etc/openmpi", root / "etc"};
  if (!launcher.empty()) folders.push_back(fs::path(launcher).parent_path().parent_path() / "etc");
  for (const fs::path& folder : folders) paths.push_back(folder / "openmpi-mca-params.conf");
  std::vector<ParameterFile> files;
  for (const fs::path& path : paths) {
    std::ifstream lines(path);
    Variables settings;
    for (std::string line; std::getline(lines, line);) {
      line.erase(std::min(line.find('#'), line.size()));
      const std::size_t sign = line.find('=');
      if (sign == std::string::npos) continue;
      settings[trimmed(line.substr(0, sign))] = trimmed(line.substr(sign + 1));
    }
    if (!settings.empty()) files.push_back({path.string(), std::move(settings)});
  }
  return files;
}

std::string files_without(const std::vector<ParameterFile>& files,
                          const std::vector<ParameterFile>& suspects) {
  std::vector<std::string> left;
  for (const ParameterFile& file : files)
    if (std::find(suspects.begin(), suspects.end(), file) == suspects.end())
      left.push_back(file.path);
  return left.empty() ? "/dev/null" : fmt::format("{}", fmt::join(left, ":"));
}

Allocation read_allocation(const Variables& variables) {
  const auto number = [&](const char* name) { return number_in(value_of(variables, name)); };
  if (variables.contains("SLURM_JOB_ID"))
    return {.manager = "Slurm",
            .job = value_of(variables, "SLURM_JOB_ID"),
            .nodes = number("SLURM_JOB_NUM_NODES"),
            .tasks = number("SLURM_NTASKS"),
            .cores_per_task = number("SLURM_CPUS_PER_TASK")};
  if (variables.contains("PBS_JOBID")) {
    Allocation allocation{.manager = "PBS", .job = value_of(variables, "PBS_JOBID")};
    std::ifstream file(value_of(variables, "PBS_NODEFILE"));
    std::vector<std::string> hosts;
    for (std::string host; std::getline(file, host);) hosts.push_back(host);
    if (!hosts.empty()) allocation.tasks = static_cast<int>(hosts.size());
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    if (!hosts.empty()) allocation.nodes = static_cast<int>(hosts.size());
    return allocation;
  }
  if (variables.contains("LSB_JOBID"))
    return {.manager = "LSF",
            .job = value_of(variables, "LSB_JOBID"),
            .tasks = number("LSB_DJOB_NUMPROC")};
  return {};
}

std::vector<Adapter> read_adapters(const fs::path& root) {
  std::vector<Adapter> adapters;
  for (const char* kind : {"sys/class/infiniband", "sys/class/cxi"})
    for (const fs::path& adapter : entries_of(root / kind))
      adapters.push_back({adapter.filename().string(), first_line(adapter / "device/local_cpulist"),
                          pci_place(adapter / "device")});
  return adapters;
}

std::vector<NearAdapter> near_adapters(const std::vector<device::Gpu>& gpus,
                                       const std::vector<Adapter>& adapters, const fs::path& root) {
  std::vector<NearAdapter> near;
  for (const device::Gpu& gpu : gpus) {
    const auto place = pci_place(root / "sys/bus/pci/devices" / gpu.pci);
    for (const Adapter& adapter : adapters)
      if (place && adapter.place)
        near.push_back({gpu.ordinal, adapter.name, nearness(*place, *adapter.place)});
  }
  return near;
}

Variables settings_among(const Variables& variables) {
  constexpr std::string_view beginnings[] = {
      "UCX_",  "OMPI_MCA_", "MPICH_", "MPIR_CVAR_", "MV2_",      "I_MPI_",      "FI_",
      "NCCL_", "NVSHMEM_",  "CUDA_",  "PMIX_MCA_",  "PRTE_MCA_", "CRAY_ACCEL_", "GPU_DEVICE_"};
  constexpr std::string_view names[] = {
      "LD_PRELOAD",         "LD_LIBRARY_PATH",        "OMP_NUM_THREADS",      "OMP_PROC_BIND",
      "OMP_PLACES",         "GOMP_CPU_AFFINITY",      "KMP_AFFINITY",         "SLURM_MPI_TYPE",
      "SLURM_CPU_BIND",     "SLURM_GPU_BIND",         "SLURM_JOB_GPUS",       "SLURM_GPUS_ON_NODE",
      "HALOCLINE_LAUNCHER", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HALOCLINE_NCCL",
      "HALOCLINE_NVSHMEM",  "HALOCLINE_NVRTC"};
  return variables_like(variables, beginnings, names);
}

NodeFacts read_node(const Variables& variables) {
  const proof::Environment environment = proof::this_environment(variables);
  NodeFacts facts;
  facts.host = host_name();
  facts.processor = machine::processor_name();
  facts.usable_cores = halocline::usable_cores();
  facts.online_threads = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  facts.allowed_cores = machine::ranges_of(allowed_cores());
  facts.numa_nodes = count_numa_nodes();
  facts.mpi = environment.mpi;
  facts.family = comm::family();
  facts.libraries = environment.libraries;
  facts.built_with_cuda = device::gpus_are_supported();
  Variables all = variables;
  all.erase("CUDA_VISIBLE_DEVICES");  // counts hidden GPUs too
  facts.gpu_files = proof::count_gpus(all);
  facts.kernel_driver = environment.driver;
  facts.adapters = read_adapters();
  facts.limits = read_limits(variables);
  facts.allocation = read_allocation(variables);
  facts.settings = settings_among(variables);
  facts.load = read_load();
  facts.is_root = current_user() == User::root;
  return facts;
}

void note_first_in_path(Launching& launching, MpiFamily family, const Variables& variables) {
  const auto& found = launching.instead ? launching.instead : launching.launcher;
  launching.first_in_path.reset();
  if (!found) return;
  const std::string name = fs::path(found->path).filename().string();
  const std::string first = find_program(name, variables);
  std::error_code ignored;
  if (!first.empty() && fs::equivalent(first, found->path, ignored)) return;
  launching.first_in_path = first;
  if (!first.empty())
    launching.objection_to_first = objection_to(launcher_named(name, variables).kind, family);
}

Launching read_launching(const std::optional<std::string>& named, const std::string& hint,
                         MpiFamily family, const Variables& variables) {
  Launching launching;
  std::string words = named.value_or("");
  if (named) {
    launching.chosen_by = "--launcher";
  } else if (const std::string choice = value_of(variables, launcher_variable);
             choice.find_first_not_of(' ') != std::string::npos) {
    launching.chosen_by = launcher_variable;
    words = choice;
  }
  try {
    if (launching.chosen_by.empty()) {
      launching.launcher = find_launcher(family, hint, variables);
    } else {
      launching.launcher = launcher_named(words, variables);
      // A launcher of unknown kind may belong to this MPI.
      if (launching.launcher->kind != LauncherKind::other)
        launching.objection = objection_to(launching.launcher->kind, family);
    }
  } catch (const Error& error) {
    launching.problem = error.what();
  }
  note_first_in_path(launching, family, variables);
  return launching;
}

}  // namespace halocline::doctor
