// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/format.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

const std::vector<NodeSeen>& nodes_of(const Evidence& evidence) {
  return evidence.facts.ranks.nodes;
}

std::string host_of(const Evidence& evidence, int node) {
  for (const NodeSeen& one : nodes_of(evidence))
    if (one.node == node) return one.host;
  return fmt::format("node {}", node);
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string percent(double part) { return fmt::format("{:.0f} %", 100 * part); }

std::string rate_text(double value, const char* unit = "GB/s") {
  return write_number(value, Format::rate(unit, 3));
}

/// "n1, n2", or "17 nodes".
std::string names_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t most = 6;
  if (hosts.size() <= most) return fmt::format("{}", fmt::join(hosts, ", "));
  return fmt::format("{} nodes", hosts.size());
}

/// Adds a finding if nodes differ in `of`. The smallest group is named first.
void add_difference(Findings& found, const Evidence& evidence, Severity severity, const char* what,
                    const std::function<std::string(const NodeSeen&)>& of, const char* fix) {
  std::map<std::string, std::vector<std::string>> hosts_with;
  for (const NodeSeen& node : nodes_of(evidence)) hosts_with[of(node)].push_back(node.host);
  if (hosts_with.size() < 2) return;
  std::vector<std::pair<std::string, std::vector<std::string>>> groups(hosts_with.begin(),
                                                                       hosts_with.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::vector<std::string> seen;
  for (const auto& [value, hosts] : groups)
    seen.push_back(fmt::format("{}: {}", names_of(hosts), value.empty() ? "none" : value));
  found.push_back({severity, fmt::format("nodes differ in {}", what),
                   fmt::format("{}", fmt::join(seen, "; ")), fix});
}

/// A measured value of one of several similar things.
struct Figure {
  std::string whose;  ///< "node n17, GPU 3"
  double value = 0;
};

/// A figure clearly below the median of its class.
struct Outlier {
  Figure figure;
  double median = 0;
};
/// Finds none among fewer than three figures, where it is unclear which one is the exception.
std::vector<Outlier> outliers(const std::vector<Figure>& figures, double least_share) {
  if (figures.size() < 3) return {};
  std::vector<double> values;
  for (const Figure& figure : figures) values.push_back(figure.value);
  const double median = median_of(values);
  std::vector<Outlier> found;
  for (const Figure& figure : figures)
    if (figure.value < least_share * median) found.push_back({figure, median});
  return found;
}

// Similar nodes and GPUs differ by a few percent; cores that share memory with other work, and
// copies over a shared bus, differ more.
constexpr double least_of_host = 0.7, least_of_gpu = 0.9, least_of_bus = 0.7;

/// The measured operation.
struct Work {
  double least_share;
  const char* doing;
  const char* unit;
  const char* fix;
};

Findings slow_figures(const std::map<std::string, std::vector<Figure>>& classes, const Work& work) {
  Findings found;
  for (const auto& [name, figures] : classes)
    for (const Outlier& one : outliers(figures, work.least_share))
      found.push_back(
          {Severity::slow,
           fmt::format("{}: {} below the median of its class in {}", one.figure.whose,
                       percent(1 - one.figure.value / one.median), work.doing),
           fmt::format("{} here, {} is typical for {}", rate_text(one.figure.value, work.unit),
                       rate_text(one.median, work.unit), name),
           work.fix});
  return found;
}

/// Returns the best figure of each node over its links; larger is better. A slow node is slow with
/// all partners, a good one only with slow partners.
std::vector<Figure> best_of_nodes(const Evidence& evidence,
                                  const std::function<double(const Link&)>& of) {
  std::map<int, double> best;
  for (const Link& link : evidence.facts.ranks.links)
    for (const int node : {link.from, link.to}) best[node] = std::max(best[node], of(link));
  std::vector<Figure> figures;
  for (const auto& [node, value] : best) figures.push_back({host_of(evidence, node), value});
  return figures;
}

// Links of one network differ by some percent with the number of switches.
constexpr double least_of_link = 0.67;

Findings slow_nodes_by_links(const Evidence& evidence) {
  Findings found;
  constexpr auto fix =
      "check its cable, port and adapter (ethtool, ibstat), and which network MPI uses there (Open "
      "MPI: btl_tcp_if_include, UCX_NET_DEVICES; MPICH: FI_PROVIDER, FI_TCP_IFACE); until then run "
      "without the node";
  for (const Outlier& one : outliers(
           best_of_nodes(evidence, [](const Link& link) { return link.gb_per_s; }), least_of_link))
    found.push_back(
        {Severity::slow,
         fmt::format("node {} is slow to reach: every run waits for it", one.figure.whose),
         fmt::format("messages of 1 MiB with any other node: {} at best, {} is typical",
                     rate_text(one.figure.value), rate_text(one.median)),
         fix});
  if (!found.empty()) return found;
  for (const Outlier& one : outliers(
           best_of_nodes(evidence, [](const Link& link) { return 1 / link.us; }), least_of_link))
    found.push_back(
        {Severity::slow,
         fmt::format("node {} is slow to answer: every run waits for it", one.figure.whose),
         fmt::format("8 bytes to any other node: {} at best, {} is typical",
                     us_text(1 / one.figure.value), us_text(1 / one.median)),
         fix});
  return found;
}

/// Slow links between nodes that are not slow otherwise.
Findings slow_pairs(const Evidence& evidence) {
  std::vector<Figure> figures;
  for (const Link& link : evidence.facts.ranks.links)
    figures.push_back(
        {fmt::format("{} and {}", host_of(evidence, link.from), host_of(evidence, link.to)),
         link.gb_per_s});
  Findings found;
  for (const Outlier& one : outliers(figures, least_of_link / 1.5))
    found.push_back(
        {Severity::slow,
         fmt::format("the connection between nodes {} is slow, theirs to others are not",
                     one.figure.whose),
         fmt::format("messages of 1 MiB: {}, {} is typical", rate_text(one.figure.value),
                     rate_text(one.median)),
         "check the switches between them (ibtracert, tracepath)"});
  return found;
}

/// Returns the only nearest adapter of a GPU, on its side of the host bridge; null if there is
/// none.
const NearAdapter* own_adapter(const NodeSeen& node, int gpu) {
  const NearAdapter* nearest = nullptr;
  bool is_alone = false;
  for (const NearAdapter& one : node.near_adapters) {
    if (one.gpu != gpu || (nearest != nullptr && one.nearness > nearest->nearness)) continue;
    is_alone = nearest == nullptr || one.nearness < nearest->nearness;
    nearest = &one;
  }
  return is_alone && nearest->nearness <= Nearness::pxb ? nearest : nullptr;
}

}  // namespace

Findings adapters_of_gpus(const Evidence& evidence) {
  const auto& nodes = nodes_of(evidence);
  // The choice matters only with several nodes and adapters.
  if (nodes.size() < 2 || nodes.front().adapters.size() < 2 || nodes.front().gpus.size() < 2 ||
      evidence.facts.node.settings.contains("UCX_NET_DEVICES"))
    return {};
  std::set<std::string> different;
  std::vector<std::string> seen, settings;
  for (int gpu = 0; gpu < std::ssize(nodes.front().gpus); ++gpu) {
    const NearAdapter* own = own_adapter(nodes.front(), gpu);
    if (own == nullptr) return {};
    different.insert(own->adapter);
    seen.push_back(fmt::format("GPU {}: {} ({})", gpu, own->adapter, name_of(own->nearness)));
    settings.push_back(fmt::format("{}:1 for GPU {}", own->adapter, gpu));
  }
  if (different.size() < 2) return {};
  const bool is_cray = different.begin()->starts_with("cxi");
  return {
      {Severity::note, "each GPU has a network adapter of its own nearby",
       fmt::format("{}, by the PCIe topology of {}", fmt::join(seen, ", "), nodes.front().host),
       is_cray
           ? "let each rank use its GPU's adapter: MPICH_OFI_NIC_POLICY=GPU"
           : fmt::format(
                 "let each rank use its GPU's adapter, where MPI uses UCX: UCX_NET_DEVICES ({})",
                 fmt::join(settings, ", "))}};
}

Findings differences(const Evidence& evidence) {
  Findings found;
  add_difference(
      found, evidence, Severity::broken, "their MPI", [](const NodeSeen& node) { return node.mpi; },
      "install one MPI on all nodes, or set the same PATH and LD_LIBRARY_PATH on all (mpirun -x "
      "LD_LIBRARY_PATH)");
  add_difference(
      found, evidence, Severity::note, "the files of MPI, UCX and libfabric",
      [](const NodeSeen& node) { return fmt::format("{}", fmt::join(node.libraries, ", ")); },
      "set the same LD_LIBRARY_PATH on all nodes, and install the same versions");
  add_difference(
      found, evidence, Severity::slow, "their GPUs",
      [](const NodeSeen& node) { return fmt::format("{}", fmt::join(node.gpus, ", ")); },
      "use nodes of one kind, or leave out the node where a GPU is missing (see nvidia-smi and "
      "dmesg there)");
  add_difference(
      found, evidence, Severity::note, "the driver of their GPUs",
      [](const NodeSeen& node) { return node.kernel_driver; },
      "install the same version on all nodes");
  add_difference(
      found, evidence, Severity::note, "their processors",
      [](const NodeSeen& node) {
        return fmt::format("{}, {} threads", node.processor, node.online_threads);
      },
      "the slowest sets the pace: use nodes of one kind (Slurm: --constraint)");
  add_difference(
      found, evidence, Severity::note, "their network adapters",
      [](const NodeSeen& node) { return fmt::format("{}", fmt::join(node.adapters, ", ")); },
      "check why some are missing (ibstat, dmesg), or use nodes of one kind");
  return found;
}

Findings slow_nodes(const Evidence& evidence) {
  std::map<std::string, std::vector<Figure>> copies, counts, within, across;
  for (const NodeSeen& node : nodes_of(evidence)) {
    if (node.memory_gb_per_s > 0)
      copies[node.processor].push_back({"node " + node.host, node.memory_gb_per_s});
    if (node.count_us > 0)
      counts[node.processor].push_back({"node " + node.host, 1e6 / node.count_us});
    for (const GpuSpeed& gpu : node.speeds) {
      const std::string whose = fmt::format("node {}, GPU {}", node.host, gpu.ordinal);
      within[gpu.name].push_back({whose, gpu.copy_gb_per_s});
      across[gpu.name].push_back({whose, gpu.host_gb_per_s});
    }
  }
  Findings found;
  append(found,
         slow_figures(within, {least_of_gpu, "copies within its memory", "GB/s",
                               "check nvidia-smi -q -d CLOCK,PERFORMANCE,ECC,TEMPERATURE there, "
                               "and other users of the GPU; until then run without it"}));
  append(found,
         slow_figures(across, {least_of_bus, "copies from the host", "GB/s",
                               "check GPU Link Info in nvidia-smi -q there, the PCIe link's width "
                               "and generation, and whether rank and GPU are on one NUMA node"}));
  constexpr auto see_node =
      "check the node's load (uptime), its clocks (cpupower frequency-info) and its memory "
      "(dmidecode -t memory); until then run without it";
  append(found, slow_figures(copies, {least_of_host, "copies of host memory", "GB/s", see_node}));
  append(found, slow_figures(counts, {least_of_host, "additions", "million/s", see_node}));
  const Findings by_links = slow_nodes_by_links(evidence);
  append(found, by_links.empty() ? slow_pairs(evidence) : by_links);
  return found;
}

}  // namespace halocline::doctor::rules
