// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts that doctor gathers, without MPI and from the ranks of a probe. Plain data, from which
// findings are derived; tests make up their own.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process/variables.hpp"
#include "doctor/pci_place.hpp"
#include "launch/launcher.hpp"
#include "launch/limits.hpp"
#include "machine/gpu_facts.hpp"
#include "mpi/reported_capabilities.hpp"
#include "probe/paths.hpp"

namespace halocline::doctor {

using probe::collectives;
using probe::Distance;
using probe::Outcome;
using probe::Path;
using probe::PathResult;
using probe::settings_text;

struct Limits {
  std::optional<std::int64_t> shm_bytes = {};  ///< size of /dev/shm; nothing without one
  std::optional<std::int64_t> shm_free_bytes = {};
  std::optional<int> ptrace_scope = {};            ///< of Yama; nothing without it
  bool may_trace = false;                          ///< has CAP_SYS_PTRACE
  std::optional<std::int64_t> memlock_bytes = {};  ///< nothing: unlimited
  ProcessLimits of_processes = {};
  std::string temporary = {};  ///< folder of the files that MPI's processes share
  std::optional<std::int64_t> temporary_free_bytes = {};  ///< nothing without the folder
  bool temporary_is_writable = true;
  std::string container = {};  ///< "docker", "podman", ...; empty: none seen
};

struct Allocation {
  std::string manager = {};  ///< "Slurm", "PBS", "LSF"; empty: none
  std::string job = {};
  std::optional<int> nodes = {}, tasks = {}, cores_per_task = {};
};

/// A file with MPI parameters, of the system or of this user.
struct ParameterFile {
  std::string path;
  Variables settings;

  friend bool operator==(const ParameterFile&, const ParameterFile&) = default;
};

/// A network adapter of InfiniBand, Slingshot or similar.
struct Adapter {
  std::string name;
  std::string near_cores;  ///< "0-15"; empty if not known
  std::optional<PciPlace> place = {};
};

/// The distance between a GPU and an adapter of a node.
struct NearAdapter {
  int gpu = 0;  ///< ordinal on the node's first rank
  std::string adapter = {};
  Nearness nearness = Nearness::sys;
};

/// The launcher that starts ranks of this program here.
struct Launching {
  std::optional<Launcher> launcher = {};
  std::string problem = {};    ///< why there is no launcher, and the fix
  std::string objection = {};  ///< to one that the user named: "belongs to MPICH"
  std::string chosen_by = {};  ///< "--launcher", a variable; empty: doctor found it
  /// A fitting launcher that replaces the user's.
  std::optional<Launcher> instead = {};
  /// Variables of the user's without which ranks start.
  Variables blamed = {};
  /// Parameter files without which ranks start, and the value of mca_base_param_files that leaves
  /// them out.
  std::vector<ParameterFile> blamed_files = {};
  std::string other_files = {};
  /// Ranks failed to start, but started the next time without any change.
  bool failed_by_chance = false;
  /// The first program in PATH with the name of the launcher that doctor chose, if it is another
  /// one; empty: none.
  std::optional<std::string> first_in_path = {};
  std::string objection_to_first = {};  ///< "does not name its MPI in --version"
};

struct NodeFacts {
  std::string host, processor;
  int usable_cores = 1;    ///< of this process
  int online_threads = 1;  ///< of the node
  std::string allowed_cores;
  int numa_nodes = 1;
  std::string mpi;  ///< "Open MPI 4.1.4"
  MpiFamily family = MpiFamily::open_mpi;
  std::vector<std::string> libraries;  ///< as in proof::Environment
  bool built_with_cuda = false;
  int gpu_files = 0;          ///< GPUs by their device files
  std::string kernel_driver;  ///< "580.65.06", "unknown"
  std::vector<Adapter> adapters;
  Limits limits;
  std::vector<ParameterFile> parameter_files = {};  ///< those that set something
  Allocation allocation;
  Variables settings;               ///< variables that change what MPI and GPUs do
  std::optional<double> load = {};  ///< average number of runnable processes in the last minute
  bool is_root = false;
};

/// A file of a library that a process might load.
struct LibraryFile {
  std::string path;
  std::string version;   ///< empty: not known
  std::string found_by;  ///< as FoundLibrary::by
};

/// Result of the search for a library where programs would find it, and in packages of Python,
/// conda and NVIDIA's HPC SDK.
struct Library {
  std::string name;          ///< "NCCL"
  std::string path;          ///< empty: not found
  std::string version;       ///< empty: not known
  bool is_off_path = false;  ///< programs find it only with its folder in LD_LIBRARY_PATH
  /// Why it cannot be used, "is too old: 2.12.10 is needed"; empty if it can.
  std::string problem = {};
  bool is_mpis = false;               ///< MPI had loaded it already
  std::optional<bool> has_cuda = {};  ///< its CUDA part was found; nothing: it needs none
  std::string found_by = {};  ///< as FoundLibrary::by; only for libraries that Halocline loads
  std::vector<LibraryFile> others = {};  ///< further files that the same search finds
};

/// A transport over a library that is loaded at run time.
struct LibraryTransport {
  const char* transport;
  const char* library;  ///< as Library::name
};
inline constexpr LibraryTransport library_transports[] = {{"nccl", "NCCL"}, {"nvshmem", "NVSHMEM"}};

/// Facts that one rank of a probe reports.
struct RankSeen {
  int rank = 0, size = 1;
  std::string host = {};
  std::string mpi = {};
  std::string cores = {};  ///< that the rank may run on: "0-15,32"
  std::string ipc_namespace = {}, process_namespace = {}, shm_device = {};
};

/// Copy rates of a single GPU.
struct GpuSpeed {
  int ordinal = 0;  ///< on the node's first rank
  std::string name = {};
  double copy_gb_per_s = 0;  ///< read and written, within its own memory
  double host_gb_per_s = 0;  ///< from pinned memory to it
};

/// Facts and times of a node, from its first rank. They should be alike on all nodes of a job.
struct NodeSeen {
  int node = 0;
  std::string host = {};
  std::string processor = {};
  int online_threads = 0;
  std::string mpi = {};
  std::vector<std::string> libraries = {};  ///< as NodeFacts::libraries
  std::string kernel_driver = {};
  std::vector<std::string> gpus = {};           ///< names, in order
  std::vector<std::string> adapters = {};       ///< names
  std::vector<NearAdapter> near_adapters = {};  ///< each GPU with each adapter
  std::optional<std::int64_t> shm_bytes = {};
  double memory_gb_per_s = 0;  ///< copied by one core, read and written; 0: not measured
  double count_us = 0;         ///< of a million dependent additions
  std::vector<GpuSpeed> speeds = {};
};

/// Messages between the first ranks of two nodes, in host memory, without other traffic.
struct Link {
  int from = 0, to = 0;  ///< nodes
  double us = 0;         ///< one way, 8 bytes
  double gb_per_s = 0;   ///< one way, messages of 1 MiB, or of 64 KiB on very slow networks
};

/// Facts from the probe job, up to its end or failure.
struct ProbeFacts {
  std::vector<RankSeen> ranks = {};
  std::string thread_level = {};
  std::optional<bool> claims_gpu = {};  ///< MPIX_Query_cuda_support()
  std::vector<std::pair<std::string, std::string>> mpi_settings = {};
  mpi::Extras mpi_extras = {};
  std::vector<machine::RankFacts> machine = {};
  std::string cuda_driver = {}, cuda_runtime = {};
  std::vector<bool> peer_access = {};     ///< of the first rank's GPUs, as device::peer_access()
  std::optional<bool> direct_reads = {};  ///< one rank may read another's memory (CMA)
  std::string direct_reads_because = {};  ///< why not
  std::vector<Library> libraries = {};
  std::vector<NodeSeen> nodes = {};
  std::vector<Link> links = {};
  std::string doing = {};        ///< the step in which it ended early
  std::string ended_badly = {};  ///< description; empty if the job ended normally
  bool out_of_time = false;      ///< ended by a time limit too short to be conclusive
};

struct Facts {
  NodeFacts node;
  Launching launching;
  ProbeFacts ranks;
  /// Facts from ranks under the user's launcher and settings, if `ranks` started only by
  /// Launching::instead or without Launching::blamed.
  std::optional<ProbeFacts> failed_start = {};
};

}  // namespace halocline::doctor
