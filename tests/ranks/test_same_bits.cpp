// SPDX-License-Identifier: Apache-2.0
// Every way to compute gives the same bits: runs of the command, by their words, on the ranks that
// are there. What they are to give stands in same_bits.json, or comes from the reference backend on
// one rank.
//
// The table is the same on every machine and with every MPI: no time, no name.
// HALOCLINE_TEST_RECORD=1 writes what the runs on this number of ranks give now into it; every line
// that changes is a promise given up. To add a run, add a line with nothing but "run". A key that
// all reports have belongs under "keys". Libraries differ in a sine's last bit where it is near the
// middle between two numbers: sizes of jacobi and heat in the table have no such sines.
// HALOCLINE_TEST_TABLE=FILE names another table, as tests/problem_files/compare.py writes them.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <halocline/communicator.hpp>
#include <halocline/mpi.hpp>

#include "base/hash.hpp"
#include "base/process/environment.hpp"
#include "base/text/json_text.hpp"
#include "comm/collectives.hpp"
#include "problem/catalogue.hpp"
#include "ranks/command_runs.hpp"
#include "stencil/sweep.hpp"
#include "support/communicators.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/temporary_folder.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;

std::string table_path() { return environment("HALOCLINE_TEST_TABLE").value_or(SAME_BITS); }

Json table_of_runs() {
  std::ifstream file(table_path());
  if (!file) throw std::runtime_error("there is no table " + table_path());
  return Json::parse(file);
}

/// The folder in which runs find start.npy and start32.npy, of 14x11 cells.
class RunFolder {
 public:
  RunFolder() : folder_(world()), before_(fs::current_path()) {
    fs::current_path(folder_.path());
    if (rank() == 0) {
      write<double>("start.npy");
      write<float>("start32.npy");
    }
    agree(true);
  }
  ~RunFolder() { fs::current_path(before_); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

 private:
  template <class Real>
  static void write(const char* name) {
    std::string header = fmt::format(
        "{{'descr': '<f{}', 'fortran_order': False, 'shape': (11, 14), }}", sizeof(Real));
    header.resize(117, ' ');
    std::ofstream file(name, std::ios::binary);
    file.write("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n';
    for (int i = 0; i < 11 * 14; ++i) {
      const Real value = static_cast<Real>(i * 37 % 64) / 64;
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }

  SharedFolder folder_;
  fs::path before_;
};

std::string joined(const Json& sizes) {
  std::string text;
  for (const Json& size : sizes) text += (text.empty() ? "" : "x") + size.dump();
  return text;
}

/// Of many norms four.
Json a_few(const Json& norms) {
  if (norms.size() <= 4) return norms;
  Json few = Json::array();
  for (std::size_t i = 0; i < 4; ++i) few.push_back(norms[i * (norms.size() - 1) / 3]);
  return few;
}

bool asks(const std::string& words, const std::string& option) {
  return (words + " ").find(" " + option + " ") != words.npos;
}

void add_parts_of_solve(const std::string& words, const Json& report, Json& parts) {
  for (const char* name : {"checksum", "sum", "sweeps", "converged", "norm"})
    parts[name] = report.at(name);
  const Json& norms = report.at("norm_history");
  parts["norms"] = a_few(norms);
  parts["norm_count"] = norms.size();
  parts["process_grid"] = joined(report.at("process_grid"));
  const Json& halo = report.at("halo");
  parts["halo"] = {halo.at("messages"), halo.at("bytes"), halo.at("exchanges")};
  for (const char* name : {"schedule", "transport"})
    if (asks(words, std::string("--") + name) && !asks(words, std::string("--") + name + " auto"))
      parts[name] = report.at(name);
  if (asks(words, "--verify")) parts["verified"] = report.at("verified");
  if (asks(words, "--memory") || !asks(words, "--backend"))
    for (const char* name : {"backend", "memory"}) parts[name] = report.at(name);
  if (fs::exists("out.npy")) {
    const std::string text = content_of("out.npy");
    parts["output"] =
        fmt::format("{:016x}", hash_of(reinterpret_cast<const std::byte*>(text.data()),
                                       static_cast<std::int64_t>(text.size()), 1));
  }
}

void add_parts_of_plan(const Json& report, Json& parts) {
  for (const Json& way : report.at("process_grids"))
    parts["process_grids"].push_back({joined(way.at("process_grid")),
                                      joined(way.at("cells_per_rank")), way.at("messages"),
                                      way.at("bytes"), way.at("redundant_updates")});
  parts["refused"] = Json::array();
  for (const Json& way : report.at("refused"))
    parts["refused"].push_back(joined(way.at("process_grid")));
}

/// Whether a report has a key, such as "halo.us.min", or nothing where that would be: what was not
/// measured is null.
bool has_key(const std::vector<std::string>& keys, const Json& report, const std::string& key) {
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
  std::string above = "/" + key.substr(0, key.rfind('.'));
  std::replace(above.begin(), above.end(), '.', '/');
  const Json::json_pointer at(above);
  return report.contains(at) && report.at(at).is_null();
}

/// A run's line of the table, and in it what a table of another kind has of the report.
Json line_of(const std::string& words, const Outcome& outcome, const Json& common_keys) {
  Json line{{"run", words}, {"code", outcome.code}};
  if (outcome.report.is_null()) return line;
  const bool solves = words.starts_with("solve");
  if (solves)
    add_parts_of_solve(words, outcome.report, line);
  else
    add_parts_of_plan(outcome.report, line);
  const Json common = common_keys.value(solves ? "solve" : "plan", Json::array());
  Json more = Json::array();
  const auto keys = keys_in(outcome.report);
  for (const std::string& key : keys)
    // Kernels may have come with the program.
    if (std::find(common.begin(), common.end(), key) == common.end() && key != "seconds.compile")
      more.push_back(key);
  for (const Json& key : common)
    EXPECT_TRUE(has_key(keys, outcome.report, key)) << words << ": the report has lost " << key;
  if (!more.empty()) line["more_keys"] = more;
  return line;
}

/// A plan, or a run of ranks that are never started: refused before.
bool needs_no_ranks(const std::string& words) {
  return words.starts_with("plan") || ranks_of(words) < 1 || ranks_of(words) > 8;
}

/// Whether these ranks do a run: those of its number, 5 and 7 as parts of 6 and 8.
bool is_for_these_ranks(const std::string& words) {
  const int wanted = needs_no_ranks(words) ? 1 : ranks_of(words);
  return wanted == ranks() || ((wanted == 5 || wanted == 7) && wanted + 1 == ranks());
}

/// The first `count` of all ranks; nothing on the others.
std::optional<Communicator> first_ranks(int count) {
  if (count == ranks()) return world();
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() < count ? 0 : MPI_UNDEFINED, 0, &part);
  if (part == MPI_COMM_NULL) return std::nullopt;
  const Communicator result = from_mpi(part, {.wait_limit = wait_limit});
  MPI_Comm_free(&part);
  return result;
}

/// With another level of vectors for one that this machine lacks.
std::string for_this_machine(std::string words) {
  const std::vector<std::string> here = stencil::simd_levels();
  for (const std::string level : {"sse4", "avx2", "avx512"})
    if (const std::size_t at = words.find("--simd " + level);
        at != words.npos && std::find(here.begin(), here.end(), level) == here.end())
      words.replace(at + 7, level.size(), "auto");
  return words;
}

/// Nothing on a rank that has no part in the run.
std::optional<Outcome> outcome_in_turn(const std::string& words) {
  if (needs_no_ranks(words)) return outcome_before_ranks(words);
  const std::optional<Communicator> those = first_ranks(ranks_of(words));
  if (!those) return std::nullopt;
  return outcome_of(for_this_machine(words), *those);
}

/// Writes the table with a run on each line.
void write(const Json& table) {
  std::ofstream file(table_path());
  const char* before = "{";
  for (const auto& [name, value] : table.items()) {
    file << std::exchange(before, ",\n") << '"' << name << "\":";
    if (!value.is_array()) {
      file << value.dump();
      continue;
    }
    const char* above = "[\n";
    for (const Json& line : value) file << std::exchange(above, ",\n") << line.dump();
    file << "\n]";
  }
  file << "\n}\n";
}

/// Does the runs of a part of the table, or records them.
void check_runs(const char* part) {
  Json table = table_of_runs();
  const Json common_keys = table.value("keys", Json::object());
  const bool records = environment("HALOCLINE_TEST_RECORD").has_value();
  int done = 0, refused = 0;
  const RunFolder folder;
  for (Json& known : table.at(part)) {
    const std::string words = known.at("run");
    if (!is_for_these_ranks(words)) continue;
    if (asks(words, "--memory system") && no_memory(Memory::system)) continue;
    allow(std::chrono::seconds(120));
    const bool may_refuse = known.erase("may_refuse") > 0;
    const std::optional<Outcome> outcome = outcome_in_turn(words);
    ++done;
    if (outcome && may_refuse && outcome->report.is_null()) {
      ++refused;
    } else if (outcome) {
      Json now = line_of(words, *outcome, common_keys);
      if (records) known = now;
      for (const char* name : {"fields", "norm_history"})
        if (known.contains(name)) now[name] = outcome->report.value(name, Json());
      if (rank() > 0) now["more_keys"] = known.value("more_keys", Json());  // it has no profile
      EXPECT_GT(known.size(), 1u) << words << " is not recorded";
      for (const std::string& difference : differences(known, now))
        ADD_FAILURE() << words << "\n  " << difference << "\n  " << outcome->said;
    }
    agree(true);
    if (rank() == 0) fs::remove("out.npy");
  }
  if (rank() == 0) std::printf("%d runs, %d of them refused\n", done, refused);
  if (rank() == 0 && records) write(table);
}

TEST(SameBits, RunsAreAsRecorded) { check_runs("runs"); }

TEST(SameBits, RunsOnGpusAreAsRecorded) {
  NEED_GPU();
  check_runs("gpu_runs");
}

TEST(SameBits, VectorsAreOfEveryWidth) {
  std::string missing;
  const std::vector<std::string> here = stencil::simd_levels();
  for (const char* level : {"sse4", "avx2", "avx512"})
    if (std::find(here.begin(), here.end(), level) == here.end())
      missing += (missing.empty() ? "" : ", ") + std::string(level);
  if (!missing.empty()) GTEST_SKIP() << "this machine lacks " << missing;
}

/// What the reference backend makes of a run, on one rank.
Json expected_of(const std::string& words) {
  std::string text;
  if (rank() == 0) {
    const Outcome outcome = outcome_of(words + " --backend reference", Communicator::self());
    EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.said;
    Json kept;
    for (const char* name : {"fields", "norm_history", "sweeps", "converged"})
      if (outcome.report.contains(name)) kept[name] = outcome.report.at(name);
    text = kept.dump();
  }
  return Json::parse(comm::broadcast(world(), text, 0));
}

/// Solves on all ranks; `expected` are members of the report.
void expect_result(const std::string& words, const Json& expected) {
  const Outcome outcome = outcome_of(words, world());
  EXPECT_EQ(outcome.code, 0) << words << "\n" << outcome.said;
  for (const std::string& difference : differences(expected, outcome.report))
    ADD_FAILURE() << words << "\n  " << difference;
}

/// Problems of the shelf, each as small as its halos and eight parts allow.
struct Shelf {
  std::string words;
  std::size_t axes;
};

std::vector<Shelf> shelf() {
  std::vector<Shelf> problems;
  const Json table = table_of_runs();
  for (const Json& line : table.at("shelf")) {
    const std::string words = line.at("run");
    const std::string cells = words.substr(words.find("--cells"));
    const auto sizes = std::count(cells.begin(), cells.end(), 'x') + 1;
    problems.push_back({words, static_cast<std::size_t>(sizes)});
  }
  return problems;
}

/// Ways on this number of ranks; bricks are not always those of `--layout brick`.
std::vector<std::string> ways(std::size_t axes) {
  const std::string bricks =
      " --layout " + std::vector<std::string>{"brick:16", "brick:4x16", "brick:8x2x4"}.at(axes - 1);
  const auto grid = [&](std::vector<std::string> by_axes) {
    return " --process-grid " + by_axes.at(axes - 1);
  };
  switch (ranks()) {
    case 1: {
      std::vector<std::string> all{" --threads 2 --layout brick"};
      for (const std::string& level : stencil::simd_levels())
        all.push_back(" --threads 2 --simd " + level);
      return all;
    }
    case 2:
      return {" --transport mpi --backend reference", bricks + " --backend reference"};
    case 3:
      return {" --halo-depth 2 --schedule overlap"};
    case 4: {
      const std::string four = grid({"4", "2x2", "1x4x1"});
      return {four + " --halo-depth 3", four + bricks + " --halo-depth 2 --schedule overlap"};
    }
    case 6:
      return {grid({"6", "1x6", "3x1x2"}) + " --transport shared --schedule sequential"};
    default:
      return {grid({"8", "4x2", "2x2x2"}) + " --transport mpi --schedule overlap"};
  }
}

TEST(SameBits, OfTheWholeShelf) {
  std::set<std::string_view> missing;
  for (const problem::BuiltIn& problem : problem::built_in_problems()) missing.insert(problem.name);
  for (const auto& [words, axes] : shelf()) {
    missing.erase(words.substr(6, words.find(" --") - 6));
    allow(std::chrono::seconds(120));
    const Json expected = expected_of(words);
    for (const std::string& way : ways(axes)) {
      const bool names_one = way.find("--backend") != way.npos;
      expect_result(words + way + (names_one ? "" : " --backend cpu"), expected);
    }
  }
  EXPECT_TRUE(missing.empty()) << *missing.begin() << " is not in the table";
}

TEST(SameBits, OfTheWholeShelfOnGpus) {
  NEED_GPU();
  const std::vector<std::string> ways =
      ranks() == 1 ? std::vector<std::string>{"", " --halo-depth 2", " --layout brick"}
                   : std::vector<std::string>{"", " --halo-depth 2", " --schedule overlap",
                                              " --layout brick --schedule overlap"};
  std::size_t number = 0;
  for (const auto& [words, axes] : shelf()) {
    allow(std::chrono::seconds(240));
    Json expected = expected_of(words);
    expected["backend"] = "cuda";
    for (const std::string& way : ways)
      if (has_turn(number++)) expect_result(words + way + " --backend cuda", expected);
  }
}

/// Every problem meets every memory on every number of ranks up to 4, in both precisions together.
TEST(SameBits, InEveryMemoryOnGpus) {
  NEED_GPU();
  const std::pair<const char*, const char*> runs[] = {
      {"laplace --cells 37x23 --tolerance 0 --sweeps 12", " --halo-depth 2"},
      {"laplace --cells 13x11x9 --sweeps 7", " --schedule overlap"},
      {"jacobi --cells 30x20 --sweeps 9 --norm-every 4", " --schedule sequential"},
      {"heat --cells 101 --sweeps 8", " --schedule overlap"},
      {"heat --cells 33x17 --sweeps 8 --norm l2", ""},
      {"star7 --cells 9x8x10 --sweeps 5 --norm max", " --halo-depth 2"},
  };
  const Memory memories[] = {Memory::device, Memory::managed, Memory::pinned, Memory::system};
  auto number = static_cast<std::size_t>(ranks());
  for (const auto& [problem, way] : runs) {
    for (const auto& [precision, shift] :
         {std::pair(" --precision f64", 0), {" --precision f32", 2}}) {
      const Memory memory = memories[(number + static_cast<std::size_t>(shift)) % 4];
      if (no_memory(memory)) continue;
      const std::string words = std::string("solve ") + problem + precision;
      Json expected = expected_of(words);
      expected["backend"] = "cuda";
      expected["memory"] = name_of(memory);
      expect_result(fmt::format("{}{} --backend cuda --memory {}", words, way, name_of(memory)),
                    expected);
    }
    ++number;
  }
}

/// An option of the command and its values; an empty one leaves it out.
struct Factor {
  std::string option;
  std::vector<std::string> values;
};

/// The number of a value of each factor.
using Combination = std::vector<std::size_t>;

std::vector<Combination> product(const std::vector<Factor>& factors) {
  std::vector<Combination> all{{}};
  for (const Factor& factor : factors) {
    std::vector<Combination> longer;
    for (const Combination& one : all)
      for (std::size_t value = 0; value < factor.values.size(); ++value) {
        longer.push_back(one);
        longer.back().push_back(value);
      }
    all = longer;
  }
  return all;
}

/// Combinations in which every pair of values of two factors occurs.
std::vector<Combination> pairwise(const std::vector<Factor>& factors) {
  using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;
  std::set<Pair> open;
  for (std::size_t b = 0; b < factors.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      for (std::size_t x = 0; x < factors[a].values.size(); ++x)
        for (std::size_t y = 0; y < factors[b].values.size(); ++y) open.insert({a, x, b, y});
  std::vector<Combination> all;
  while (!open.empty()) {
    constexpr std::size_t none = -1;
    Combination one(factors.size(), none);
    const auto [a, x, b, y] = *open.begin();
    one[a] = x, one[b] = y;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      if (one[f] != none) continue;
      std::ptrdiff_t most = -1;
      std::size_t best = 0;
      for (std::size_t i = 0; i < factors[f].values.size(); ++i) {
        const std::size_t value = (i + all.size()) % factors[f].values.size();
        std::ptrdiff_t gain = 0;
        for (std::size_t g = 0; g < factors.size(); ++g)
          if (one[g] != none && g != f)
            gain += static_cast<std::ptrdiff_t>(
                open.count(g < f ? Pair{g, one[g], f, value} : Pair{f, value, g, one[g]}));
        if (gain > most) most = gain, best = value;
      }
      one[f] = best;
    }
    for (std::size_t f = 0; f < factors.size(); ++f)
      for (std::size_t g = 0; g < f; ++g) open.erase({g, one[g], f, one[f]});
    all.push_back(one);
  }
  return all;
}

std::vector<std::string> process_grids_here() {
  switch (ranks()) {
    case 1:
      return {""};
    case 2:
      return {"", "2x1"};
    case 3:
      return {""};
    case 4:
      return {"2x2"};
    case 6:
      return {"3x2"};
    default:
      return {"", fmt::format("2x{}", ranks() / 2)};
  }
}

/// What a report is to say of the choices of a run.
void add_choice(const std::string& option, const std::string& value, Json& report) {
  if (value.empty() || value == "auto") return;
  if (option == "--halo-depth") report["halo_depth"] = std::stoi(value);
  if (option == "--threads") report["threads_per_rank"] = std::stoi(value);
  if (option == "--schedule" || option == "--backend" || option == "--precision")
    report[option.substr(2)] = value;
  if (option == "--transport" && ranks() > 1) report["transport"] = {{"same-node", value}};
  if (option == "--simd" && report.value("backend", "") == "cpu") report["simd"] = value;
}

// HALOCLINE_TEST_ALL_WAYS=1 takes all combinations, not only all pairs.
TEST(SameBits, OfAllPairsOfChoices) {
  std::vector<std::string> levels = stencil::simd_levels();
  levels.emplace_back("auto");
  const std::vector<Factor> factors{{"--process-grid", process_grids_here()},
                                    {"--transport", {"auto", "mpi", "shared"}},
                                    {"--schedule", {"auto", "sequential", "overlap"}},
                                    {"--halo-depth", {"1", "2", "3", "5"}},
                                    {"--threads", {"1", "2", "3"}},
                                    {"--backend", {"cpu", "reference"}},
                                    {"--simd", levels},
                                    {"--precision", {"f64", "f32"}}};
  const std::string words = "solve laplace --cells 128x80 --tolerance 0.15";
  Json expected_by_precision;
  for (const char* precision : {"f64", "f32"})
    expected_by_precision[precision] = expected_of(words + " --precision " + precision);
  for (const Combination& one :
       environment("HALOCLINE_TEST_ALL_WAYS") ? product(factors) : pairwise(factors)) {
    allow(std::chrono::seconds(120));
    std::string way = words;
    Json expected = expected_by_precision.at(factors.back().values[one.back()]);
    for (std::size_t f = 0; f < factors.size(); ++f) {
      const std::string& value = factors[f].values[one[f]];
      if (!value.empty()) way += " " + factors[f].option + " " + value;
      add_choice(factors[f].option, value, expected);
    }
    expect_result(way, expected);
  }
}

}  // namespace
}  // namespace halocline::test
