// SPDX-License-Identifier: Apache-2.0
#pragma once
// What doctor knows of this node: what can be read without MPI, and what the ranks of a probe say
// of themselves. Plain data: findings are made of it, also of facts made up for a test.

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

// What the prober tries is what doctor speaks of.
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
  std::string temporary = {};  ///< folder where MPI keeps what its processes share
  std::optional<std::int64_t> temporary_free_bytes = {};  ///< nothing without the folder
  bool temporary_is_writable = true;
  std::string container = {};  ///< "docker", "podman", ...; empty: none seen
};

struct Allocation {
  std::string manager = {};  ///< "Slurm", "PBS", "LSF"; empty: none
  std::string job = {};
  std::optional<int> nodes = {}, tasks = {}, cores_per_task = {};
};

/// A file that sets parameters of MPI for all who start it, or for this user.
struct ParameterFile {
  std::string path;
  Variables settings;

  friend bool operator==(const ParameterFile&, const ParameterFile&) = default;
};

/// Of InfiniBand and its kin.
struct Adapter {
  std::string name;
  std::string near_cores;  ///< "0-15"; empty if not known
  std::optional<PciPlace> place = {};
};

/// How near a GPU and an adapter of a node are.
struct NearAdapter {
  int gpu = 0;  ///< as its node's first rank counts them
  std::string adapter = {};
  Nearness nearness = Nearness::sys;
};

/// The launcher that starts ranks of this program here.
struct Launching {
  std::optional<Launcher> launcher = {};
  std::string problem = {};    ///< why there is none, and the fix
  std::string objection = {};  ///< to one that the user named: "belongs to MPICH"
  std::string chosen_by = {};  ///< "--launcher", a variable; empty: doctor found it
  /// One that fits, where the user's does not.
  std::optional<Launcher> instead = {};
  /// Variables of the user's that keep ranks from starting: without them they start.
  Variables blamed = {};
  /// Parameter files, likewise, and the value of mca_base_param_files that leaves them out.
  std::vector<ParameterFile> blamed_files = {};
  std::string other_files = {};
  /// Ranks that did not start did so the next time, nothing having changed.
  bool failed_by_chance = false;
  /// What PATH has first under the name of the launcher that doctor chose, if that is another
  /// program; empty: nothing.
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
  std::vector<std::string> libraries;  ///< as proof::Environment has them
  bool built_with_cuda = false;
  int gpu_files = 0;          ///< GPUs by their device files
  std::string kernel_driver;  ///< "580.65.06", "unknown"
  std::vector<Adapter> adapters;
  Limits limits;
  std::vector<ParameterFile> parameter_files = {};  ///< those that set something
  Allocation allocation;
  Variables settings;               ///< variables that change what MPI and GPUs do
  std::optional<double> load = {};  ///< processes that ran or wanted to, in the minute before
  bool is_root = false;             ///< the user is
};

/// A file of a library that a process might load.
struct LibraryFile {
  std::string path;
  std::string version;   ///< empty: it does not tell
  std::string found_by;  ///< as FoundLibrary::by
};

/// A library that was looked for where programs would find it, and where packages of Python, conda
/// and NVIDIA's HPC SDK keep it.
struct Library {
  std::string name;          ///< "NCCL"
  std::string path;          ///< empty: not found
  std::string version;       ///< empty: it does not tell
  bool is_off_path = false;  ///< programs find it only with its folder in LD_LIBRARY_PATH
  /// Why it cannot be used, "is too old: 2.12.10 is needed"; empty if it can.
  std::string problem = {};
  bool is_mpis = false;                  ///< MPI had loaded it already
  std::optional<bool> has_cuda = {};     ///< it comes with its part for CUDA; nothing: all do
  std::string found_by = {};             ///< as FoundLibrary::by, of those that Halocline loads
  std::vector<LibraryFile> others = {};  ///< that the same search finds after it
};

/// A transport over a library that is found when a program runs.
struct LibraryTransport {
  const char* transport;
  const char* library;  ///< as Library::name
};
inline constexpr LibraryTransport library_transports[] = {{"nccl", "NCCL"}, {"nvshmem", "NVSHMEM"}};

/// What one rank of a probe says of itself.
struct RankSeen {
  int rank = 0, size = 1;
  std::string host = {};
  std::string mpi = {};
  std::string cores = {};  ///< that it may run on: "0-15,32"
  std::string ipc_namespace = {}, process_namespace = {}, shm_device = {};
};

/// What a GPU does by itself.
struct GpuSpeed {
  int ordinal = 0;  ///< as its node's first rank counts them
  std::string name = {};
  double copy_gb_per_s = 0;  ///< read and written, within its own memory
  double host_gb_per_s = 0;  ///< from pinned memory to it
};

/// A node as its first rank sees it: what should be the same on all nodes of a job, and what should
/// take as long.
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
  double count_us = 0;         ///< of a million additions that wait for each other
  std::vector<GpuSpeed> speeds = {};
};

/// Between the first ranks of two nodes, in host memory, nothing else under way.
struct Link {
  int from = 0, to = 0;  ///< nodes
  double us = 0;         ///< one way, 8 bytes
  double gb_per_s = 0;   ///< one way, messages of 1 MiB; of 64 KiB where these would take seconds
};

/// What the probe job found, as far as it came.
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
  std::string doing = {};        ///< what it was at when it ended too early
  std::string ended_badly = {};  ///< how; empty if it came to its end
  bool out_of_time = false;      ///< by a time limit that is too short to tell anything
};

struct Facts {
  NodeFacts node;
  Launching launching;
  ProbeFacts ranks;
  /// What ranks said under the user's launcher and settings, if `ranks` were started by
  /// Launching::instead or without Launching::blamed.
  std::optional<ProbeFacts> failed_start = {};
};

}  // namespace halocline::doctor
