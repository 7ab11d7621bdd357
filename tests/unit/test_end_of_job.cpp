// SPDX-License-Identifier: Apache-2.0
// What is quoted of a job that failed, from what real launchers print.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/end_of_job.hpp"

namespace halocline::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string complaint(const std::string& err, const std::string& out = "") {
  JobEnd end;
  end.err = err;
  end.out = out;
  return probe::complaint_in(end, "the-probe: ");
}

const std::string frame = std::string(74, '-') + "\n";

// Open MPI 4.1.4 with OMPI_MCA_btl=foo.
TEST(EndOfJob, QuotesTheReasonOfOpenMpiWhole) {
  const std::string said = complaint(
      "[vm:14077] [[23043,0],0] ORTE_ERROR_LOG: Out of resource in file ../show_help.c at line "
      "501\n" +
      frame +
      "A requested component was not found, or was unable to be opened.  This\n"
      "means that this component is either not installed or is unable to be\n"
      "used on your system.\n\n"
      "Host:      vm\n"
      "Framework: btl\n"
      "Component: foo\n" +
      frame + frame +
      "It looks like MPI_INIT failed for some reason; your parallel process is\n"
      "likely to abort.\n" +
      frame + "[vm:14100] *** An error occurred in MPI_Init\n");
  EXPECT_THAT(said, AllOf(StartsWith("A requested component was not found"),
                          HasSubstr("Framework: btl Component: foo"), Not(HasSubstr("ORTE")),
                          Not(HasSubstr("It looks like")), Not(HasSubstr("---"))));
}

TEST(EndOfJob, QuotesTheLibraryThatEndedARank) {
  EXPECT_EQ(complaint("halocline: MPI_Init ended this process: its own output is above; 'halocline "
                      "doctor' looks for the cause\n"
                      "[vm:1] opal_shmem: No space left on device\n"),
            "opal_shmem: No space left on device");
}

TEST(EndOfJob, QuotesEachReasonOnce) {
  EXPECT_EQ(complaint("[vm:14172] PML ucx cannot be selected\n"
                      "[vm:14171] PML ucx cannot be selected\n"),
            "PML ucx cannot be selected");
}

// MPICH 4.0.2 over UCX with UCX_TLS=foo.
TEST(EndOfJob, QuotesTheReasonOfMpichWhole) {
  const std::string said = complaint(
      "[1795359705.019831] [vm:14277:0]     ucp_context.c:1276 UCX  ERROR no usable "
      "transports/devices (asked foo on all devices)\n"
      "Abort(874106511): Fatal error in internal_Init: Other MPI error, error stack:\n"
      "internal_Init(59)........: MPI_Init(argc=0x7ff, argv=0x7ff) failed\n"
      "MPIDI_UCX_init_local(252):  ucx function returned with failed status(No such device)\n\n",
      "=====================================================================\n"
      "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
      "=   PID 14277 RUNNING AT vm\n"
      "=====================================================================\n"
      "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Hangup (signal 1)\n");
  EXPECT_THAT(said, AllOf(StartsWith("ucp_context.c:1276 UCX ERROR no usable transports"),
                          HasSubstr("internal_Init(59): MPI_Init"), HasSubstr("No such device"),
                          Not(HasSubstr("BAD TERMINATION")), Not(HasSubstr("Hangup"))));
}

TEST(EndOfJob, PrefersOurOwnWords) {
  EXPECT_EQ(complaint("mpirun is unhappy\nhalocline: rank 0: MPI_Send has not returned for 2 s\n"),
            "halocline: rank 0: MPI_Send has not returned for 2 s");
  EXPECT_EQ(complaint("", "the-probe: begins\n"), "");
}

TEST(EndOfJob, SaysWhatIsAlwaysSaidIfThereIsNothingElse) {
  EXPECT_THAT(
      complaint(frame + "mpirun detected that one or more processes exited with non-zero status\n" +
                frame),
      StartsWith("mpirun detected that"));
}

TEST(EndOfJob, DoesNotQuoteWithoutEnd) {
  std::string long_text;
  for (int i = 0; i < 10000; ++i) long_text += "word ";
  EXPECT_LT(complaint(long_text).size(), 2000U);
}

}  // namespace
}  // namespace halocline::test
