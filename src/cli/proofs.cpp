#include "cli/proofs.hpp"

#include <charconv>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "build_info.hpp"
#include "launch/launched.hpp"
#include "proof/ensure.hpp"
#include "proof/surroundings.hpp"

namespace halocline::cli {
namespace {

/// Ranks that will share this node, as far as that is known beforehand.
int ranks_on_this_node(const SolveCommand& command, const Variables& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const auto found = variables.find(name);
    int count = 0;
    if (found != variables.end() &&
        std::from_chars(found->second.data(), found->second.data() + found->second.size(), count)
                .ec == std::errc{})
      return count;
  }
  const std::optional<Launched> launched = launched_by(variables);
  return launched ? launched->size.value_or(1) : command.ranks.value_or(1);
}

/// Kinds of memory that may be given to gpu_aware; none if it has no part in this.
std::vector<Memory> memories_for_gpu_aware(const SolveOptions& options) {
  if (options.backend != "auto" && options.backend != "cuda") return {};
  const std::string& transport = options.transport;
  const bool may_be_chosen = transport.find("auto") != std::string::npos ||
                             transport.find("gpu_aware") != std::string::npos ||
                             transport.find('=') != std::string::npos;  // other kinds: auto
  if (!may_be_chosen) return {};
  if (options.memory == "auto" || options.memory == "device") return {Memory::device};
  if (options.memory == "managed") return {Memory::managed};
  return {};
}

void say(const SolveCommand& command, const std::string& text) {
  if (command.quiet == SolveCommand::Flag::yes) return;
  fmt::print(stderr, "note: {}\n", text);
  std::fflush(stderr);
}

}  // namespace

void make_proofs(const SolveCommand& command) {
  const Variables variables = current_variables();
  const proof::Stand stand = proof::stand_of(variables);
  if (stand == proof::Stand::ours || stand == proof::Stand::other_rank) return;
  // Ranks that cannot make proofs say so once.
  const std::optional<Launched> launched = launched_by(variables);
  if (launched && launched->rank.value_or(0) != 0) return;
  const std::vector<Memory> memories = memories_for_gpu_aware(command.options);
  if (memories.empty()) return;
  const std::vector<proof::GpuPair> pairs =
      proof::pairs_between(ranks_on_this_node(command, variables), proof::gpus_here(variables));
  if (pairs.empty()) return;

  const auto file = proof::proofs_file(command.options.proofs, variables);
  const proof::ProofsAtHand proofs = proof::ensure_proofs(
      {.file = file,
       .pairs = pairs,
       .memories = memories,
       .program = std::filesystem::read_symlink("/proc/self/exe"),
       .launcher_hint = std::string(build_info::mpi_launcher),
       .on_start =
           [&] {
             say(command,
                 fmt::format("trying in a job of its own whether MPI takes a GPU's memory; {}",
                             file ? fmt::format("the result is kept in '{}'", file->path)
                                  : "there is no place to keep the result (--proofs FILE)"));
           }},
      variables);
  for (const std::string& text : proofs.notes) say(command, text);
  for (const std::string& text : proofs.missing)
    say(command, fmt::format("gpu_aware is not proved for {}", text));
}

}  // namespace halocline::cli
