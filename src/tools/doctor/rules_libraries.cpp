// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "base/libraries/run_time_library.hpp"
#include "doctor/libraries.hpp"
#include "doctor/rules.hpp"

namespace halocline::doctor::rules {
namespace {

constexpr const char* nccl = "NCCL";

bool is_set(const Evidence& evidence, const char* name, std::string_view value) {
  const auto found = evidence.facts.node.settings.find(name);
  return found != evidence.facts.node.settings.end() && found->second == value;
}

/// "NCCL 2.28.9".
std::string with_version(const Library& library) {
  return library.version.empty() ? library.name
                                 : fmt::format("{} {}", library.name, library.version);
}

/// A fault of some versions of NCCL in calls of transport nccl: sends and receives in groups,
/// allgathers, graphs.
struct KnownFault {
  int from, before;  ///< versions
  const char* what;
  const char* fix;
  bool (*concerns)(const Evidence& evidence);
};

/// PXN lets a GPU send through the adapter of another GPU.
bool may_use_pxn(const Evidence& evidence) {
  return evidence.facts.ranks.nodes.size() > 1 && !evidence.facts.node.adapters.empty() &&
         !is_set(evidence, "NCCL_PXN_DISABLE", "1") && !is_set(evidence, "NCCL_IB_DISABLE", "1");
}

// docs.nvidia.com/cuda/cuest/troubleshooting.
constexpr KnownFault known_faults[] = {
    {22907, 23007, "may hang between nodes over InfiniBand, when GPUs send through each other",
     "update NCCL to 2.30.7 or later, or set NCCL_PXN_DISABLE=1", may_use_pxn}};

const KnownFault* known_fault(const Evidence& evidence, const Library& library) {
  const int version = version_number(library.version);
  const auto fault =
      std::find_if(std::begin(known_faults), std::end(known_faults), [&](const KnownFault& one) {
        return version >= one.from && version < one.before && one.concerns(evidence);
      });
  return library.name == nccl && fault != std::end(known_faults) ? fault : nullptr;
}

/// NVLS, reductions by the switch: NCCL 2.27 and 2.28 may fall back on some ranks only, and then
/// hang (NCCL's documentation of NCCL_NVLS_ENABLE).
bool may_hang_in_nvls(const Library& library) {
  const int version = version_number(library.version);
  return version >= 22700 && version < 22900;
}

std::string fix_within_a_node(const Evidence& evidence, const Library& library) {
  if (!small_shm(evidence, ranks_here(evidence)).empty()) return larger_shm(evidence.facts);
  if (library.name != nccl)
    return "set NVSHMEM_DEBUG=WARN to see the cause; then try NVSHMEM_DISABLE_NVLS=1, which needs "
           "far less address space";
  return fmt::format(
      "set NCCL_DEBUG=WARN to see the cause; then try NCCL_P2P_DISABLE=1{} and NCCL_SHM_DISABLE=1: "
      "the one that helps shows which way between the GPUs is at fault",
      may_hang_in_nvls(library) ? ", NCCL_NVLS_ENABLE=0" : "");
}

std::string fix_between_nodes(const Evidence& evidence, const Library& library) {
  if (library.name != nccl)
    return "set NVSHMEM_DEBUG=WARN to see the cause; NVSHMEM_REMOTE_TRANSPORT selects what goes "
           "over the network (ibrc, ucx, libfabric), NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=NAME the "
           "interface that processes find each other by (ip -brief address shows names)";
  const Library* plugin = library_named(evidence.facts, nccl_plugin);
  return fmt::format(
      "set NCCL_DEBUG=WARN to see the cause; NCCL_SOCKET_IFNAME=NAME selects the network (ip "
      "-brief address shows names), NCCL_IB_DISABLE=1 shows whether InfiniBand is at fault{}",
      plugin != nullptr && !plugin->path.empty()
          ? fmt::format(", {}=none whether '{}' is", plugin_variable, plugin->path)
          : "");
}

std::string fix_for(const Evidence& evidence, const Library& library, const PathResult& result) {
  if (std::string fix = fix_for_preload(evidence.facts); !fix.empty()) return fix;
  const bool is_far = result.path.distance == Distance::other_node;
  const KnownFault* fault = known_fault(evidence, library);
  std::string fix = fault != nullptr && is_far ? fault->fix
                    : is_far                   ? fix_between_nodes(evidence, library)
                                               : fix_within_a_node(evidence, library);
  return fmt::format("{}; transport auto does not use {}", fix, library.name);
}

std::string failure_text(const Library& library, const PathResult& result) {
  const std::string where = result.path.distance == Distance::other_node
                                ? "between GPUs of different nodes"
                                : "between the GPUs of a node";
  const std::string name = with_version(library);
  if (result.outcome == Outcome::wrong) return fmt::format("{} sends wrong bytes {}", name, where);
  if (result.outcome == Outcome::out_of_order)
    return fmt::format("{} does not follow the order of a GPU's stream {}", name, where);
  if (result.outcome == Outcome::untried)
    return fmt::format("{} could not be tried {}", name, where);
  return fmt::format("{} does not work {}", name, where);
}

/// Returns the transport over a library; empty if there is none.
std::string_view transport_of(const Library& library) {
  for (const auto& [transport, name] : library_transports)
    if (library.name == name) return transport;
  return "";
}

/// A missing library whose absence has this consequence.
Findings missing(const Library& library, const char* consequence) {
  if (!library.path.empty() && library.problem.empty()) return {};
  return {{Severity::note, fmt::format("{}: {} cannot be used", consequence, library.name),
           library.path.empty() ? "it was not found"
                                : fmt::format("'{}' (found by {}) {}", library.path,
                                              library.found_by, library.problem),
           how_to_get(library)}};
}

/// A library that was found, but cannot be used.
Findings unusable(const Library& library) {
  if (library.path.empty() || library.problem.empty()) return {};
  return {{Severity::note,
           fmt::format("transport {} cannot use the {} that it finds", transport_of(library),
                       with_version(library)),
           fmt::format("'{}' (found by {}) {}", library.path, library.found_by, library.problem),
           how_to_get(library)}};
}

/// Two versions that one process might load: the one that Halocline finds, and the one that other
/// libraries get from the loader.
Findings two_versions(const Library& library) {
  const bool is_chosen = library.is_mpis || library.found_by.starts_with("HALOCLINE_");
  for (const LibraryFile& other : library.others) {
    if (is_chosen || other.version.empty() || other.version == library.version) continue;
    return {{Severity::note,
             fmt::format("two versions of {} may meet in one process", library.name),
             fmt::format("{} in '{}' (found by {}), {} in '{}' (found by {})", library.version,
                         library.path, library.found_by, other.version, other.path, other.found_by),
             fmt::format("if a program also uses {0} by another library, set HALOCLINE_{0} to the "
                         "file that this one loads; one that is loaded already is taken anyway",
                         library.name)}};
  }
  return {};
}

Findings missing_plugin(const Evidence& evidence) {
  const Library* plugin = library_named(evidence.facts, nccl_plugin);
  if (plugin == nullptr || plugin->problem.empty()) return {};
  return {{Severity::note, "NCCL uses its own network, not the plug-in that was asked for",
           plugin->problem,
           fmt::format("put the folder of the plug-in's file into LD_LIBRARY_PATH, or unset {}",
                       plugin_variable)}};
}

}  // namespace

Findings transports_of_libraries(const Evidence& evidence) {
  Findings found;
  for (const PathResult& result : evidence.paths) {
    const char* const name = library_of(result.path);
    const bool is_bad = is_failure(result.outcome) || result.outcome == Outcome::untried;
    if (name == nullptr || !is_bad || result.out_of_time) continue;
    const Library* there = library_named(evidence.facts, name);
    const Library library =
        there != nullptr ? *there : Library{.name = name, .path = {}, .version = {}};
    found.push_back({result.outcome == Outcome::untried ? Severity::absent : Severity::broken,
                     failure_text(library, result), result.how,
                     fix_for(evidence, library, result)});
  }
  return found;
}

Findings libraries(const Evidence& evidence) {
  Findings found;
  for (const Library& library : evidence.facts.ranks.libraries) {
    if (library.name == file_library)
      append(found,
             missing(library,
                     "runs write no .vtkhdf files, and only Halocline can open their checkpoints"));
    if (!evidence.gpu_pair) continue;
    if (library.name == kernel_compiler)
      append(found,
             missing(library, "problem files whose formulas are not built in run on the CPU"));
    if (transport_of(library).empty()) continue;
    append(found, unusable(library));
    append(found, two_versions(library));
    if (const KnownFault* fault = known_fault(evidence, library))
      append(found, {{Severity::note, fmt::format("{} {}", with_version(library), fault->what),
                      fmt::format("its version: '{}'", library.path), fault->fix}});
  }
  if (evidence.gpu_pair) append(found, missing_plugin(evidence));
  return found;
}

}  // namespace halocline::doctor::rules
