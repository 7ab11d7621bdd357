// SPDX-License-Identifier: Apache-2.0
// Runs that go on from a checkpoint: the bits of one that was never stopped, whatever differs, and
// damaged files that are never used.

#include <fcntl.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <halocline/field.hpp>
#include <halocline/measure.hpp>
#include <halocline/npy.hpp>
#include <halocline/solver.hpp>

#include "base/files/descriptor.hpp"
#include "base/process/environment.hpp"
#include "comm/collectives.hpp"
#include "solver/run_files/requests.hpp"
#include "solver/run_files/restart.hpp"
#include "support/caught.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"
#include "support/temporary_folder.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

SolveResult solve_on(int count, const SolveOptions& options) {
  std::optional<SolveResult> result;
  const std::optional<Communicator> some = comm::first_ranks(world(), count);
  comm::on_first_ranks(world(), count, [&] { result = solve(*some, options); });
  return result.value_or(SolveResult{});
}

/// Replaces a file, on rank 0, seen by all ranks.
void put(const std::string& path, const std::string& bytes) {
  comm::on_first_rank(world(), [&] { std::ofstream(path, std::ios::binary) << bytes; });
}

void expect_same_norms(const SolveResult& result, const SolveResult& whole, bool is_sum) {
  ASSERT_EQ(result.norm_history.size(), whole.norm_history.size());
  for (std::size_t i = 0; i < whole.norm_history.size(); ++i) {
    const auto& [sweep, norm] = whole.norm_history[i];
    EXPECT_EQ(result.norm_history[i].first, sweep);
    // An L2 norm is added up in an order that depends on the ranks.
    const double tolerance = is_sum ? 1e-12 * std::abs(norm) : 0;
    EXPECT_NEAR(result.norm_history[i].second, norm, tolerance) << "of sweep " << sweep;
  }
}

/// On rank 0, which takes part in every run.
void expect_same(const SolveResult& result, const SolveResult& whole, bool is_sum = false) {
  if (rank() != 0) return;
  EXPECT_EQ(result.sweeps, whole.sweeps);
  EXPECT_EQ(result.converged, whole.converged);
  ASSERT_EQ(result.fields.size(), whole.fields.size());
  for (std::size_t i = 0; i < whole.fields.size(); ++i) {
    EXPECT_EQ(result.fields[i].checksum, whole.fields[i].checksum) << whole.fields[i].name;
  }
  expect_same_norms(result, whole, is_sum);
  ASSERT_EQ(result.series.has_value(), whole.series.has_value());
  if (!whole.series) return;
  EXPECT_EQ(result.series->names, whole.series->names);
  ASSERT_EQ(result.series->rows.size(), whole.series->rows.size());
  for (std::size_t i = 0; i < whole.series->rows.size(); ++i) {
    EXPECT_EQ(result.series->rows[i].sweeps, whole.series->rows[i].sweeps);
    EXPECT_EQ(result.series->rows[i].values, whole.series->rows[i].values);
  }
}

/// A run that goes on names no problem.
SolveOptions going_on(const std::string& path) {
  SolveOptions options;
  options.restart = path;
  options.threads = 1;
  return options;
}

// ---- the same bits

/// A problem with what of it a checkpoint must carry.
SolveOptions random_problem(Random& random) {
  const std::int64_t sweeps = random.between(2, 60);
  const std::int64_t nx = random.between(17, 70),
                     ny = random.between(nx - 5, nx + 5);  // waves are stable
  const std::vector<std::string> names{"laplace",  "star7",         "gray_scott", "wave_sponge",
                                       "acoustic", "shallow_water", "heat"};
  const std::string& name = random.one_of(names);
  SolveOptions options =
      small(name, name == "star7" ? Extents{nx / 2, ny / 2, 17} : Extents{nx, ny}, sweeps);
  if (random.once_in(2)) options.precision = random.once_in(2) ? Precision::f32 : Precision::f64;
  if (random.once_in(2)) options.norm = random.once_in(2) ? Norm::max : Norm::l2;
  options.norm_every = random.between(1, 5);
  if (random.once_in(2)) options.tolerance = 0;
  if (random.once_in(3)) {
    options.probes.push_back(
        {"", std::vector<std::int64_t>(static_cast<std::size_t>(options.cells.axes()), 3)});
    options.series_every = random.between(1, 9);
  }
  return options;
}

/// Everything that may differ from run to run.
void draw_means(Random& random, SolveOptions& options, bool is_periodic) {
  const std::vector<std::string> schedules{"auto", "sequential", "overlap", "fused"};
  options.tuning_seconds = 0;
  options.backend = "cpu";
  if (random.once_in(6)) options.backend = "reference";
  if (!no_gpu() && random.once_in(2)) options.backend = "cuda";
  options.schedule = options.backend == "cuda" ? random.one_of(schedules) : "auto";
  if (options.backend == "cpu" && random.once_in(2))
    options.schedule = random.once_in(2) ? "overlap" : "sequential";
  if (options.backend != "reference" && random.once_in(4)) options.layout = "brick";
  if (options.schedule == "fused") options.layout = "auto";
  // A fused sweep pushes halos of one sweep.
  options.halo_depth = options.schedule == "fused" || is_periodic ? 1 : random.between(1, 3);
}

int random_ranks(Random& random) { return static_cast<int>(random.between(1, ranks())); }

/// What cannot be done here, or with so many ranks, is drawn again.
SolveResult solve_somehow(Random& random, const SolveOptions& problem, bool is_periodic) {
  for (int attempt = 1;; ++attempt) {
    SolveOptions options = problem;
    draw_means(random, options, is_periodic);
    const int count = random_ranks(random);
    try {
      return solve_on(count, options);
    } catch (const Error& error) {
      const bool is_deep = std::string(error.what()).find("halo") != std::string::npos;
      if (attempt > 20 || (error.kind() != ErrorKind::unavailable && !is_deep)) throw;
    }
  }
}

TEST(Checkpoints, GiveTheBitsOfARunThatWasNeverStopped) {
  const auto asked = environment("HALOCLINE_TEST_RESTARTS");
  const std::uint64_t by_default = ranks() > 4 ? 6 : no_gpu() ? 20 : 10;
  const std::uint64_t restarts = asked ? std::stoull(*asked) : by_default;
  if (asked) allow(std::chrono::seconds(20 * restarts));
  std::uint64_t done = 0;
  for (std::uint64_t number = 0; done < restarts; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    Random random(number);
    const SharedFolder folder(world());
    const SolveOptions problem = random_problem(random);
    SCOPED_TRACE(problem.problem.name());
    const bool is_periodic = problem.problem.name() == "star7";
    const SolveResult whole = solve_somehow(random, problem, is_periodic);
    SolveOptions leg = problem;
    leg.checkpoint = folder.path();
    SolveResult result;
    for (std::int64_t sweeps = 0; sweeps < *problem.sweeps; leg = going_on(folder.path())) {
      if (leg.restart) ++done;
      sweeps = random.once_in(4) ? *problem.sweeps : random.between(sweeps + 1, *problem.sweeps);
      leg.sweeps = sweeps;
      if (random.once_in(2)) leg.checkpoint_every = random.between(1, 20);
      leg.writing =
          random.once_in(3) ? SolveOptions::Writing::between : SolveOptions::Writing::automatic;
      result = solve_somehow(random, leg, is_periodic);
    }
    expect_same(result, whole, problem.norm == Norm::l2 || !problem.norm);
    if (!all_well()) return;
  }
  if (rank() == 0)
    std::printf("%llu restarts gave the bits of one run\n", static_cast<unsigned long long>(done));
}

TEST(Checkpoints, HaveWhatOnlyFilesGave) {
  const SharedFolder folder(world());
  const auto write = [&](const char* name, std::int64_t by_x, std::int64_t by_y) {
    const Grid grid(world(), {.cells = {24, 18}});
    const Field<float> field(grid);
    const Box owned = grid.owned();
    for (std::int64_t y = owned.lower.y; y < owned.upper.y; ++y)
      for (std::int64_t x = owned.lower.x; x < owned.upper.x; ++x)
        field(x, y) = static_cast<float>(1500 + by_x * x + by_y * y);
    write_npy(world(), grid, field, folder / name);
  };
  write("u.npy", 3, 1);
  write("c.npy", 10, 7);
  const auto text = [&](const std::string& speeds) {
    return "axes = 2\ncells = [24, 18]\nprecision = \"f32\"\n[fields.u]\ninitial = 0\n"
           "boundary = { value = 0 }\n[coefficients]\nc = { file = \"" +
           speeds +
           "\" }\n[update]\nu = \"u + 1e-4*c*laplace(u)\"\n[stop]\nsweeps = 20\nnorm = \"max\"\n";
  };
  SolveOptions options;
  options.problem = Problem::from_text(text(folder / "c.npy"));
  options.initial = folder / "u.npy";
  options.threads = 1;
  const SolveResult whole = solve(world(), options);
  options.sweeps = 7;
  options.checkpoint = folder / "saved";
  solve(world(), options);
  comm::on_first_rank(world(), [&] {
    for (const char* name : {"u.npy", "c.npy"}) fs::remove(folder / name);
  });
  SolveOptions verified = going_on(folder / "saved");
  verified.sweeps = 20;
  const SolveResult continued = solve(world(), verified);
  expect_same(continued, whole);
  EXPECT_THAT(continued.notes,
              testing::Contains(AllOf(HasSubstr("'c' has"), HasSubstr("not read again"))));
  verified.sweeps = 21;
  verified.verify = SolveOptions::Extra::yes;
  EXPECT_THAT(caught([&] { solve(world(), verified); }).text,
              AllOf(HasSubstr("verify"), HasSubstr("u.npy"), HasSubstr("c.npy")));
}

/// Beyond the first interval of all that a run stands still for, and beyond the 64 sweeps after
/// which all fields are looked at.
TEST(Checkpoints, AndSeriesFilesAndChecksLeaveTheBitsOfBricks) {
  for (const char* name : {"gray_scott", "wave_sponge", "acoustic"}) {
    SCOPED_TRACE(name);
    const SharedFolder folder(world());
    SolveOptions options = small(name, {40, 33}, 150);
    options.sums = {"u"};
    options.probes = {{.field = "u", .cell = {39, 32}}};
    options.series_every = 35;
    const SolveResult rows = solve(world(), options);
    options.layout = "brick";
    options.output = folder / "u.npy";
    options.output_every = 20;
    options.verify = SolveOptions::Extra::yes;
    options.verify_every = 45;
    options.checkpoint = folder / "saved";
    options.checkpoint_every = 40;
    const SolveResult bricks = solve(world(), options);
    SolveOptions rest = going_on(folder / "saved/sweep-000000000120.vtkhdf");
    rest.layout = "brick";
    rest.verify_every = 7;
    for (const SolveResult& result : {bricks, solve(world(), rest)}) {
      expect_same(result, rows, rows.norm == "l2");
      ASSERT_TRUE(result.spot_checks);
      EXPECT_GE(result.spot_checks->sweeps, 3);
      EXPECT_EQ(result.spot_checks->wrong, "");
    }
    EXPECT_TRUE(bricks.verification && bricks.verification->passed);
  }
}

/// Paths are bytes; names of problems and of files with start values stand in the head.
TEST(Checkpoints, AreWrittenWhateverBytesPathsHave) {
  const SharedFolder folder(world());
  const std::string odd = folder / "caf\xe9";
  comm::on_first_rank(world(), [&] {
    fs::create_directory(odd);
    std::ofstream(odd + "/\xff.toml")
        << "axes = 1\ncells = [40]\n[fields.u]\ninitial = 0\nboundary = \"periodic\"\n"
           "[update]\nu = \"0.5*u[-1] + 0.5*u[1]\"\n[stop]\nsweeps = 9\n";
  });
  const Grid grid(world(), {.cells = {40}});
  const Field<double> start(grid);
  fill_noise(world(), grid, start, 5);
  write_npy(world(), grid, start, odd + "/\xfe.npy");
  SolveOptions options;
  options.problem = Problem::from_file(odd + "/\xff.toml");
  options.initial = odd + "/\xfe.npy";
  options.threads = 1;
  options.checkpoint = odd + "/\xfd";
  options.checkpoint_every = 4;
  std::vector<std::string> troubles;
  options.on_trouble = [&](const std::string& text) { troubles.push_back(text); };
  const SolveResult whole = solve(world(), options);
  EXPECT_EQ(whole.checkpoints->written, 3);
  EXPECT_THAT(troubles, ElementsAre());
  const std::string middle = odd + "/\xfd/sweep-000000000008.vtkhdf";
  expect_same(solve(world(), going_on(middle)), whole);
  SolveOptions verified = going_on(middle);
  verified.verify = SolveOptions::Extra::yes;
  EXPECT_THAT(caught([&] { solve(world(), verified); }).text,
              AllOf(HasSubstr("verify"), HasSubstr("\xef\xbf\xbd.npy")));
}

// ---- which there are

TEST(Checkpoints, AreNamedByTheirSweeps) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {40, 30}, 10);
  options.tolerance = 0;
  options.checkpoint = folder / "saved";
  options.checkpoint_every = 5;
  solve(world(), options);
  const auto path = [&](int sweeps) { return solver::checkpoint_path(folder / "saved", sweeps); };
  const auto refusal = [&] {
    return caught([&] { solve(world(), going_on(folder / "saved")); }).text;
  };
  comm::on_first_rank(world(), [&] { fs::copy(path(5), path(20)); });
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'" + path(20) + "' is the checkpoint of 5 sweeps"),
                               HasSubstr("'" + path(5) + "'")));
  comm::on_first_rank(world(), [&] {
    fs::remove(path(20));
    fs::create_symlink(folder / "nothing", path(20));
    fs::create_symlink(folder / "nothing", path(15));
  });
  EXPECT_THAT(refusal(), AllOf(HasSubstr("'" + path(20) + "'"),
                               HasSubstr("the one before is '" + path(10) + "'")));
}

TEST(Checkpoints, AreTheNewestTwo) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {40, 30}, 23);
  options.tolerance = 0;
  options.checkpoint = folder / "new/folder";
  options.checkpoint_every = 5;
  const SolveResult result = solve(world(), options);
  ASSERT_TRUE(result.checkpoints);
  EXPECT_EQ(result.checkpoints->written, 5);
  EXPECT_EQ(result.checkpoints->last, 23);
  EXPECT_THAT(names_in(*options.checkpoint),
              ElementsAre("sweep-000000000020.vtkhdf", "sweep-000000000023.vtkhdf"));
  comm::barrier(world());

  // Those of more sweeps are of a run that went back.
  SolveOptions again = going_on(*options.checkpoint + "/sweep-000000000020.vtkhdf");
  again.sweeps = 22;
  const SolveResult other = solve(world(), again);
  ASSERT_TRUE(other.restart);
  EXPECT_EQ(other.restart->sweeps, 20);
  EXPECT_THAT(names_in(*options.checkpoint),
              ElementsAre("sweep-000000000020.vtkhdf", "sweep-000000000022.vtkhdf"));
}

TEST(Checkpoints, AreNotMixedWithThoseOfAnotherRun) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {40, 30}, 5);
  options.checkpoint = folder.path();
  solve(world(), options);
  const std::string saved = content_of(folder / "sweep-000000000005.vtkhdf");
  Caught error = caught([&] { solve(world(), options); });
  EXPECT_THAT(error, says(ErrorKind::usage, "another run", "5 sweeps", folder.path()));
  comm::barrier(world());

  std::optional<Descriptor> other_run;
  comm::on_first_rank(world(), [&] {
    other_run.emplace(::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(other_run->get(), LOCK_EX | LOCK_NB), 0);
  });
  error = caught([&] { solve(world(), going_on(folder.path())); });
  EXPECT_THAT(error, says(ErrorKind::usage, "another run writes"));
  EXPECT_EQ(content_of(folder / "sweep-000000000005.vtkhdf"), saved);
  comm::barrier(world());
}

/// Options by their words, and parts of what is said of them.
using Refused = std::tuple<std::map<std::string, std::string>, std::vector<std::string>>;

void expect_refusals(const SolveOptions& by_default, const std::vector<Refused>& all) {
  for (const auto& [words, parts] : all) {
    SolveOptions options = by_default;
    for (const auto& [name, word] : words) set_option(options, name, word);
    const Caught error = caught([&] { solve(world(), options); });
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
    for (const std::string& part : parts) EXPECT_THAT(error.text, HasSubstr(part));
  }
}

TEST(Checkpoints, AreWhereOptionsMakeSense) {
  const SharedFolder folder(world());
  expect_refusals(
      small("laplace", {40, 30}, 5),
      {{{{"checkpoint_every", "5"}}, {"needs a folder"}},
       {{{"checkpoint", folder.path()}, {"checkpoint_every", "0"}}, {"every 0 sweeps"}},
       {{{"checkpoint", folder.path()}, {"checkpoint_every", "-1s"}}, {"every -1 seconds"}},
       {{{"checkpoint", "/dev/null/x"}}, {"/dev/null/x"}},
       {{{"restart", folder / "none"}}, {"no checkpoint"}},
       {{{"restart", folder.path()}}, {"no checkpoint"}},
       {{{"restart", "/dev/null"}}, {"/dev/null"}}});
}

TEST(Checkpoints, KeepWhatARunIs) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {40, 30}, 5);
  options.checkpoint = folder.path();
  options.seed = 3;
  options.norm_every = 2;
  solve(world(), options);
  SolveOptions star = going_on(folder.path());
  star.problem = "star7";
  expect_refusals(star, {{{}, {"'star7'", "'laplace'"}}});
  expect_refusals(going_on(folder.path()),
                  {{{{"cells", "40x31"}}, {"40x30", "40x31"}},
                   {{{"cells_per_rank", "40x30"}}, {"cells_per_rank"}},
                   {{{"sweeps", "4"}}, {"5 sweeps", "cannot be 4"}},
                   {{{"precision", "f32"}}, {"'precision'"}},
                   {{{"seed", "4"}}, {"'seed'"}},
                   {{{"norm", "none"}}, {"'norm'"}},
                   {{{"norm_every", "3"}}, {"'norm_every'"}},
                   {{{"tolerance", "0.5"}}, {"'tolerance'"}},
                   {{{"parameters", "dt=0.5"}}, {"'parameters'", "'sweeps'"}},
                   {{{"initial", "u.npy"}}, {"'initial'"}},
                   {{{"sums", "u"}}, {"'sums'"}},
                   {{{"probes", "u@1,1"}}, {"'probes'"}},
                   {{{"baseline", "yes"}}, {"'baseline'"}}});
  // The same values once more are no others.
  SolveOptions same = going_on(folder.path());
  same.problem = "laplace";
  same.cells = {40, 30};
  same.seed = 3;
  same.norm_every = 2;
  same.sweeps = 6;
  EXPECT_EQ(solve(world(), same).sweeps, 6);
}

// ---- where a run ends

TEST(Checkpoints, OfAConvergedRunAreItsEnd) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {256, 128}, 526);
  options.checkpoint = folder.path();
  const SolveResult first = solve(world(), options);
  EXPECT_EQ(first.sweeps, 199);
  SolveOptions more = going_on(folder.path());
  more.sweeps = 1000;
  expect_same(solve(world(), more), first);
  EXPECT_TRUE(first.converged);
}

/// Nothing has moved in the sweep before the checkpoint; the wall does in the next one.
TEST(Checkpoints, GoOnFromRest) {
  const SharedFolder folder(world());
  SolveOptions options;
  options.problem = Problem::from_text(
      "axes = 2\ncells = [12, 16]\nparameters.dt = 0.05\n[fields.u]\ninitial = 0\n"
      "boundary = { value = \"sin(t)\" }\n[update]\nu = \"0.5*(u[1,0] + u[-1,0])\"\n"
      "[stop]\nsweeps = 9\ntolerance = 1e-9\n");
  options.threads = 1;
  const SolveResult whole = solve(world(), options);
  EXPECT_EQ(whole.sweeps, 9);
  options.checkpoint = folder.path();
  options.sweeps = 1;
  EXPECT_FALSE(solve(world(), options).converged);
  SolveOptions more = going_on(folder.path());
  more.sweeps = 9;
  expect_same(solve(world(), more), whole);
}

/// A norm that only a shorter run has, since it is of its last sweep, does not end the longer one.
TEST(Checkpoints, GoOnBeyondANormOfTheLastSweepAlone) {
  SolveOptions options = small("laplace", {40, 33}, 14);
  options.tolerance = 0;
  const double norm = solve(world(), options).norm_history[7].second;
  options.tolerance = norm;
  options.norm_every = 5;
  const SolveResult whole = solve(world(), options);
  EXPECT_EQ(whole.sweeps, 11);
  EXPECT_TRUE(whole.converged);

  const SharedFolder folder(world());
  options.checkpoint = folder.path();
  options.sweeps = 8;
  EXPECT_TRUE(solve(world(), options).converged);
  const SolveResult again = solve(world(), going_on(folder.path()));
  EXPECT_EQ(again.sweeps, 8);
  EXPECT_TRUE(again.converged);
  SolveOptions more = going_on(folder.path());
  more.sweeps = 14;
  expect_same(solve(world(), more), whole);
}

TEST(Checkpoints, AreWrittenOnceForOneWish) {
  bool is_time = true;
  solver::Requests requests(world(), [&] {
    return rank() == 0 && is_time ? solver::Request::checkpoint : solver::Request::none;
  });
  int written = 0;
  for (std::int64_t sweeps = 0; sweeps < 2000; ++sweeps) {
    if (requests.agreed(sweeps) != solver::Request::checkpoint) continue;
    ++written;
    is_time = false;
  }
  requests.finish();
  EXPECT_EQ(written, 1);
}

TEST(Checkpoints, EndARunOnTheRequestOfOneRank) {
  const SharedFolder folder(world());
  SolveOptions options = small("laplace", {40, 33}, 1'000'000'000);
  options.norm = Norm::none;
  options.checkpoint = folder.path();
  bool is_asked = false;
  const auto begun = std::chrono::steady_clock::now();
  options.stop_request = [&]() -> std::string {
    if (rank() != ranks() - 1) return "";
    is_asked =
        is_asked || std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(300);
    return is_asked ? "a wish" : "";
  };
  const SolveResult stopped = solve(world(), options);
  EXPECT_EQ(stopped.stopped_by, "a wish");
  EXPECT_LT(stopped.sweeps, 1'000'000'000);
  EXPECT_GT(stopped.sweeps, 0);
  ASSERT_TRUE(stopped.checkpoints);
  EXPECT_EQ(stopped.checkpoints->last, stopped.sweeps);
  SolveOptions more = going_on(folder.path());
  more.sweeps = stopped.sweeps + 10;
  const SolveResult result = solve(world(), more);
  SolveOptions plain = options;
  plain.stop_request = {};
  plain.checkpoint.reset();
  plain.sweeps = more.sweeps;
  expect_same(result, solve(world(), plain));
}

TEST(Checkpoints, EndARunWithoutAFolderToo) {
  SolveOptions options = small("laplace", {40, 33}, 1'000'000'000);
  options.norm = Norm::none;
  options.stop_request = [] { return std::string(rank() == 0 ? "SIGTERM" : ""); };
  const SolveResult stopped = solve(world(), options);
  EXPECT_EQ(stopped.stopped_by, "SIGTERM");
  EXPECT_FALSE(stopped.checkpoints);
}

// ---- damage

/// A folder with checkpoints of 5 and 10 sweeps of a run of 12.
class Damaged : public testing::Test {
 protected:
  Damaged() {
    SolveOptions options = small("wave_sponge", {24, 18}, 12);
    options.norm = Norm::max;
    options.probes = {{"u", {3, 4}}};
    options.series_every = 2;
    whole_ = solve(world(), options);
    options.sweeps = 10;
    options.checkpoint = folder_.path();
    options.checkpoint_every = 5;
    solve(world(), options);
    before_ = solver::checkpoint_path(folder_.path(), 5);
    path_ = solver::checkpoint_path(folder_.path(), 10);
    bytes_ = content_of(path_);
    head_ = files::read_checkpoint_head(path_);
    comm::barrier(world());
  }

  /// Returns the end of the run that goes on, unless the checkpoint is refused by its name, and the
  /// one before is named.
  bool is_used(const std::string& bytes, const std::string& what) {
    put(path_, bytes);
    SolveOptions options = going_on(folder_.path());
    options.sweeps = 12;
    options.checkpoint = elsewhere_.path() + "/" + std::to_string(++tries_);
    bool is_used = true;
    const Caught error = caught([&] { expect_same(solve(world(), options), whole_); });
    if (error.kind) {
      is_used = false;
      EXPECT_THAT(error, says(ErrorKind::usage, path_, before_)) << what;
    }
    comm::on_first_rank(world(), [&] { fs::remove_all(*options.checkpoint); });
    return is_used;
  }

  SharedFolder folder_{world()}, elsewhere_{world()};
  SolveResult whole_;
  std::string before_, path_, bytes_;
  files::CheckpointHead head_;
  int tries_ = 0;
};

TEST_F(Damaged, ByOneBit) {
  EXPECT_TRUE(is_used(bytes_, "nothing"));
  const auto asked = environment("HALOCLINE_TEST_FLIPS");
  const std::uint64_t flips = asked ? std::stoull(*asked) : ranks() <= 4 ? 60 : 12;
  if (asked) allow(std::chrono::seconds(5 * flips));
  std::uint64_t tried = 0, refused = 0;
  for (std::uint64_t number = 0; number < flips; ++number) {
    if (!has_turn(number)) continue;
    Random random(number);
    std::string damaged = bytes_;
    const auto at = static_cast<std::size_t>(random.between(0, std::ssize(bytes_) - 1));
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.between(0, 7)));
    ++tried;
    if (!is_used(damaged, "bit flipped at " + std::to_string(at))) ++refused;
    if (!all_well()) return;
  }
  if (rank() == 0)
    std::printf("%llu bits flipped: %llu files were refused, the others gave the same bits\n",
                static_cast<unsigned long long>(tried), static_cast<unsigned long long>(refused));
  // Fields and head are most of the file, but for what HDF5 keeps for others.
  EXPECT_GT(refused, tried / 10);
  // Of every part, the first and the last byte.
  for (const auto* parts : {&head_.fields, &head_.texts})
    for (const files::CheckpointPart& part : *parts)
      for (const std::int64_t at : {part.offset, part.offset + part.bytes - 1}) {
        std::string damaged = bytes_;
        damaged[static_cast<std::size_t>(at)] ^= 1;
        EXPECT_FALSE(is_used(damaged, part.name));
        if (!all_well()) return;
      }
}

TEST_F(Damaged, ByMissingItsEnd) {
  std::vector<std::int64_t> lengths{0, 1, 20, 63, 64, 65, 200, head_.end - 1};
  for (const auto* parts : {&head_.fields, &head_.texts})
    for (const files::CheckpointPart& part : *parts)
      for (const std::int64_t length : {part.offset, part.offset + 1, part.offset + part.bytes})
        if (length < head_.end) lengths.push_back(length);
  for (const std::int64_t length : lengths) {
    EXPECT_FALSE(is_used(bytes_.substr(0, static_cast<std::size_t>(length)),
                         "cut to " + std::to_string(length)));
    if (!all_well()) return;
  }
  EXPECT_TRUE(is_used(bytes_ + "more", "longer"));
}

TEST_F(Damaged, ByWhatIsNoCheckpoint) {
  EXPECT_FALSE(is_used("", "nothing"));
  EXPECT_FALSE(is_used(std::string(5000, 'x'), "text"));
  std::string newer = bytes_;
  newer[newer.find('1')] = '2';
  put(path_, newer);
  EXPECT_THAT(caught([&] { solve(world(), going_on(folder_.path())); }).text,
              AllOf(HasSubstr("version 2"), HasSubstr("knows version 1")));
  EXPECT_FALSE(is_used(content_of(before_), "the one before, under the name of the newest"));
}

TEST_F(Damaged, IsNeverUsedInstead) {
  put(path_, bytes_.substr(0, 100));
  EXPECT_EQ(caught([&] { solve(world(), going_on(folder_.path())); }).kind, ErrorKind::usage);
  SolveOptions options = going_on(before_);
  options.sweeps = 12;
  options.checkpoint_every = 100;
  const SolveResult result = solve(world(), options);
  expect_same(result, whole_);
  EXPECT_EQ(result.restart->sweeps, 5);
  EXPECT_THAT(names_in(folder_.path()),
              ElementsAre("sweep-000000000005.vtkhdf", "sweep-000000000012.vtkhdf"));
}

}  // namespace
}  // namespace halocline::test
