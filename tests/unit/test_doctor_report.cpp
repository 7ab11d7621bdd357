// What doctor prints, and what has changed since another report.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "doctor/changes.hpp"
#include "doctor/report.hpp"
#include "report/render.hpp"
#include "support/evidence.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string json_of(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_json(report_of(diagnosis, {}));
}

std::string text_of(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_text(report_of(diagnosis, {}));
}

TEST(DoctorReport, IsShortWhereAllIsWell) {
  const std::string text = text_of(with_gpus());
  EXPECT_THAT(text, StartsWith("node1: 4 cores, 2 x NVIDIA H200, Open MPI 4.1.6\n\n"
                               "  all paths work\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("a run takes  shared for host memory, peer for device memory"),
                          Not(HasSubstr("MPI_Send")), Not(HasSubstr("seen:"))));
}

TEST(DoctorReport, TellsWhatChanged) {
  Evidence now = with_gpus();
  const std::string before = json_of(now);
  EXPECT_THAT(changes(before, json_of(now), "f"), IsEmpty());
  now.facts.node.mpi = "Open MPI 5.0.11";
  now.paths[1].times[0].us *= 2;
  now.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "invalid handle");
  EXPECT_THAT(changes(before, json_of(now), "f"),
              AllOf(Contains(Change{"mpi", "Open MPI 4.1.6", "Open MPI 5.0.11"}),
                    Contains(Change{"path peer:device", "works", "unavailable"}),
                    Contains(Field(&Change::what, "time of 8 bytes by mpi:host")),
                    Contains(Field(&Change::what, StartsWith("finding: kernels cannot store")))));
  EXPECT_THROW(changes("my thesis", before, "f"), Error);
  EXPECT_THROW(changes("{}", before, "f"), Error);
}

}  // namespace
}  // namespace halocline::test
