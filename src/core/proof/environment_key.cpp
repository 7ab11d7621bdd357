// SPDX-License-Identifier: Apache-2.0
#include "proof/environment_key.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::proof {
namespace {

// Changes whenever the probe tests more than before: older proofs are then void.
constexpr int probe_version = 2;

template <std::size_t n>
bool starts_with_any(std::string_view name, const std::array<std::string_view, n>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

template <std::size_t n>
bool is_any(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Observed with `env` inside ranks of Open MPI 4.1.4 (Debian), Open MPI 5.0.11 (PyPI) and MPICH
// 4.0.2 with Hydra (Debian), started by name and by path, with and without options; other
// launchers' variables are from their documentation.

// MCA parameters that mpirun sets in its ranks by itself or for its options --map-by, --bind-to,
// --tag-output, --quiet: the next job has other ranks, and its output must be unchanged.
constexpr std::array<std::string_view, 7> mca_internal_prefixes{
    "ess",     // which job, which rank; "ess_base_jobid", "ess_base_vpid"
    "orte_",   // daemon, session folder, output; but see mca_kept
    "routed",  // how daemons of several nodes reach each other
    "rmaps_", "hwloc_base_", "shmem_RUNTIME", "iof_base_"};
constexpr std::array<std::string_view, 8> mca_internal{
    "pmix",  // mpirun sets "^s1,s2,cray,isolated", which is for ranks, not for an mpirun
    "initial_wdir",
    "mpi_oversubscribe",
    "mpi_yield_when_idle",
    "PREFIXES",
    "cpu_type",
    "num_procs",  // Open MPI 5
    "schizo_base_personalities"};
// The folders for temporary files may be the only writable ones; all other variables of orte_
// concern only the start of ranks.
constexpr std::array<std::string_view, 5> mca_kept{
    "orte_tmpdir_base", "orte_local_tmpdir_base", "orte_remote_tmpdir_base",
    "orte_keep_fqdn_hostnames", "orte_startup_timeout"};

// PMIx variables are messages from the server to its client, except its MCA parameters and its
// location.
constexpr std::array<std::string_view, 1> pmix_kept{"PMIX_PREFIX"};
constexpr std::array<std::string_view, 1> pmix_mca_internal{
    "PMIX_MCA_mca_base_component_show_load_errors"};

// Of Open MPI's other variables, the user sets these.
constexpr std::array<std::string_view, 2> ompi_kept{"OMPI_ALLOW_RUN_AS_ROOT",
                                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"};

constexpr std::array<std::string_view, 10> internal_prefixes{
    "PMI_",          // Hydra, srun
    "HYDI_",         // Hydra's control channel, since MPICH 4
    "HYDRA_PROXY_",  //
    "MPI_LOCAL",     // Hydra: MPI_LOCALNRANKS, MPI_LOCALRANKID
    "MPISPAWN_",     // MVAPICH
    "MV2_COMM_WORLD_",
    "MVP_COMM_WORLD_",
    "I_MPI_INFO_",
    "I_MPI_INTERNAL_",  // Intel MPI
    "PALS_"};
constexpr std::array<std::string_view, 6> internal{
    "MPIR_CVAR_CH3_INTERFACE_HOSTNAME",  // Hydra: the name of each rank's host
    "I_MPI_MPIRUN",
    "I_MPI_PIN_MAPPING",
    "OPAL_USER_PARAMS_GIVEN",
    "PRTE_LAUNCHED",
    "PRTE_SHARED_FS"};

bool is_internal_mca(std::string_view parameter) {
  if (is_any(parameter, mca_kept)) return false;
  return is_any(parameter, mca_internal) || starts_with_any(parameter, mca_internal_prefixes);
}

// The settings of MPI, UCX, libfabric, NCCL and CUDA. Not PMIX_MCA_, which concerns the start of
// ranks: Open MPI's MPI_Init sets one of them itself.
constexpr std::array<std::string_view, 11> mattering_prefixes{
    "UCX_",   "OMPI_MCA_", "MPICH_",          "MPIR_CVAR_", "MV2_", "FI_",
    "I_MPI_", "NCCL_",     "HALOCLINE_NCCL_", "NVSHMEM_",   "CUDA_"};

// The kind of pair covers the visible GPUs, which launchers set for each rank; the installation
// folder of CUDA matters only for builds.
constexpr std::array<std::string_view, 4> cuda_not_mattering{
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "CUDA_PATH"};

bool matters(std::string_view name) {
  if (is_any(name, cuda_not_mattering) || is_launcher_internal(name)) return false;
  // Folders for a rank's own files, which mpirun fills in.
  if (name.starts_with("OMPI_MCA_orte_")) return false;
  return name == "LD_PRELOAD" || starts_with_any(name, mattering_prefixes);
}

/// Returns whether the loader searches a folder anyway, in any spelling.
bool is_standard_folder(const std::filesystem::path& folder) {
  static const std::array<std::string_view, 4> standard{"/lib", "/usr/lib", "/lib64", "/usr/lib64"};
  return is_any(folder.native(), standard);
}

/// Returns LD_LIBRARY_PATH without irrelevant folders: repetitions, and those of its installation
/// that an mpirun called by path puts in front.
std::string telling_part(const std::string& search_path, const std::string& mpi_library) {
  const std::filesystem::path of_mpi = std::filesystem::path(mpi_library).parent_path();
  std::vector<std::string> folders;
  for (std::size_t at = 0; at <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    std::filesystem::path folder =
        std::filesystem::path(search_path.substr(at, end - at)).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();  // a slash at the end
    at = end + 1;
    if (folder.empty() || is_standard_folder(folder) || folder == of_mpi) continue;
    if (std::find(folders.begin(), folders.end(), folder.native()) == folders.end())
      folders.push_back(folder.native());
  }
  return fmt::format("{}", fmt::join(folders, ":"));
}

std::uint64_t fnv1a(std::uint64_t hash, std::string_view text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3u;
  }
  return hash;
}

}  // namespace

bool is_launcher_internal(std::string_view name) {
  constexpr std::string_view ompi_mca = "OMPI_MCA_", pmix_mca = "PMIX_MCA_";
  if (name.starts_with(ompi_mca)) return is_internal_mca(name.substr(ompi_mca.size()));
  if (name.starts_with("OMPI_")) return !is_any(name, ompi_kept);
  if (name.starts_with(pmix_mca)) return is_any(name, pmix_mca_internal);
  if (name.starts_with("PMIX_")) return !is_any(name, pmix_kept);
  return is_any(name, internal) || starts_with_any(name, internal_prefixes);
}

std::vector<std::string> launcher_internals(const Variables& variables) {
  std::vector<std::string> names;
  for (const auto& [name, value] : variables)
    if (is_launcher_internal(name)) names.push_back(name);
  return names;
}

EnvironmentKey key_of(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());

  std::uint64_t hash = 0xcbf29ce484222325u;
  // A zero after each line keeps the end of one apart from the beginning of the next.
  for (const std::string& line : lines) hash = fnv1a(fnv1a(hash, line), std::string_view("\0", 1));
  return {fmt::format("{:016x}", hash), std::move(lines)};
}

EnvironmentKey environment_key(const Environment& environment) {
  std::vector<std::string> lines{fmt::format("probe: {}", probe_version),
                                 fmt::format("MPI: {}", environment.mpi),
                                 fmt::format("driver: {}", environment.driver)};
  for (const std::string& gpu : environment.gpus) lines.push_back(fmt::format("GPU: {}", gpu));
  for (const std::string& file : environment.libraries)
    lines.push_back(fmt::format("library: {}", file));
  for (const auto& [name, value] : environment.variables)
    if (matters(name)) lines.push_back(fmt::format("{}={}", name, value));
  const auto search_path = environment.variables.find("LD_LIBRARY_PATH");
  if (search_path != environment.variables.end()) {
    const std::string folders = telling_part(search_path->second, environment.mpi_library);
    if (!folders.empty()) lines.push_back(fmt::format("LD_LIBRARY_PATH={}", folders));
  }
  return key_of(std::move(lines));
}

}  // namespace halocline::proof
