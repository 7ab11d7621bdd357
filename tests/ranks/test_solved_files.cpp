// SPDX-License-Identifier: Apache-2.0
// Files that a solve writes and goes on from: the same bytes for every split, those of shorter
// runs, and none after the end.

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/collectives.hpp"
#include "files/hdf5.hpp"
#include "support/caught.hpp"
#include "support/communicators.hpp"
#include "support/npy_bytes.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"
#include "support/temporary_folder.hpp"

namespace halocline::test {
namespace {

class SolvedFiles : public testing::Test {
 protected:
  /// Runs of their own, whose files lie in folders of their own.
  std::string folder_for(const std::string& name) const {
    if (rank() == 0) std::filesystem::create_directory(folder_ / name);
    comm::barrier(world());
    return folder_ / name;
  }

  /// The bytes of all files there, on every rank.
  std::map<std::string, std::string> files_of(const std::string& name) const {
    comm::barrier(world());
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / name))
      files[entry.path().filename().string()] = content_of(entry.path());
    return files;
  }

  static SolveOptions species(std::int64_t sweeps) {
    SolveOptions options = small("gray_scott", {40, 33}, sweeps);
    options.norm = Norm::max;
    return options;
  }

  /// Files of each kind, sums and probes.
  SolveOptions with_files(const std::string& name) const {
    const std::string folder = folder_for(name);
    SolveOptions options = species(70);  // all fields are looked at after 64
    options.field_outputs = {
        {"", folder + "/u.npy"}, {"v", folder + "/v.png"}, {"", folder + "/all.vti"}};
    if (!files::hdf5::unavailable()) options.field_outputs.emplace_back("", folder + "/all.vtkhdf");
    options.output_every = 20;
    options.sums = {"u", "v"};
    options.probes = {{.field = "", .cell = {39, 32}}, {.field = "v", .cell = {0, 17}}};
    options.series = folder + "/s.csv";
    options.series_every = 7;
    return options;
  }

  SharedFolder folder_{world()};
};

TEST_F(SolvedFiles, HaveTheSameBytesForEverySplit) {
  SolveOptions alone = with_files("alone");
  alone.backend = "reference";
  if (rank() == 0) solve(Communicator::self(), alone);
  const auto expected = files_of("alone");
  EXPECT_GE(expected.size(), 5 + 5 + 5 + 2u)
      << "arrays, pictures, images with their list, a series";

  std::map<std::string, SolveOptions> ways;
  for (const char* name : {"as_usual", "columns", "deep", "bricks"}) ways[name] = with_files(name);
  ways["columns"].process_grid = {ranks(), 1};
  ways["deep"].halo_depth = 3;
  ways["columns"].schedule = "overlap";
  ways["bricks"].layout = "brick";
  for (const auto& [name, options] : ways) {
    solve(world(), options);
    const auto files = files_of(name);
    EXPECT_EQ(files.size(), expected.size()) << name;
    for (const auto& [file, bytes] : expected)
      EXPECT_TRUE(files.contains(file) && files.at(file) == bytes) << name << "/" << file;
  }
}

TEST_F(SolvedFiles, OfManySweepsAreThoseOfShorterRuns) {
  const std::string folder = folder_for("long"), shorter = folder_for("short");
  SolveOptions options = species(45);
  options.field_outputs = {{"", folder + "/u.npy"}, {"v", folder + "/v.v.npy"}};
  options.output_every = 20;
  const SolveResult whole = solve(world(), options);
  EXPECT_EQ(whole.checksum, solve(world(), species(45)).checksum) << "files change nothing";
  for (const int sweeps : {0, 20, 40, 45}) {
    SolveOptions short_run = species(sweeps);
    short_run.field_outputs = {{"", fmt::format("{}/u-{:06}.npy", shorter, sweeps)},
                               {"v", fmt::format("{}/v.v-{:06}.npy", shorter, sweeps)}};
    solve(world(), short_run);
  }
  EXPECT_TRUE(files_of("long") == files_of("short"));
}

TEST_F(SolvedFiles, EndWithARunThatStopsEarlier) {
  SolveOptions options = small("laplace", {96, 96}, 500);
  options.tolerance = 0.06;
  const std::int64_t sweeps = solve(world(), options).sweeps;
  ASSERT_GT(sweeps, 20);
  ASSERT_LT(sweeps, 500);
  options.sums = {"u"};
  for (const std::int64_t every : {sweeps - 1, sweeps, sweeps + 1, std::int64_t{1'000'000}}) {
    const std::string name = std::to_string(every), folder = folder_for(name);
    options.output = folder + "/u.npy";
    options.output_every = every;
    const SolveResult result = solve(world(), options);
    std::set<std::int64_t> expected{0, sweeps};
    if (every < sweeps) expected.insert(every);
    std::vector<std::string> names;
    for (const std::int64_t number : expected) names.push_back(fmt::format("u-{:06}.npy", number));
    comm::barrier(world());
    EXPECT_EQ(names_in(folder), names) << every;
    std::set<std::int64_t> rows;
    for (const auto& row : result.series->rows) rows.insert(row.sweeps);
    EXPECT_EQ(rows, expected) << every;
  }
}

struct TwoLegs {
  SolveOptions options;
  std::int64_t first, second;
};

TEST_F(SolvedFiles, StartRunsThatGoOnAsIfTheyHadNeverStopped) {
  std::vector<TwoLegs> all{
      {small("laplace", {64, 48}, 0), 40, 60}, {small("laplace", {64, 48}, 0), 1, 30},
      {small("jacobi", {40, 50}, 0), 20, 31},  {small("heat", {15, 14, 13}, 0), 7, 6},
      {small("star7", {16, 10, 9}, 0), 5, 4},  {species(0), 10, 20}};
  all[0].options.tolerance = all[1].options.tolerance = 0;
  all[1].options.precision = Precision::f32;
  all[4].options.halo_depth = 2;
  all[4].options.process_grid = {ranks(), 1, 1};
  for (auto& [options, first, second] : all) {
    SCOPED_TRACE(options.problem.name());
    options.sweeps = first + second;
    const SolveResult whole = solve(world(), options);
    for (const SolveResult::Field& field : whole.fields)
      options.field_outputs.emplace_back(field.name, folder_ / (field.name + ".npy"));
    options.sweeps = first;
    solve(world(), options);
    // Onto the files it starts from, too.
    options.field_initials = options.field_outputs;
    options.sweeps = second;
    const SolveResult rest = solve(world(), options);
    for (std::size_t f = 0; f < whole.fields.size(); ++f)
      EXPECT_EQ(rest.fields[f].checksum, whole.fields[f].checksum) << whole.fields[f].name;
    if (whole.norm != "max") continue;
    ASSERT_EQ(whole.norm_history.size(),
              rest.norm_history.size() + static_cast<std::size_t>(first));
    for (std::size_t sweep = 0; sweep < rest.norm_history.size(); ++sweep)
      EXPECT_EQ(rest.norm_history[sweep].second,
                whole.norm_history[sweep + static_cast<std::size_t>(first)].second);
  }
}

/// A run with files of all times, as it was 10 sweeps before its end: a checkpoint, and files that
/// know more than that.
class FilesOfAllTimes : public SolvedFiles {
 protected:
  void SetUp() override {
    if (const auto why = files::hdf5::unavailable()) GTEST_SKIP() << *why;
    solve(world(), run_of_100("whole"));
    SolveOptions options = run_of_100("legs");
    options.checkpoint = folder_ / "saved";
    options.checkpoint_every = 30;
    solve(world(), options);
    remove("saved/sweep-000000000100.vtkhdf");
  }

  SolveOptions run_of_100(const std::string& name) const {
    SolveOptions options = species(100);
    add_files(options, folder_for(name));
    return options;
  }
  SolveOptions restart(const std::string& saved = "saved") const {
    SolveOptions options;
    options.threads = 1;
    options.restart = folder_ / saved;
    options.output_every = 20;
    return options;
  }
  static void add_files(SolveOptions& options, const std::string& folder) {
    options.field_outputs = {{"", folder + "/u.vtkhdf"}, {"u", folder + "/list.vti"}};
    options.output_every = 20;
  }
  void remove(const std::string& name) const {
    comm::barrier(world());
    if (rank() == 0) std::filesystem::remove(folder_ / name);
    comm::barrier(world());
  }
};

TEST_F(FilesOfAllTimes, GoOnWithTheirRun) {
  remove("legs/list.pvd");
  SolveOptions options = restart();
  add_files(options, folder_ / "legs");
  solve(world(), options);
  const auto whole = files_of("whole"), legs = files_of("legs");
  for (const char* name : {"u.vtkhdf", "list.pvd"})
    EXPECT_TRUE(legs.at(name) == whole.at(name)) << name;
}

TEST_F(FilesOfAllTimes, HaveRoomForALongerRun) {
  SolveOptions longer = run_of_100("longer");
  longer.sweeps = 190;
  solve(world(), longer);
  SolveOptions options = restart();
  add_files(options, folder_ / "legs");
  options.sweeps = 190;
  solve(world(), options);
  const auto whole = files_of("longer"), legs = files_of("legs");
  for (const char* name : {"u.vtkhdf", "list.pvd"})
    EXPECT_TRUE(legs.at(name) == whole.at(name)) << name;
}

TEST_F(FilesOfAllTimes, AreBegunByARestart) {
  comm::barrier(world());
  if (rank() == 0) std::filesystem::copy(folder_ / "saved", folder_ / "of_90");
  const std::string folder = folder_for("later");
  SolveOptions options = restart();
  options.sweeps = 180;
  options.checkpoint_every = 70;
  options.output = folder + "/later.vtkhdf";
  solve(world(), options);
  const auto once = files_of("later");
  // From one of its times, and from before its first one.
  remove("saved/sweep-000000000180.vtkhdf");
  for (const char* saved : {"saved", "of_90"}) {
    options.restart = folder_ / saved;
    solve(world(), options);
    EXPECT_TRUE(files_of("later") == once) << saved;
  }
}

TEST_F(FilesOfAllTimes, AreNotDestroyedByARestartWithOtherTimes) {
  SolveOptions other = small("laplace", {30, 20}, 5);
  other.output = folder_ / "legs/one.vtkhdf";
  solve(world(), other);
  const auto kept = files_of("legs");
  if (rank() == 0)
    std::ofstream(folder_ / "legs/cut.vtkhdf", std::ios::binary)
        << kept.at("u.vtkhdf").substr(0, 300);
  const auto before = files_of("legs");
  const auto expect_refusal = [&](const char* reason, auto change) {
    SolveOptions options = restart();
    options.field_outputs = {{"", folder_ / "legs/u.vtkhdf"}};
    change(options);
    const Caught error = caught([&] { solve(world(), options); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    EXPECT_THAT(error.text, testing::HasSubstr(reason));
    EXPECT_TRUE(files_of("legs") == before) << reason;
  };
  expect_refusal("no time 10", [](SolveOptions& o) { o.output_every = 10; });
  expect_refusal("other cells, fields", [](SolveOptions& o) { o.field_outputs[0].first = "u"; });
  for (const char* name : {"one", "cut"})
    expect_refusal(*name == 'o' ? "not a file of several times" : "damaged", [&](SolveOptions& o) {
      o.field_outputs[0].second = folder_ / fmt::format("legs/{}.vtkhdf", name);
    });
}

TEST_F(SolvedFiles, ArePicturesOfAnyArray) {
  struct Odd {
    Extents cells;
    double fill;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const auto& [cells, fill] :
       {Odd{{5, 8}, 0}, Odd{{7, 9}, 1e300}, Odd{{8, 8}, std::nan("")}, Odd{{8}, infinity},
        Odd{{8, 1, 1}, -2}, Odd{{3000, 2}, 0.5}, Odd{{2, 3000}, 0.5}}) {
    std::vector<double> values(
        static_cast<std::size_t>(cells.values().x * cells.values().y * cells.values().z), fill);
    values[0] = 0.25;
    std::string shape;
    for (int axis = cells.axes() - 1; axis >= 0; --axis) shape += fmt::format("{},", cells[axis]);
    if (rank() == 0)
      std::ofstream(folder_ / "u.npy", std::ios::binary)
          << npy_file("<f8", "(" + shape + ")",
                      {reinterpret_cast<const char*>(values.data()), 8 * values.size()});
    comm::barrier(world());
    SolveOptions options = small("heat", cells, 0);
    options.initial = folder_ / "u.npy";
    options.output = folder_ / "u.png";
    solve(world(), options);
    if (rank() != 0) continue;
    std::ifstream file(folder_ / "u.png", std::ios::binary);
    std::string head(8, '\0');
    file.read(head.data(), 8);
    EXPECT_EQ(head, "\x89PNG\r\n\x1a\n") << shape << " " << fill;
    std::filesystem::remove(folder_ / "u.png");
  }
}

TEST_F(SolvedFiles, HaveColoursThatWidenOrAreGiven) {
  std::vector<SolveResult::Picture> told;
  const auto pictures = [&](const std::string& name,
                            const std::vector<SolveOptions::Range>& ranges) {
    const std::string folder = folder_for(name);
    SolveOptions options = species(45);
    options.field_outputs = {{"", folder + "/u.png"}, {"v", folder + "/v.png"}};
    options.output_every = 15;
    options.ranges = ranges;
    const SolveResult result = solve(world(), options);
    told = result.pictures;
    std::string text;
    for (const std::string& note : result.notes)
      if (note.find("colours") != note.npos) text += note + "\n";
    return std::pair(text, files_of(name));
  };
  const auto size_of = [](const std::string& png) { return png.substr(16, 8); };
  const auto [note, wide] = pictures("wide", {{.field = "v", .min = 0, .max = 0.5}});
  EXPECT_EQ(size_of(wide.at("u-000000.png")), size_of(wide.at("u-000045.png")));
  EXPECT_THAT(note, testing::AllOf(testing::HasSubstr("u.png"), testing::HasSubstr("u="),
                                   testing::Not(testing::HasSubstr("v.png"))));
  ASSERT_EQ(told.size(), 2u) << "on every rank";
  EXPECT_THAT(told[0].path, testing::EndsWith("u-000045.png"));
  EXPECT_THAT(note, testing::HasSubstr(
                        fmt::format("{:g},{:g}", told[0].least.value(), told[0].largest.value())));
  EXPECT_EQ(told[1].field + ": " + told[1].map + ": " + told[1].text,
            "v: viridis: v, 0 (dark) to 0.5 (bright)");
  const auto [none, given] =
      pictures("given", {{.field = "u", .min = 0, .max = 1}, {.field = "v", .min = 0, .max = 0.5}});
  EXPECT_EQ(none, "");
  EXPECT_NE(given.at("u-000000.png"), wide.at("u-000000.png"));
  EXPECT_EQ(given.at("v-000045.png"), wide.at("v-000045.png"));
  EXPECT_EQ(size_of(given.at("u-000045.png")), size_of(wide.at("u-000045.png")));

  SolveOptions alone = species(45);
  alone.output = folder_for("alone") + "/u.png";
  solve(world(), alone);
  EXPECT_NE(files_of("alone").at("u.png"), wide.at("u-000045.png")) << "of all before";
}

TEST_F(SolvedFiles, HaveColoursThatDivergeOnceBothSignsAreThere) {
  // Falls from 1 by 0.1 a sweep: one sign, both but lopsided, both, to -1.
  SolveOptions options;
  options.problem = Problem::from_text(
      "axes = 1\ncells = [8]\n[fields.u]\ninitial = \"1\"\nboundary = \"periodic\"\n"
      "[update]\nu = \"u - 0.1\"\n[stop]\nsweeps = 20\n",
      "falls");
  options.output = folder_for("falls") + "/u.png";
  options.output_every = 4;
  const SolveResult result = solve(world(), options);
  ASSERT_EQ(result.pictures.size(), 1u);
  EXPECT_EQ(result.pictures[0].map, "coolwarm");
  EXPECT_EQ(result.pictures[0].text, "-1 (blue) to 1 (red)");
  EXPECT_THAT(result.notes, testing::Contains(testing::HasSubstr(
                                "stand for 1 to 1 in the first picture and for -1 to 1 in the "
                                "last: option 'ranges' set to 'u=-1,1'")));
  const std::map<std::string, std::string> files = files_of("falls");
  if (rank() != 0) return;
  const auto has = [&](const std::string& name, const std::string& text) {
    return files.at(name).find(text) != std::string::npos;
  };
  EXPECT_TRUE(has("u-000000.png", "viridis: 1 everywhere"));
  EXPECT_TRUE(has("u-000008.png", "viridis: 0.2 (dark) to 1 (bright)"));
  EXPECT_TRUE(has("u-000012.png", "viridis: -0.2 (dark) to 1 (bright)"));
  EXPECT_TRUE(has("u-000016.png", "coolwarm: -1 (blue) to 1 (red)"));
}

TEST_F(SolvedFiles, AreKeptIfTheirFolderHasGone) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_for("here"));
  folder_for("out");
  SolveOptions options = small("laplace", {60, 50}, 20);
  options.tolerance = 0;
  options.output = "../out/u.npy";
  options.trace = "../out/t.json";
  bool has_gone = false;
  options.stop_request = [&] {
    if (rank() == 0 && !has_gone) std::filesystem::rename("../out", "../gone");
    has_gone = true;
    return std::string();
  };
  try {
    solve(world(), options);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const IncompleteSolve& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resource);
    EXPECT_EQ(error.result().sweeps, 20);
    EXPECT_THAT(error.what(), testing::HasSubstr("../out/u.npy"));
  }
  std::filesystem::current_path(before);
  std::vector<std::string> arrays;
  for (const auto& [name, bytes] : files_of("here")) {
    EXPECT_FALSE(name.starts_with(".")) << name;
    if (bytes.starts_with("\x93NUMPY")) arrays.push_back(bytes);
  }
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].size(), 128u + 60 * 50 * 8);
  EXPECT_EQ(files_of("here").size(), 2u) << "the array and the trace";
  EXPECT_TRUE(files_of("gone").empty());
}

/// v becomes infinite in sweep 9; the norm is of u, and is finite. From then on a look at all
/// fields finds it.
constexpr const char* overflowing = R"toml(axes = 2
cells = [9, 8]
[parameters]
dt = 1
[fields.u]
initial = 1
[fields.v]
initial = "i + 10*j"
[update]
u = "u"
v = "select(v >= 52 and t >= 8, 1/0, v)"
[stop]
sweeps = 1000
norm = { kind = "max", of = "u" }
)toml";

TEST_F(SolvedFiles, EndWithARunThatIsNotFinite) {
  SolveOptions plain;
  plain.problem = Problem::from_text(overflowing);
  plain.backend = "cpu";  // GPUs are looked at when a run ends
  plain.threads = 1;
  const auto expect_end = [&](const SolveOptions& options, std::int64_t sweeps) {
    const SolveResult result = solve(world(), options);
    ASSERT_TRUE(result.not_finite);
    EXPECT_EQ(result.not_finite->field, "v");
    EXPECT_EQ(result.not_finite->cell, (Int3{2, 5, 0}));
    EXPECT_EQ(result.sweeps, sweeps);
    EXPECT_EQ(std::ssize(result.norm_history), sweeps);
  };
  expect_end(plain, 64);
  SolveOptions options = plain;
  options.sweeps = 10;
  expect_end(options, 10);
  options = plain;
  options.output = folder_for("files") + "/u.npy";
  options.output_every = 7;
  expect_end(options, 14);
  comm::barrier(world());
  EXPECT_EQ(names_in(folder_ / "files"),
            (std::vector<std::string>{"u-000000.npy", "u-000007.npy", "u-000014.npy"}));
  options = plain;
  options.sums = {"u"};
  options.series_every = 9;
  expect_end(options, 9);
  options = plain;
  options.probes = {{.field = "", .cell = {0, 0}}};
  options.series_every = 1;
  expect_end(options, 64);  // the cell that is looked at is finite
}

}  // namespace
}  // namespace halocline::test
