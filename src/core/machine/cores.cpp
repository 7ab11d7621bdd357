// SPDX-License-Identifier: Apache-2.0
#include "machine/cores.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/process/allowed_cores.hpp"
#include "base/process/environment.hpp"
#include "base/text/numbers.hpp"
#include "comm/collectives.hpp"

namespace halocline::machine {
namespace {

constexpr const char* threads_variable = "OMP_NUM_THREADS";

/// Returns the cores of each rank on this node, and this rank's index. Collective.
std::pair<std::vector<std::vector<int>>, std::size_t> cores_on_node(
    const Communicator& communicator) {
  std::ostringstream mine;
  mine << communicator.node_of(communicator.rank());
  for (const int core : allowed_cores()) mine << ' ' << core;
  std::string all;
  for (const std::string& text : comm::gather_texts(communicator, mine.str())) all += text + '\n';
  std::istringstream lines(comm::broadcast(communicator, all, 0));

  std::vector<std::vector<int>> cores_of;
  std::size_t index = 0;
  std::string line;
  for (int rank = 0; std::getline(lines, line); ++rank) {
    std::istringstream numbers(line);
    int node = 0;
    numbers >> node;
    if (node != communicator.node_of(communicator.rank())) continue;
    if (rank == communicator.rank()) index = cores_of.size();
    cores_of.emplace_back();
    for (int core = 0; numbers >> core;) cores_of.back().push_back(core);
  }
  return {cores_of, index};
}

}  // namespace

std::string ranges_of(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = last + 1) {
    for (last = first; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1;) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(numbers[first]);
    if (last > first) text += '-' + std::to_string(numbers[last]);
  }
  return text;
}

std::vector<int> numbers_in(const std::string& ranges) {
  constexpr int most = 1 << 18;  // cores; protects from a range that would fill the memory
  std::vector<int> numbers;
  std::istringstream list(ranges);
  for (std::string range; std::getline(list, range, ',');) {
    std::istringstream text(range);
    int first = 0, last = 0;
    char dash = 0;
    if (!(text >> first)) return {};
    last = first;
    if (text >> dash && (dash != '-' || !(text >> last))) return {};
    if (first < 0 || last < first || last >= most) return {};
    for (int number = first; number <= last; ++number) numbers.push_back(number);
  }
  return numbers;
}

int threads_for(const std::vector<std::vector<int>>& cores_of, std::size_t mine) {
  std::map<int, int> users;
  for (const auto& cores : cores_of)
    for (const int core : cores) ++users[core];
  double share = 0;
  for (const int core : cores_of[mine]) share += 1.0 / users[core];
  // A third of three shared cores counts as a whole one, in spite of rounding.
  return std::max(1, static_cast<int>(share + 1e-9));
}

int threads_in(const std::string& value) {
  const std::string first = value.substr(0, value.find(','));
  const std::size_t begin = std::min(first.find_first_not_of(" \t"), first.size());
  const std::size_t end = first.find_last_not_of(" \t") + 1;
  return read_whole<int>(first.substr(begin, end - std::min(begin, end)), threads_variable, 1,
                         most_threads);
}

int default_threads(const Communicator& communicator) {
  std::optional<int> wanted;
  comm::together(communicator, [&] {
    if (const auto value = environment(threads_variable)) wanted = threads_in(*value);
  });
  // By all ranks, whichever of them have the variable.
  const auto [cores_of, mine] = cores_on_node(communicator);
  return wanted.value_or(threads_for(cores_of, mine));
}

bool are_bound_alike(const Communicator& communicator) {
  const auto [cores_of, mine] = cores_on_node(communicator);
  std::map<int, int> users;
  for (const auto& cores : cores_of)
    for (const int core : cores) ++users[core];
  const bool shares =
      std::any_of(users.begin(), users.end(), [](const auto& core) { return core.second > 1; });
  return comm::max_over_ranks(communicator, std::int64_t{shares && !cores_of_places().empty()}) > 0;
}

int node_cores(const Communicator& communicator) {
  std::set<int> cores;
  for (const auto& of_rank : cores_on_node(communicator).first)
    cores.insert(of_rank.begin(), of_rank.end());
  return static_cast<int>(cores.size());
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line))
    if (line.rfind("model name", 0) == 0)
      if (const auto colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

}  // namespace halocline::machine
