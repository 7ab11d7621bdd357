// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "doctor/libraries.hpp"
#include "doctor/report.hpp"
#include "machine/cores.hpp"

namespace halocline::doctor {
namespace {

std::string yes_or_no(const std::optional<bool>& value) {
  return !value ? "nothing" : *value ? "yes" : "no";
}

template <class Settings>
void add_settings(Section& facts, const char* key, const Settings& settings) {
  Section& section = facts.add_section(key, "");
  for (const auto& [name, value] : settings) section.add(name, name, value);
}

/// "1024 at most", "unlimited".
std::string limit_text(const std::optional<std::int64_t>& limit) {
  return limit ? fmt::format("{} at most", *limit) : "unlimited";
}

/// Adds a list, in text separated by `separator`, or `none` if it is empty.
void add_list(Section& facts, const char* key, const char* label,
              const std::vector<std::string>& list, const char* separator, const char* none) {
  facts.add(key, label, list, list.empty() ? none : fmt::format("{}", fmt::join(list, separator)));
}

void add_node(Section& facts, const NodeFacts& node) {
  facts.add("processor", "processor", node.processor)
      .add("usable_cores", "cores", node.usable_cores,
           fmt::format("{} usable (threads {}), {} threads online, {} NUMA node{}",
                       node.usable_cores, node.allowed_cores, node.online_threads, node.numa_nodes,
                       node.numa_nodes == 1 ? "" : "s"))
      .add_json("allowed_cores", node.allowed_cores)
      .add_json("online_threads", node.online_threads)
      .add_json("numa_nodes", node.numa_nodes)
      .add("mpi", "MPI", node.mpi)
      .add("libraries", "files", node.libraries)
      .add_json("built_with_cuda", node.built_with_cuda)
      .add("gpu_files", "GPUs", node.gpu_files,
           fmt::format("{} device files, kernel driver {}", node.gpu_files, node.kernel_driver))
      .add_json("kernel_driver", node.kernel_driver);
  std::vector<std::string> adapters;
  for (const Adapter& adapter : node.adapters)
    adapters.push_back(adapter.near_cores.empty()
                           ? adapter.name
                           : fmt::format("{} (near cores {})", adapter.name, adapter.near_cores));
  add_list(facts, "adapters", "adapters", adapters, ", ", "none");
  const Limits& limits = node.limits;
  Section& of_limits = facts.add_section("limits", "");
  of_limits.add("shm_bytes", "/dev/shm", limits.shm_bytes, Format::bytes())
      .add("ptrace_scope", "ptrace scope", limits.ptrace_scope)
      .add("may_trace", "may trace", limits.may_trace)
      .add("memlock_bytes", "locked memory", limits.memlock_bytes,
           limits.memlock_bytes ? fmt::format("{} bytes at most", *limits.memlock_bytes)
                                : "unlimited")
      .add("open_files", "open files", limits.of_processes.open_files,
           limit_text(limits.of_processes.open_files))
      .add("processes", "processes", limits.of_processes.processes,
           limit_text(limits.of_processes.processes))
      .add("temporary", "temporary files", limits.temporary)
      .add("temporary_free_bytes", "room for them", limits.temporary_free_bytes, Format::bytes())
      .add("container", "container", limits.container,
           limits.container.empty() ? "none seen" : limits.container);
  const Allocation& allocation = node.allocation;
  Section& of_allocation = facts.add_section("allocation", "");
  of_allocation
      .add("manager", "allocation", allocation.manager,
           allocation.manager.empty()
               ? "none"
               : fmt::format("{} job {}", allocation.manager, allocation.job))
      .add_json("job", allocation.job)
      .add_json("nodes", allocation.nodes)
      .add_json("tasks", allocation.tasks)
      .add_json("cores_per_task", allocation.cores_per_task);
  Section& files = facts.add_section("parameter_files", "");
  for (const auto& [path, parameters] : node.parameter_files) {
    std::vector<std::string> lines;
    for (const auto& [name, value] : parameters)
      lines.push_back(fmt::format("{} = {}", name, value));
    files.add(path, path, fmt::format("{}", fmt::join(lines, ", ")));
  }
  add_settings(facts, "settings", node.settings);
}

/// "partitioned calls (MPI_Psend_init), memory kinds mpi, system".
std::string words_for(const mpi::Extras& extras) {
  std::vector<std::string> words;
  if (extras.stream_calls.value_or(false))
    words.emplace_back("calls on streams (MPIX_Stream_create, MPIX_Send_enqueue)");
  if (extras.partitioned_calls.value_or(false))
    words.emplace_back("partitioned calls (MPI_Psend_init)");
  if (!extras.memory_kinds.empty())
    words.push_back(fmt::format("memory kinds {}", fmt::join(extras.memory_kinds, " ")));
  if (!words.empty()) return fmt::format("{}", fmt::join(words, ", "));
  return extras.stream_calls ? "neither calls on streams nor partitioned calls" : "-";
}

void add_ranks(Section& facts, const Evidence& evidence) {
  const ProbeFacts& ranks = evidence.facts.ranks;
  facts.add("thread_level", "threads", ranks.thread_level)
      .add("claims_gpu", "GPU-aware MPI", ranks.claims_gpu,
           fmt::format("MPI reports: {}", yes_or_no(ranks.claims_gpu)))
      .add("mpi_stream_calls", "MPI has", ranks.mpi_extras.stream_calls,
           words_for(ranks.mpi_extras))
      .add_json("mpi_partitioned_calls", ranks.mpi_extras.partitioned_calls)
      .add_json("mpi_memory_kinds", ranks.mpi_extras.memory_kinds);
  add_settings(facts, "mpi_settings", ranks.mpi_settings);
  facts.add("cuda_driver", "CUDA driver", ranks.cuda_driver)
      .add("cuda_runtime", "CUDA runtime", ranks.cuda_runtime)
      .add("direct_reads", "direct copies", ranks.direct_reads,
           ranks.direct_reads.value_or(false)
               ? "work between processes (CMA)"
               : fmt::format("do not work: {}", ranks.direct_reads_because));
  std::vector<std::string> libraries, gpus, reaches;
  for (const Library& library : ranks.libraries) libraries.push_back(words_for(library));
  add_list(facts, "found_libraries", "libraries", libraries, "; ", "-");
  const auto* visible = gpus_of(evidence.facts);
  if (visible != nullptr)
    for (const machine::VisibleGpu& one : *visible)
      gpus.push_back(fmt::format(
          "{} {} {} PCI {}{}", one.gpu.ordinal, one.gpu.name, one.gpu.uuid, one.gpu.pci,
          one.near_cores.empty() ? "" : ", near cores " + machine::ranges_of(one.near_cores)));
  add_list(facts, "gpus", "GPUs shown", gpus, "; ", "none");
  for (std::size_t i = 0; visible != nullptr && i < visible->size(); ++i) {
    std::string row;
    for (std::size_t j = 0; j < visible->size(); ++j)
      row += ranks.peer_access.size() > i * visible->size() + j &&
                     ranks.peer_access[i * visible->size() + j]
                 ? "1"
                 : "0";
    reaches.push_back(row);
  }
  add_list(facts, "peer_access", "P2P", reaches, " ", "-");
  std::vector<std::string> cores;
  for (const RankSeen& rank : ranks.ranks) cores.push_back(rank.cores);
  add_list(facts, "cores_of_ranks", "ranks' cores", cores, " | ", "-");
}

/// All files of the libraries that Halocline loads, those in use first.
void add_files_of_libraries(Section& facts, const ProbeFacts& ranks) {
  Table& files = facts.add_table(
      json_table("library_files", {"library", "file", "version", "found_by", "taken", "problem"}));
  for (const Library& library : ranks.libraries) {
    if (library.found_by.empty()) continue;
    files.add(
        {library.name, library.path, library.version, library.found_by, true, library.problem});
    for (const LibraryFile& other : library.others)
      files.add({library.name, other.path, other.version, other.found_by, false, ""});
  }
}

void add_nodes_for_programs(Section& facts, const ProbeFacts& ranks) {
  Table& nodes =
      facts.add_table(json_table("nodes",
                                 {"host", "processor", "online_threads", "mpi", "libraries",
                                  "kernel_driver", "gpus", "adapters", "shm_bytes"},
                                 Table::Shape::keyed));
  for (const NodeSeen& node : ranks.nodes)
    nodes.add({node.host, node.processor, node.online_threads, node.mpi, node.libraries,
               node.kernel_driver, node.gpus, node.adapters, node.shm_bytes});
}

/// Adds a table of connections between the GPUs and adapters of the first node, for text.
void add_near_adapters(Section& section, const Facts& facts) {
  const auto* gpus = gpus_of(facts);
  if (gpus == nullptr || facts.ranks.nodes.empty()) return;
  const NodeSeen& node = facts.ranks.nodes.front();
  if (node.near_adapters.empty()) return;
  std::vector<Column> columns{{"gpu", "GPU", {}}};
  for (const std::string& adapter : node.adapters) columns.push_back({adapter, adapter, {}});
  columns.push_back({"near_cores", "near cores", {}});
  section.add_line("");
  Table& table =
      section.add_table({.key = {},
                         .title = fmt::format("connections between GPUs and adapters of {}, "
                                              "in the terms of nvidia-smi topo -m",
                                              node.host),
                         .columns = columns,
                         .audience = Audience::text});
  for (const auto& [gpu, near_cores] : *gpus) {
    std::vector<Value> cells{gpu.ordinal};
    for (const std::string& adapter : node.adapters) {
      cells.emplace_back("-");
      for (const NearAdapter& near : node.near_adapters)
        if (near.gpu == gpu.ordinal && near.adapter == adapter)
          cells.back() = name_of(near.nearness);
    }
    cells.emplace_back(machine::ranges_of(near_cores));
    table.add(std::move(cells));
  }
}

void add_near_adapters_for_programs(Section& facts, const ProbeFacts& ranks) {
  Table& table =
      facts.add_table(json_table("near_adapters", {"host", "gpu", "adapter", "nearness"}));
  for (const NodeSeen& node : ranks.nodes)
    for (const NearAdapter& near : node.near_adapters)
      table.add({node.host, near.gpu, near.adapter, name_of(near.nearness)});
}

}  // namespace

const std::vector<machine::VisibleGpu>* gpus_of(const Facts& facts) {
  const auto& ranks = facts.ranks.machine;
  return ranks.empty() || ranks.front().visible.empty() ? nullptr : &ranks.front().visible;
}

void add_facts(Report& report, const Evidence& evidence, FactsFor readers) {
  const auto audience = readers == FactsFor::all ? Audience::all : Audience::json;
  Section& space = report.add_section("", "", audience);
  space.add_line("");
  Section& facts = report.add_section("facts", "facts", audience);
  add_node(facts, evidence.facts.node);
  const Launching& launching = evidence.facts.launching;
  facts.add("launcher", "launcher", launching.launcher ? Value(launching.launcher->path) : Value());
  add_ranks(facts, evidence);
  add_files_of_libraries(facts, evidence.facts.ranks);
  add_nodes_for_programs(facts, evidence.facts.ranks);
  add_near_adapters_for_programs(facts, evidence.facts.ranks);
  add_near_adapters(report.add_section("", "", audience), evidence.facts);
}

}  // namespace halocline::doctor
