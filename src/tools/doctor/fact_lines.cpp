// SPDX-License-Identifier: Apache-2.0
#include "doctor/fact_lines.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text/json_text.hpp"
#include "probe/lines.hpp"

namespace halocline::doctor {
namespace {

template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

template <class T>
std::optional<T> optional_in(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<T>());
}

RankSeen rank_from(const Json& json) {
  return {json.at("rank"),  json.at("size"), json.at("host"),      json.at("mpi"),
          json.at("cores"), json.at("ipc"),  json.at("processes"), json.at("shm")};
}

NodeSeen node_from(const Json& json) {
  NodeSeen node;
  json.at("node").get_to(node.node);
  json.at("host").get_to(node.host);
  json.at("processor").get_to(node.processor);
  json.at("online_threads").get_to(node.online_threads);
  json.at("mpi").get_to(node.mpi);
  json.at("libraries").get_to(node.libraries);
  json.at("kernel_driver").get_to(node.kernel_driver);
  json.at("gpus").get_to(node.gpus);
  json.at("adapters").get_to(node.adapters);
  for (const Json& near : json.at("near_adapters"))
    node.near_adapters.push_back(
        {near.at(0), near.at(1), static_cast<Nearness>(near.at(2).get<int>())});
  node.shm_bytes = optional_in<std::int64_t>(json.at("shm_bytes"));
  json.at("memory_gb_per_s").get_to(node.memory_gb_per_s);
  json.at("count_us").get_to(node.count_us);
  return node;
}

void read_speed(const Json& json, ProbeFacts& facts) {
  for (NodeSeen& node : facts.nodes)
    if (node.node == json.at("node").get<int>())
      node.speeds.push_back({json.at("ordinal"), json.at("name"), json.at("copy_gb_per_s"),
                             json.at("host_gb_per_s")});
}

void read_mpi(const Json& json, ProbeFacts& facts) {
  json.at("thread_level").get_to(facts.thread_level);
  facts.claims_gpu = optional_in<bool>(json.at("takes_gpu"));
  json.at("settings").get_to(facts.mpi_settings);
  facts.mpi_extras = {optional_in<bool>(json.at("stream_calls")),
                      optional_in<bool>(json.at("partitioned_calls")), json.at("memory_kinds")};
}

Library library_from(const Json& json) {
  Library library{json.at("name"),
                  json.at("path"),
                  json.at("version"),
                  json.at("is_off_path"),
                  json.at("problem"),
                  json.at("is_mpis"),
                  optional_in<bool>(json.at("has_cuda")),
                  json.at("found_by"),
                  {}};
  for (const Json& other : json.at("others"))
    library.others.push_back({other.at(0), other.at(1), other.at(2)});
  return library;
}

void read_gpus(const Json& json, ProbeFacts& facts) {
  json.at("driver").get_to(facts.cuda_driver);
  json.at("runtime").get_to(facts.cuda_runtime);
  json.at("reaches").get_to(facts.peer_access);
}

/// Makes host names unique: "vm", "vm (node 1)". Containers may share a name, and with
/// MPIR_CVAR_NOLOCAL MPICH treats each rank as a node.
void make_names_unique(std::vector<NodeSeen>& nodes) {
  std::set<std::string> names;
  for (NodeSeen& node : nodes)
    if (!names.insert(node.host).second)
      names.insert(node.host = fmt::format("{} (node {})", node.host, node.node));
}

}  // namespace

std::string line_of(const RankSeen& rank) {
  return probe::line_of("rank", {{"rank", rank.rank},
                                 {"size", rank.size},
                                 {"host", rank.host},
                                 {"mpi", rank.mpi},
                                 {"cores", rank.cores},
                                 {"ipc", rank.ipc_namespace},
                                 {"processes", rank.process_namespace},
                                 {"shm", rank.shm_device}});
}

std::string line_of(const mpi::ReportedCapabilities& reported) {
  return probe::line_of("mpi", {{"thread_level", reported.thread_level},
                                {"takes_gpu", json_of(reported.takes_gpu)},
                                {"settings", reported.settings},
                                {"stream_calls", json_of(reported.extras.stream_calls)},
                                {"partitioned_calls", json_of(reported.extras.partitioned_calls)},
                                {"memory_kinds", reported.extras.memory_kinds}});
}

std::string line_of(const Library& library) {
  Json others = Json::array();
  for (const auto& [path, version, found_by] : library.others)
    others.push_back({path, version, found_by});
  return probe::line_of("library", {{"name", library.name},
                                    {"path", library.path},
                                    {"version", library.version},
                                    {"is_off_path", library.is_off_path},
                                    {"problem", library.problem},
                                    {"is_mpis", library.is_mpis},
                                    {"has_cuda", json_of(library.has_cuda)},
                                    {"found_by", library.found_by},
                                    {"others", others}});
}

std::string line_of(const NodeSeen& node) {
  Json near_adapters = Json::array();
  for (const auto& [gpu, adapter, nearness] : node.near_adapters)
    near_adapters.push_back({gpu, adapter, static_cast<int>(nearness)});
  return probe::line_of("node", {{"node", node.node},
                                 {"host", node.host},
                                 {"processor", node.processor},
                                 {"online_threads", node.online_threads},
                                 {"mpi", node.mpi},
                                 {"libraries", node.libraries},
                                 {"kernel_driver", node.kernel_driver},
                                 {"gpus", node.gpus},
                                 {"adapters", node.adapters},
                                 {"near_adapters", near_adapters},
                                 {"shm_bytes", json_of(node.shm_bytes)},
                                 {"memory_gb_per_s", node.memory_gb_per_s},
                                 {"count_us", node.count_us}});
}

std::string line_of(const Link& link) {
  return probe::line_of(
      "link", {{"from", link.from}, {"to", link.to}, {"us", link.us}, {"gb_per_s", link.gb_per_s}});
}

std::string speed_line(int node, const GpuSpeed& speed) {
  return probe::line_of("speed", {{"node", node},
                                  {"ordinal", speed.ordinal},
                                  {"name", speed.name},
                                  {"copy_gb_per_s", speed.copy_gb_per_s},
                                  {"host_gb_per_s", speed.host_gb_per_s}});
}

std::string machine_line(const machine::RankFacts& facts) {
  return probe::line_of("machine", machine::to_line(facts));
}

std::string gpus_line(const std::string& driver, const std::string& runtime,
                      const std::vector<bool>& peer_access) {
  return probe::line_of("gpus",
                        {{"driver", driver}, {"runtime", runtime}, {"reaches", peer_access}});
}

std::string direct_reads_line(const std::string& failure) {
  return probe::line_of("direct_reads", failure);
}

std::string doing_line(const std::string& what) { return probe::line_of("doing", what); }

ProbeFacts read_probe_facts(std::string_view output) {
  ProbeFacts facts;
  bool ended = false;
  probe::read_lines(output, [&](const std::string& kind, const Json& content) {
    if (kind == "rank") facts.ranks.push_back(rank_from(content));
    if (kind == "mpi") read_mpi(content, facts);
    if (kind == "machine") facts.machine.push_back(machine::from_line(content.get<std::string>()));
    if (kind == "gpus") read_gpus(content, facts);
    if (kind == "direct_reads") {
      content.get_to(facts.direct_reads_because);
      facts.direct_reads = facts.direct_reads_because.empty();
    }
    if (kind == "library") facts.libraries.push_back(library_from(content));
    if (kind == "node") facts.nodes.push_back(node_from(content));
    if (kind == "speed") read_speed(content, facts);
    if (kind == "link")
      facts.links.push_back(
          {content.at("from"), content.at("to"), content.at("us"), content.at("gb_per_s")});
    if (kind == "doing") content.get_to(facts.doing);
    if (kind == "ends") ended = true;
  });
  if (ended) facts.doing.clear();
  // Nodes print in any order.
  std::sort(facts.nodes.begin(), facts.nodes.end(),
            [](const NodeSeen& a, const NodeSeen& b) { return a.node < b.node; });
  make_names_unique(facts.nodes);
  return facts;
}

}  // namespace halocline::doctor
