// SPDX-License-Identifier: Apache-2.0
#include "cli/proofs.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/launched.hpp"
#include "build_info.hpp"
#include "cli/print.hpp"
#include "exchange/selection/choice.hpp"
#include "probe/ensure.hpp"
#include "proof/surroundings.hpp"
#include "transport/transport.hpp"

namespace halocline::cli {
namespace {

/// Estimates the ranks that will share this node.
int ranks_on_this_node(const ProofRequest& request, const Variables& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const auto found = variables.find(name);
    int count = 0;
    if (found != variables.end() &&
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), count)
                .ec == std::errc{})
      return count;
  }
  const std::optional<Launched> launched = launched_by(variables);
  return launched ? launched->size.value_or(1) : request.ranks.value_or(1);
}

/// "whether MPI accepts GPU memory and transport nccl works".
std::string question(const std::vector<probe::Path>& paths) {
  std::set<std::string> parts;
  for (const probe::Path& path : paths)
    parts.insert(transport::find_transport(path.transport).capabilities().trusts_mpi
                     ? std::string("MPI accepts GPU memory")
                     : fmt::format("transport {} works", path.transport));
  return fmt::format("whether {}", fmt::join(parts, " and "));
}

void say(const ProofRequest& request, const std::string& text) {
  if (request.notes == ProofRequest::Notes::printed) print_note(text);
}

/// Returns the transports that values of --transport request between ranks of a node, the only ones
/// that a probe job of this node can prove; null stands for auto. Other values request none: the
/// command knows them itself, or refuses them later, once for all ranks.
std::set<const transport::Transport*> wanted_on_a_node(const std::vector<std::string>& transports) {
  std::set<const transport::Transport*> wanted;
  for (const std::string& text : transports) {
    try {
      wanted.insert(
          exchange::read_wanted(text)[static_cast<std::size_t>(transport::Pair::same_node)]);
    } catch (const Error&) {
    }
  }
  return wanted;
}

}  // namespace

std::vector<probe::Path> paths_to_prove(const std::vector<std::string>& transports,
                                        const std::vector<std::string>& memories) {
  const std::set<const transport::Transport*> wanted = wanted_on_a_node(transports);
  std::vector<probe::Path> paths;
  for (const transport::Transport* one : transport::transports()) {
    if (!one->capabilities().needs_proof) continue;
    for (const std::string& name : memories) {
      const std::optional<Memory> memory = name == "auto" ? Memory::device : memory_named(name);
      if (!memory || one->unavailable(transport::Pair::same_node, *memory)) continue;
      // Transports that are costly to start are proved only on request: the job takes seconds, and
      // auto rarely needs them.
      const bool is_for_auto = one->is_for_auto(*memory) && !one->capabilities().is_costly_to_start;
      if (!wanted.contains(one) && !(is_for_auto && wanted.contains(nullptr))) continue;
      const probe::Path path{std::string(one->name()), *memory};
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  return paths;
}

void make_proofs(const ProofRequest& request) {
  const Variables variables = current_variables();
  const probe::ProofRole role = probe::proof_role(variables);
  if (role == probe::ProofRole::ours || role == probe::ProofRole::other_rank) return;
  // If ranks cannot make proofs, only rank 0 notes it.
  const std::optional<Launched> launched = launched_by(variables);
  if (launched && launched->rank.value_or(0) != 0) return;
  if (request.paths.empty()) return;
  const std::vector<proof::GpuPair> pairs =
      proof::pairs_between(ranks_on_this_node(request, variables), proof::gpus_here(variables));
  if (pairs.empty()) return;

  const auto file = proof::proofs_file(request.file, variables);
  const proof::ProofsAtHand proofs = probe::ensure_proofs(
      {.file = file,
       .pairs = pairs,
       .paths = request.paths,
       .program = std::filesystem::read_symlink("/proc/self/exe"),
       .launcher_hint = std::string(build_info::mpi_launcher),
       .on_start =
           [&] {
             say(request,
                 fmt::format("testing in a probe job {}; {}", question(request.paths),
                             file ? fmt::format("the result is kept in '{}'", file->path)
                                  : "the result is not kept: no file for it (use --proofs FILE)"));
           }},
      variables);
  for (const std::string& text : proofs.notes) say(request, text);
  for (const std::string& text : proofs.missing) say(request, text);
}

}  // namespace halocline::cli
