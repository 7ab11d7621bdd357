// SPDX-License-Identifier: Apache-2.0
#include "cli/probe_command.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <halocline/error.hpp>

#include "cli/departure.hpp"
#include "cli/exit_code.hpp"
#include "cli/limited_runtime.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "comm/collectives.hpp"
#include "probe/probe.hpp"
#include "probe/probe_job.hpp"
#include "transport/transport.hpp"

namespace halocline::cli {
namespace {

struct ProbeWords {
  std::vector<std::string> memories{"device"};
  std::vector<std::int64_t> bytes = proof::sizes_to_probe();
  std::string gpus = "in-turn", pairs = "all", transport = "gpu_aware";
  double wait_limit_seconds = 30;
};

ProbeWords read(const std::vector<std::string>& words) {
  ProbeWords result;
  Syntax syntax("halocline prove-gpu-aware", "shows whether a transport takes a GPU's memory");
  const OptionGroup options = syntax.group("Options");
  Option& memory = options.option("--memory", "TEXT", result.memories);
  memory.lists = Option::Lists::commas;
  memory.choices = {"host", "pinned", "device", "managed"};
  Option& bytes = options.option("--bytes", "INT", result.bytes);
  bytes.lists = Option::Lists::commas;
  bytes.range = Option::Range::positive;
  options.option("--gpus", "TEXT", result.gpus).choices = {"in-turn", "first"};
  options.option("--pairs", "TEXT", result.pairs).choices = {"all", "of-a-node"};
  options.option("--transport", "TEXT", result.transport);
  options.option("--wait-limit", "FLOAT", result.wait_limit_seconds).range =
      Option::Range::not_negative;
  syntax.parse({words.begin() + 1, words.end()});
  return result;
}

int exit_code_of(proof::ProbeEnd end) {
  if (end == proof::ProbeEnd::unavailable) return exit_unavailable;
  return end == proof::ProbeEnd::all_proved ? exit_ok : exit_wrong_result;
}

}  // namespace

bool is_probe(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == proof::probe_command;
}

int run_probe(const std::vector<std::string>& words) {
  const ProbeWords read_words = read(words);
  proof::ProbeOptions options{.transport = transport::find_transport(read_words.transport),
                              .memories = {},
                              .bytes = read_words.bytes,
                              .say = [](const std::string& line) { print(line + "\n"); }};
  for (const std::string& name : read_words.memories)
    options.memories.push_back(*memory_named(name));
  if (read_words.gpus == "first") options.gpus = proof::GpuChoice::first;
  if (read_words.pairs == "of-a-node") options.pairs = proof::Pairs::of_a_node;
  // It may well crash, and that is no news: nobody wants the memory of a GPU's process on disk.
  const rlimit nothing{0, 0};
  ::setrlimit(RLIMIT_CORE, &nothing);

  const LimitedRuntime runtime(read_words.wait_limit_seconds);
  CommunicatorOptions limits;
  limits.wait_limit = std::chrono::duration<double>(read_words.wait_limit_seconds);
  const Communicator world = Communicator::world(limits);
  try {
    return exit_code_of(proof::probe(world, options));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) throw;
    comm::abort(world, leave(exit_code(error.kind()),
                             fmt::format("rank {}: {}", world.rank(), error.what())));
  }
}

}  // namespace halocline::cli
