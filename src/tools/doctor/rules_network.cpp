// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

/// A parameter of Open MPI, set by a variable or in a file.
struct Parameter {
  std::string value, words;  ///< "OMPI_MCA_btl is 'self,tcp'"
  std::string undo;
};

/// Returns the first file with a parameter; the user's file precedes the system's.
std::string file_that_sets(const Evidence& evidence, const std::string& name) {
  for (const ParameterFile& file : evidence.facts.node.parameter_files)
    if (file.settings.contains(name)) return file.path;
  return "openmpi-mca-params.conf or ~/.openmpi/mca-params.conf";
}

Parameter parameter(const Evidence& evidence, const std::string& name) {
  const std::string variable = "OMPI_MCA_" + name;
  if (const std::string value = setting(evidence, variable.c_str()); !value.empty())
    return {value, fmt::format("{} is '{}'", variable, value), "unset " + variable};
  for (const auto& [its_name, value] : evidence.facts.ranks.mpi_settings)
    if (its_name == name)
      return {value, fmt::format("MPI's parameter {} is '{}'", name, value),
              fmt::format("remove {} from {}", name, file_that_sets(evidence, name))};
  return {};
}

/// Returns whether a list of components, "self,tcp" or "^sm", includes one of `wanted`.
bool allows(const std::string& list, const std::vector<std::string>& wanted) {
  const bool excludes = list.starts_with('^');
  std::istringstream parts(list.substr(excludes ? 1 : 0));
  bool names_one = false;
  for (std::string part; std::getline(parts, part, ',');) {
    // In UCX a backslash means "exactly this one".
    if (part.starts_with('\\')) part.erase(0, 1);
    names_one = names_one || std::find(wanted.begin(), wanted.end(), part) != wanted.end();
  }
  return excludes != names_one;
}

std::optional<Cause> detour_of_ucx(const Evidence& evidence) {
  const std::string list = setting(evidence, "UCX_TLS");
  const std::vector<std::string> ways =
      list.starts_with('^') ? std::vector<std::string>{"sm", "shm", "mm"}
                            : std::vector<std::string>{"all",  "sm",    "shm", "mm",  "posix",
                                                       "sysv", "xpmem", "cma", "knem"};
  if (list.empty() || allows(list, ways)) return std::nullopt;
  return Cause{fmt::format("UCX_TLS is '{}'", list), "unset UCX_TLS, or add sm to it"};
}

std::optional<Cause> detour_of_open_mpi(const Evidence& evidence) {
  const Parameter pml = parameter(evidence, "pml"), btl = parameter(evidence, "btl");
  if (pml.value == "ucx") return detour_of_ucx(evidence);
  // Then the network's own library carries all messages.
  if (pml.value == "cm") return std::nullopt;
  // vader in Open MPI 4, sm in Open MPI 5.
  if (btl.value.empty() || allows(btl.value, {"vader", "sm"})) return std::nullopt;
  return Cause{btl.words, btl.undo + ", or add vader to it (in Open MPI 5 sm)"};
}

std::optional<Cause> detour_of_mpich(const Evidence& evidence) {
  const std::string value = setting(evidence, "MPIR_CVAR_NOLOCAL");
  if (value == "1" || value == "yes" || value == "true" || value == "on")
    return Cause{fmt::format("MPIR_CVAR_NOLOCAL is '{}'", value), "unset MPIR_CVAR_NOLOCAL"};
  const std::string fabrics = setting(evidence, "I_MPI_FABRICS");
  if (!fabrics.empty() && fabrics.find("shm") == std::string::npos)
    return Cause{fmt::format("I_MPI_FABRICS is '{}'", fabrics),
                 "unset I_MPI_FABRICS, or set it to shm:ofi"};
  return std::nullopt;
}

/// Returns the adapters of the first node that has any. Ethernet adapters are not listed.
std::vector<std::string> fast_adapters(const Evidence& evidence) {
  for (const NodeSeen& node : evidence.facts.ranks.nodes)
    if (!node.adapters.empty()) return node.adapters;
  return {};
}

std::string how_to_use_adapters(const Evidence& evidence) {
  if (evidence.facts.node.family == MpiFamily::open_mpi)
    return "use a UCX that lists them (ucx_info -d: rc, ud or dc transports) with mpirun --mca pml "
           "ucx, and check that UCX_TLS, UCX_NET_DEVICES and OMPI_MCA_btl do not exclude them; "
           "ibstat shows whether their ports are active";
  return "use an MPICH that drives them (ch4:ucx with ucx_info -d listing rc, ud or dc; ch4:ofi "
         "with FI_PROVIDER=verbs, or cxi), and check that UCX_TLS, UCX_NET_DEVICES and FI_PROVIDER "
         "do not exclude them; ibstat shows whether their ports are active";
}

}  // namespace

std::optional<Cause> detour_within_a_node(const Evidence& evidence) {
  if (ranks_here(evidence) < 2) return std::nullopt;
  return evidence.facts.node.family == MpiFamily::open_mpi ? detour_of_open_mpi(evidence)
                                                           : detour_of_mpich(evidence);
}

Findings tcp_within_a_node(const Evidence& evidence) {
  const PathResult* mpi = result_of(evidence, {"mpi", Memory::host});
  // With MPIR_CVAR_NOLOCAL MPICH treats each rank as a node.
  if (mpi == nullptr && evidence.nodes == 1)
    mpi = result_of(evidence, {"mpi", Memory::host, Distance::other_node});
  const std::optional<Cause> detour = detour_within_a_node(evidence);
  if (!detour || mpi == nullptr || mpi->outcome != Outcome::works) return {};
  const std::optional<double> us = us_for(*mpi, 8);
  // Measured: 12 us over TCP within a node, 1 us through shared memory, with all components of MPI.
  constexpr double through_memory_us = 3;
  if (us && *us < through_memory_us) return {};
  return {{Severity::slow,
           "MPI does not use shared memory between ranks of a node: their messages go through TCP "
           "or a network adapter",
           us ? fmt::format("{}; 8 bytes each way: {}, about 1 us with shared memory", detour->seen,
                            us_text(*us))
              : detour->seen,
           detour->fix}};
}

Findings network(const Evidence& evidence) {
  const auto& links = evidence.facts.ranks.links;
  if (links.empty()) return {};
  // The best pair, since other rules report single slow nodes and pairs.
  double gb_per_s = 0, us = links.front().us;
  for (const Link& link : links) {
    gb_per_s = std::max(gb_per_s, link.gb_per_s);
    us = std::min(us, link.us);
  }
  const std::string seen =
      fmt::format("messages of 1 MiB between the best pair of nodes: {}; 8 bytes: {}",
                  write_number(gb_per_s, Format::rate("GB/s", 3)), us_text(us));
  // Measured over TCP: 12 us on one node, 15 to 50 us over Ethernet; InfiniBand, Slingshot and
  // RoCE by their own interfaces take 1 to 5 us.
  constexpr double tcp_us = 10;
  if (const std::vector<std::string> adapters = fast_adapters(evidence);
      !adapters.empty() && us > tcp_us)
    return {{Severity::slow,
             fmt::format("MPI goes through TCP between nodes, though they have {}",
                         fmt::join(adapters, ", ")),
             seen, how_to_use_adapters(evidence)}};
  // The rate of Ethernet plus 10 %, as part of a message may be buffered before the timing starts.
  constexpr double gbit = 0.125 * 1.1;
  constexpr auto other_network =
      "select a faster network for MPI, if there is one (ip -brief address; ethtool NAME shows its "
      "speed): Open MPI --mca btl_tcp_if_include NAME or UCX_NET_DEVICES=NAME, MPICH -iface NAME "
      "or FI_TCP_IFACE=NAME";
  if (gb_per_s <= gbit / 10)
    return {
        {Severity::slow,
         fmt::format("the network between nodes is {} 100 Mbit/s Ethernet: halos take far longer "
                     "than sweeps",
                     gb_per_s <= gbit / 30 ? "slower than" : "as slow as"),
         seen,
         fmt::format("{}; check cable and port: 100 Mbit/s is what a bad cable leaves of 1 Gbit/s",
                     other_network)}};
  if (gb_per_s <= gbit)
    return {{Severity::note, "the network between nodes is as slow as 1 Gbit/s Ethernet", seen,
             other_network}};
  return {};
}

}  // namespace halocline::doctor::rules
