// SPDX-License-Identifier: Apache-2.0
#include "doctor/examine.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <halocline/error.hpp>

#include "base/process/allowed_cores.hpp"
#include "base/process/host_name.hpp"
#include "comm/collectives.hpp"
#include "device/gpu.hpp"
#include "doctor/fact_lines.hpp"
#include "doctor/libraries.hpp"
#include "doctor/node_facts.hpp"
#include "doctor/speeds.hpp"
#include "machine/cores.hpp"
#include "mpi/reported_capabilities.hpp"
#include "probe/lines.hpp"
#include "probe/ring.hpp"

namespace halocline::doctor {
namespace {

std::string namespace_of(const char* kind) {
  std::error_code ignored;
  return std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", kind), ignored).string();
}

std::string device_of(const char* folder) {
  struct stat seen {};
  return ::stat(folder, &seen) == 0 ? fmt::format("{}", seen.st_dev) : "";
}

RankSeen this_rank(const Communicator& communicator) {
  return {.rank = communicator.rank(),
          .size = communicator.size(),
          .host = host_name(),
          .mpi = comm::library_version(),
          .cores = machine::ranges_of(allowed_cores()),
          .ipc_namespace = namespace_of("ipc"),
          .process_namespace = namespace_of("pid"),
          .shm_device = device_of("/dev/shm")};
}

/// Describes this rank's node, and times its host memory and processor.
NodeSeen this_node(const Communicator& communicator) {
  const NodeFacts facts = read_node(current_variables());
  NodeSeen node{.node = communicator.node_of(communicator.rank()),
                .host = facts.host,
                .processor = facts.processor,
                .online_threads = facts.online_threads,
                .mpi = facts.mpi,
                .libraries = facts.libraries,
                .kernel_driver = facts.kernel_driver,
                .shm_bytes = facts.limits.shm_bytes};
  for (const device::Gpu& gpu : device::gpus().list) node.gpus.push_back(gpu.name);
  for (const Adapter& adapter : facts.adapters) node.adapters.push_back(adapter.name);
  node.near_adapters = near_adapters(device::gpus().list, facts.adapters);
  time_node(node);
  return node;
}

/// The first rank of each node reports its facts and speeds.
void examine_nodes(const Communicator& communicator, const probe::PrintLine& print) {
  const std::vector<int> firsts = probe::first_ranks(probe::nodes_of_ranks(communicator));
  const int node = communicator.node_of(communicator.rank());
  const bool is_first = firsts[static_cast<std::size_t>(node)] == communicator.rank();
  if (communicator.rank() == 0) print(doing_line("timing host memory copies"));
  if (is_first) print(line_of(this_node(communicator)));
  comm::barrier(communicator);
  const auto here = static_cast<std::int64_t>(device::gpus().list.size());
  // One GPU at a time, so that no rank waits for another longer than one GPU takes.
  for (int gpu = 0; gpu < comm::max_over_ranks(communicator, here); ++gpu) {
    if (communicator.rank() == 0) print(doing_line(fmt::format("timing copies of GPU {}", gpu)));
    if (is_first && gpu < here) {
      try {
        print(speed_line(node, time_gpu(gpu)));
      } catch (const Error&) {
        // Another user may hold the GPU; paths and compute modes report what is wrong with it.
      }
    }
    comm::barrier(communicator);
  }
  if (communicator.rank() == 0 && communicator.node_count() > 1)
    print(doing_line("timing messages between nodes"));
  time_links(communicator, [&](const Link& link) { print(line_of(link)); });
}

constexpr std::uint64_t offered_pattern = 0x68616c6f636c696eU;

/// The memory that a process offers to be read by others.
struct MemoryOffer {
  pid_t process = 0;
  std::uintptr_t address = 0;
};

/// Reads the pattern; returns why that failed, or an empty text.
std::string read_pattern(const MemoryOffer& offer) {
  std::uint64_t seen = 0;
  const iovec here{&seen, sizeof seen};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  const iovec there{reinterpret_cast<void*>(offer.address), sizeof seen};
  const ssize_t got = ::process_vm_readv(offer.process, &here, 1, &there, 1, 0);
  if (got < 0) return std::strerror(errno);
  return seen == offered_pattern
             ? ""
             : "the read returned other bytes: the processes do not see each other";
}

/// Lets each rank read the memory of the next in the ring (CMA), by which MPI saves a copy between
/// ranks of a node. Returns why that fails, the same on every rank; empty if it works. Ranks of one
/// node; collective.
std::string why_no_direct_reads(const Communicator& communicator) {
  const std::uint64_t mine = offered_pattern;
  std::ostringstream offer;
  offer << ::getpid() << ' ' << reinterpret_cast<std::uintptr_t>(&mine);
  std::string all;
  for (const std::string& text : comm::gather_texts(communicator, offer.str())) all += text + '\n';
  std::istringstream lines(comm::broadcast(communicator, all, 0));
  std::vector<MemoryOffer> offers;
  for (MemoryOffer one; lines >> one.process >> one.address;) offers.push_back(one);

  const int next = (communicator.rank() + 1) % communicator.size();
  const std::string failure = read_pattern(offers.at(static_cast<std::size_t>(next)));
  std::string first;
  for (const std::string& text : comm::gather_texts(communicator, failure))
    if (first.empty()) first = text;
  return comm::broadcast(communicator, first, 0);  // no rank returns before all have read
}

}  // namespace

void examine_facts(const Communicator& communicator, const probe::PrintLine& print) {
  const bool is_first = communicator.rank() == 0;
  const auto print_once = [&](const std::string& line) {
    if (is_first) print(line);
  };
  print(line_of(this_rank(communicator)));
  if (is_first) print(line_of(mpi::reported_capabilities()));
  if (device::gpus_are_supported()) {
    print_once(doing_line("querying the driver for GPUs"));
    device::gpus();
  }
  print_once(doing_line("gathering facts from all ranks (MPI_Iallgather, MPI_Isend, MPI_Ibcast)"));
  for (const machine::RankFacts& facts : machine::gather_facts(communicator))
    print_once(machine_line(facts));
  if (is_first) {
    const device::Gpus& gpus = device::gpus();
    print(gpus_line(gpus.driver, gpus.runtime, device::peer_access()));
  }
  if (communicator.size() > 1 && communicator.node_count() == 1) {
    print_once(doing_line("reading another rank's memory"));
    print_once(direct_reads_line(why_no_direct_reads(communicator)));
  }
  examine_nodes(communicator, print);
  // Last, as libraries that are loaded here would count as this program's own.
  if (is_first)
    for (const Library& library : find_libraries(current_variables(), [&](const std::string& file) {
           print(doing_line("loading " + file));
         }))
      print(line_of(library));
  comm::barrier(communicator);
  print_once(probe::ends_line());
}

}  // namespace halocline::doctor
