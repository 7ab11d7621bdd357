// SPDX-License-Identifier: Apache-2.0
// Where a launcher has put this process: its rank, cores and GPUs, on one line.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

// A launcher tells a process its place by variables that are set before main begins.
struct Launcher {
  const char *name, *rank, *ranks, *local_rank;
};
// What starts the ranks comes before what only holds the job, and MPICH, whose variables others set
// too, comes last.
constexpr Launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PALS", "PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"},  // Cray: Polaris, Aurora
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "3", or "?" where the launcher does not say.
std::string said(const char* name) {
  const std::string value = variable(name);
  return value.empty() ? "?" : value;
}

const Launcher* launcher() {
  const auto* found = std::find_if(std::begin(launchers), std::end(launchers),
                                   [](const Launcher& one) { return !variable(one.rank).empty(); });
  return found != std::end(launchers) ? found : nullptr;
}

// The cores that the kernel lets this process run on, whatever a launcher says: "0-3,8".
std::string cores() {
  // A set of fixed size, cpu_set_t, fails on nodes of more than 1024 cores.
  std::vector<cpu_set_t> set(16);
  if (sched_getaffinity(0, set.size() * sizeof(cpu_set_t), set.data()) != 0) return "?";
  std::string text;
  const int most = static_cast<int>(set.size()) * CPU_SETSIZE;
  const auto has = [&](int core) {
    return core < most && CPU_ISSET_S(core, set.size() * sizeof(cpu_set_t), set.data());
  };
  for (int first = 0; first < most; ++first) {
    if (!has(first)) continue;
    int last = first;
    while (has(last + 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

// The GPUs that this process is shown: by which variable, or all of the node.
std::string gpus_shown() {
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"})
    if (std::getenv(name) != nullptr) return std::string(name) + "=" + variable(name);
  return "all";
}

std::string first_word_of(const std::filesystem::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// The node's GPUs as the PCI bus tells them, each with its cores: no driver is asked, so no GPU is
// used up by looking. A vendor's number is in hexadecimal.
std::vector<std::string> gpus_of_node() {
  std::vector<std::string> found;
  std::error_code none;
  for (const auto& device : std::filesystem::directory_iterator("/sys/bus/pci/devices", none)) {
    const std::string vendor = first_word_of(device.path() / "vendor");
    const std::string kind = first_word_of(device.path() / "class").substr(0, 6);
    const char* maker = vendor == "0x10de"   ? "NVIDIA"
                        : vendor == "0x1002" ? "AMD"
                        : vendor == "0x8086" ? "Intel"
                                             : nullptr;
    // 0x0302: 3-D controller; 0x0380: other display (Intel's Max); 0x1200: accelerator (AMD's);
    // 0x0300: a graphics card, but from Intel a part of the processor.
    if (maker != nullptr && (kind == "0x0302" || kind == "0x0380" || kind == "0x1200" ||
                             (kind == "0x0300" && vendor != "0x8086")))
      found.push_back(device.path().filename().string() + " " + maker + ", near cores " +
                      first_word_of(device.path() / "local_cpulist"));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The batch system, which holds nodes, is not always the launcher, which starts ranks.
std::string job() {
  if (const std::string id = variable("PBS_JOBID"); !id.empty()) return "PBS " + id;
  if (const std::string id = variable("SLURM_JOB_ID"); !id.empty()) return "Slurm " + id;
  return "none";
}

}  // namespace

int main() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const Launcher* by = launcher();
  const std::string rank = by != nullptr ? said(by->rank) : "0";
  std::string line = "rank " + rank + " of " + (by != nullptr ? said(by->ranks) : "1") +
                     ", local " + (by != nullptr ? said(by->local_rank) : "0") + ", on " + host +
                     " by " + (by != nullptr ? by->name : "no launcher") + ", job " + job() +
                     ", cores " + cores() + ", GPUs " + gpus_shown() + "\n";
  // The node is the same for its ranks: told by the first of them.
  if (by == nullptr || said(by->local_rank) == "0") {
    const std::vector<std::string> gpus = gpus_of_node();
    for (const std::string& gpu : gpus) line += std::string("  GPU ") + gpu + "\n";
    if (gpus.empty()) line += "  no GPU on " + std::string(host) + "\n";
  }
  std::fputs(line.c_str(), stdout);  // in one piece, so that lines of ranks do not mix
}
