// SPDX-License-Identifier: Apache-2.0
// Checkpoints on a disk that fails: after every fault the folder has the old state or the new one,
// whole, and a run that goes on ends with the bits of one that met none.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/solver.hpp>

#include "base/process/environment.hpp"
#include "comm/collectives.hpp"
#include "solver/run_files/restart.hpp"
#include "support/caught.hpp"
#include "support/disk_faults.hpp"
#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"
#include "support/shared_folder.hpp"
#include "support/small_solve.hpp"
#include "support/turns.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t sweeps_in_all = 12, sweeps_between = 4;

SolveOptions problem() {
  SolveOptions options = small("wave_sponge", {24, 18}, sweeps_in_all);
  options.norm = Norm::max;
  return options;
}

SolveOptions with_checkpoints(const std::string& folder) {
  SolveOptions options = problem();
  options.checkpoint = folder;
  options.checkpoint_every = sweeps_between;
  return options;
}

SolveOptions going_on(const std::string& path, const std::string& folder) {
  SolveOptions options;
  options.restart = path;
  options.checkpoint = folder;
  options.threads = 1;
  options.sweeps = sweeps_in_all;
  return options;
}

void expect_same_bits(const SolveResult& result, const SolveResult& whole) {
  ASSERT_EQ(result.fields.size(), whole.fields.size());
  for (std::size_t i = 0; i < whole.fields.size(); ++i)
    EXPECT_EQ(result.fields[i].checksum, whole.fields[i].checksum);
  EXPECT_EQ(result.norm_history, whole.norm_history);
}

struct Fault {
  int rank;
  DiskFaults::Kind kind;
  std::int64_t call;
  int error;
};

std::string text_of(const Fault& fault) {
  return "rank " + std::to_string(fault.rank) + ", call " + std::to_string(fault.call) + ", kind " +
         std::to_string(static_cast<int>(fault.kind)) + ", errno " + std::to_string(fault.error);
}

/// What there is of a fault on this rank.
std::optional<DiskFaults> on_its_rank(const Fault& fault, const std::string& folder) {
  if (rank() != fault.rank) return std::nullopt;
  return std::optional<DiskFaults>(std::in_place, folder, fault.kind, fault.call, fault.error);
}

class FaultyDisk : public testing::Test {
 protected:
  /// The number of calls on each rank of a whole run.
  std::vector<std::int64_t> calls_of_a_run() {
    const SharedFolder folder(world());
    const DiskFaults counted(folder.path(), DiskFaults::Kind::none, 0, 0);
    solve(world(), with_checkpoints(folder.path()));
    std::vector<std::int64_t> all;
    for (int one = 0; one < ranks(); ++one)
      all.push_back(std::stoll(comm::broadcast(world(), std::to_string(counted.calls()), one)));
    return all;
  }

  /// Goes on from what a run has left, or from the one that an error names instead.
  void expect_saved(const std::string& folder, const Fault& fault) {
    const SharedFolder other(world());
    std::string from = folder;
    const Caught error = caught([&] { solver::find_restart(world(), folder); });
    if (error.kind) {
      EXPECT_EQ(error.kind, ErrorKind::usage) << error.text;
      // The disk forgot it, and said nothing; or no checkpoint was ever written.
      EXPECT_TRUE(fault.kind == DiskFaults::Kind::lost || fault.kind == DiskFaults::Kind::all_fail)
          << error.text;
      ++refused_;
      const auto all = solver::checkpoints_in(folder);
      if (all.size() < 2) return;
      from = all[1].path;
      EXPECT_THAT(error.text, HasSubstr(from));
    }
    Caught rest =
        caught([&] { expect_same_bits(solve(world(), going_on(from, other.path())), whole_); });
    if (!rest.kind) return;
    // A lost block of a field is seen as the field is read.
    EXPECT_EQ(fault.kind, DiskFaults::Kind::lost) << rest.text;
    EXPECT_THAT(rest.text, HasSubstr("is damaged"));
    ++refused_;
    const auto all = solver::checkpoints_in(folder);
    ASSERT_GE(all.size(), 2u);
    EXPECT_THAT(rest.text, HasSubstr(all[1].path));
    expect_same_bits(solve(world(), going_on(all[1].path, other.path())), whole_);
  }

  void try_fault(const Fault& fault) {
    SCOPED_TRACE(text_of(fault));
    const SharedFolder folder(world());
    bool has_run = true;
    const Caught error = [&] {
      const auto faults = on_its_rank(fault, folder.path());
      return caught([&] {
        try {
          solve(world(), with_checkpoints(folder.path()));
        } catch (const IncompleteSolve&) {
          throw;
        } catch (const Error&) {
          has_run = false;  // refused before the first sweep
          throw;
        }
      });
    }();
    if (error.kind) {
      EXPECT_EQ(error.kind, ErrorKind::resource) << error.text;
      EXPECT_THAT(error.text, HasSubstr(folder.path()));
      ++reported_;
    }
    if (has_run) expect_saved(folder.path(), fault);
  }

  SolveResult whole_ = solve(world(), problem());
  std::uint64_t reported_ = 0, refused_ = 0;
};

TEST_F(FaultyDisk, LosesNoRun) {
  using Kind = DiskFaults::Kind;
  const std::vector<Kind> kinds{Kind::fails, Kind::all_fail, Kind::short_write, Kind::torn,
                                Kind::lost};
  const std::vector<int> errors{EIO, ENOSPC, EDQUOT};
  const std::vector<std::int64_t> calls = calls_of_a_run();
  EXPECT_GT(calls[0], 20);
  const auto asked = environment("HALOCLINE_TEST_DISK_FAULTS");
  const std::uint64_t faults = asked                               ? std::stoull(*asked)
                               : environment("HALOCLINE_TEST_ALL") ? 150
                               : ranks() > 4                       ? 20
                                                                   : 40;
  if (asked) allow(std::chrono::seconds(faults));
  std::uint64_t tried = 0;
  for (std::uint64_t number = 0; number < faults; ++number) {
    if (!has_turn(number)) continue;
    ++tried;
    SCOPED_TRACE(how_to_repeat(number));
    Random random(number);
    const int on = static_cast<int>(random.between(0, ranks() - 1));
    try_fault({.rank = on,
               .kind = random.one_of(kinds),
               .call = random.between(1, calls[static_cast<std::size_t>(on)]),
               .error = random.one_of(errors)});
    if (!all_well()) return;
  }
  if (rank() == 0)
    std::printf(
        "%llu faults of the disk: %llu runs reported them, %llu damaged files were refused; every "
        "run "
        "went on to the same bits\n",
        static_cast<unsigned long long>(tried), static_cast<unsigned long long>(reported_),
        static_cast<unsigned long long>(refused_));
}

/// At once, and each time; a run that saves its end is not a failure.
TEST_F(FaultyDisk, IsToldWhileTheRunGoesOn) {
  for (const auto kind : {DiskFaults::Kind::fails, DiskFaults::Kind::all_fail}) {
    const SharedFolder folder(world());
    SolveOptions options = with_checkpoints(folder.path());
    options.checkpoint_every = 3;
    std::vector<std::string> told;
    std::optional<DiskFaults> faults;
    options.on_trouble = [&](const std::string& text) { told.push_back(text); };
    // The folder is right when the run begins.
    options.stop_request = [&, has_begun = false]() mutable {
      if (!has_begun && rank() == 0) faults.emplace(folder.path(), kind, 1, ENOSPC);
      has_begun = true;
      return std::string();
    };
    SolveResult result;
    const Caught error = caught([&] {
      try {
        result = solve(world(), options);
      } catch (const IncompleteSolve& incomplete) {
        result = incomplete.result();
        throw;
      }
    });
    faults.reset();
    const bool is_lasting = kind == DiskFaults::Kind::all_fail;
    EXPECT_EQ(error.kind, is_lasting ? std::optional(ErrorKind::resource) : std::nullopt)
        << error.text;
    EXPECT_EQ(result.checkpoints->written, is_lasting ? 0 : 3);
    EXPECT_THAT(result.notes,
                testing::Contains(
                    AllOf(HasSubstr(is_lasting ? "4 checkpoints could" : "1 checkpoint could"),
                          HasSubstr("the first after 3 sweeps: "), HasSubstr("No space left"))));
    if (rank() > 0) continue;
    ASSERT_EQ(told.size(), is_lasting ? 3u : 1u);
    for (std::size_t i = 0; i < told.size(); ++i)
      EXPECT_THAT(told[i], AllOf(HasSubstr(std::to_string(3 * (i + 1)) + " sweeps: "),
                                 HasSubstr("No space left"), HasSubstr("the run continues")));
  }
}

TEST_F(FaultyDisk, IsNeverBelieved) {
  using Kind = DiskFaults::Kind;
  const SharedFolder folder(world()), other(world());
  SolveOptions options = with_checkpoints(folder.path());
  options.sweeps = 8;
  solve(world(), options);
  std::int64_t failed = 0, call = 1;
  for (bool is_beyond = false; !is_beyond; ++call)
    for (const Kind kind : {Kind::fails, Kind::short_write, Kind::lost}) {
      const Fault fault{.rank = ranks() - 1, .kind = kind, .call = call, .error = EIO};
      SCOPED_TRACE(text_of(fault));
      SolveOptions rest = going_on(folder.path(), other / std::to_string(failed));
      std::int64_t calls = 0;
      const Caught error = caught([&] {
        const auto faults = on_its_rank(fault, folder.path());
        const auto count = [&] { calls = faults ? faults->calls() : 0; };
        try {
          expect_same_bits(solve(world(), rest), whole_);
        } catch (...) {
          count();
          throw;
        }
        count();
      });
      if (error.kind) {
        EXPECT_THAT(error.text, HasSubstr(folder.path()));
        ++failed;
      }
      comm::on_first_rank(world(), [&] { std::filesystem::remove_all(*rest.checkpoint); });
      is_beyond = std::stoll(comm::broadcast(world(), std::to_string(calls), fault.rank)) < call;
      if (!all_well()) return;
    }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace halocline::test
