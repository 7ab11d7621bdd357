// SPDX-License-Identifier: Apache-2.0
// main() of the tests that run on several ranks. Rank 0 prints; the others print what fails. All
// ranks end with the same exit code, and none outlives a hang.

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <halocline/communicator.hpp>

#include "base/process/environment.hpp"
#include "mpi/threads.hpp"
#include "support/communicators.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

MPI_Comm everyone = MPI_COMM_NULL;
// Written before the alarm is set; its handler may only read.
char alarm_text[256];

// Kept here, because gtest may not be asked for it from OnTestPartResult: it holds its lock there.
std::string running_test = "the end of all tests";

/// Ends this process, and so the job, if `what` takes longer than any test should.
void set_alarm(const std::string& what, unsigned seconds = test_seconds()) {
  alarm(0);
  std::snprintf(alarm_text, sizeof alarm_text, "[rank %d] %s has not ended within %u s\n", rank(),
                what.c_str(), seconds);
  alarm(seconds);
}

extern "C" void on_alarm(int) {
  if (write(STDERR_FILENO, alarm_text, std::strlen(alarm_text)) < 0) _exit(2);
  _exit(1);
}

/// The lowest rank that has something to tell, or the number of ranks.
int lowest_of(int mine) {
  int lowest = mine;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, everyone, &request);
  const auto since = std::chrono::steady_clock::now();
  for (int done = 0; done == 0; sched_yield()) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0 &&
        std::chrono::steady_clock::now() - since > std::chrono::seconds(test_seconds() / 2)) {
      std::fprintf(stderr, "[rank %d] other ranks do not come to agree in %s\n", rank(),
                   running_test.c_str());
      MPI_Abort(everyone, 1);
    }
  }
  return lowest;
}

class RankListener : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    running_test = std::string(test.test_suite_name()) + "." + test.name();
    set_alarm(running_test);
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (rank() == 0 || !result.failed()) return;
    const char* file = result.file_name() != nullptr ? result.file_name() : "unknown file";
    std::fprintf(stderr, "[rank %d] %s failed at %s:%d\n%s\n", rank(), running_test.c_str(), file,
                 result.line_number(), result.message());
  }

  // Before the printer, which rank 0 alone has: what is added here is printed.
  void OnTestEnd(const testing::TestInfo& info) override {
    const bool failed = info.result()->Failed();
    const int lowest = lowest_of(failed ? rank() : ranks());
    if (rank() == 0 && !failed && lowest < ranks())
      ADD_FAILURE() << "failed on rank " << lowest << ", which says why";
  }
};

void listen() {
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  listeners.Append(new RankListener);
}

}  // namespace

int rank() {
  int value = 0;
  MPI_Comm_rank(everyone, &value);
  return value;
}

int ranks() {
  int value = 0;
  MPI_Comm_size(everyone, &value);
  return value;
}

bool agree(bool ok) { return lowest_of(ok ? ranks() : rank()) == ranks(); }

void allow(std::chrono::seconds time) {
  set_alarm(running_test, static_cast<unsigned>(time.count()));
}

bool all_well() { return agree(!testing::Test::HasFailure()); }

}  // namespace halocline::test

int main(int argc, char** argv) {
  using namespace halocline::test;
  // Programs start MPI either way, and files are written by a thread where it is for any.
  std::optional<halocline::mpi::ThreadedRuntime> for_any_thread;
  if (halocline::environment("HALOCLINE_TEST_MPI_THREADS")) for_any_thread.emplace();
  const halocline::Runtime runtime;
  MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
  std::signal(SIGALRM, on_alarm);
  testing::InitGoogleTest(&argc, argv);
  listen();
  const bool passed = RUN_ALL_TESTS() == 0;
  const bool all_passed = agree(passed);
  set_alarm("MPI's end");
  MPI_Comm_free(&everyone);
  return all_passed ? 0 : 1;
}
