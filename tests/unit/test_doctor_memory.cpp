// SPDX-License-Identifier: Apache-2.0
// What doctor makes of memory of other allocators, of streams and of collectives; all made up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/findings.hpp"
#include "support/evidence.hpp"
#include "support/findings.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using device::Allocator;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

PathResult of(PathResult result, Allocator allocator) {
  result.path.allocator = allocator;
  return result;
}

TEST(DoctorMemory, OfOtherAllocatorsThatAllTakeIsNoNews) {
  Evidence evidence = with_gpus();
  for (const Allocator allocator : {Allocator::pool, Allocator::virtual_memory})
    for (const char* transport : {"peer", "staged", "gpu_aware"})
      evidence.paths.push_back(of(works(transport, Memory::device, 1.5), allocator));
  EXPECT_THAT(findings(evidence), IsEmpty());
  EXPECT_EQ(verdict(evidence, {}, Strictness::strict), Verdict::fine);
}

TEST(DoctorMemory, OfAPoolIsNotTakenForDeviceMemory) {
  Evidence evidence = with_gpus();
  // Were it not for its memory, this would be the fastest.
  evidence.paths.push_back(of(works("gpu_aware", Memory::device, 0.1), Allocator::pool));
  evidence.paths[3] = ends("peer", Memory::device, Outcome::unavailable, "no way");
  EXPECT_EQ(taken_for(evidence, Memory::device), "gpu_aware");
  const PathResult* result = result_of(evidence, {"gpu_aware", Memory::device});
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(us_for(*result, 64 << 10), 2.5);
}

TEST(DoctorMemory, ThatMpiDoesNotTake) {
  Evidence evidence = with_gpus();
  PathResult failed =
      of(ends("gpu_aware", Memory::device, Outcome::failed, "signal 6"), Allocator::pool);
  evidence.paths.push_back(failed);
  EXPECT_FOUND(evidence, broken("memory from cudaMalloc, but not from memory pools",
                                "gpu_aware with pool memory: signal 6", "1.14"));
  failed.path.allocator = Allocator::virtual_memory;
  failed.outcome = Outcome::wrong;
  failed.how = "byte 3 did not arrive as sent";
  evidence.paths.push_back(failed);
  EXPECT_FOUND(evidence, broken("(cudaMallocAsync) and from CUDA's virtual", "vmm memory: byte 3",
                                "cudaMalloc"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::problems);
}

TEST(DoctorMemory, ThatMpiIsSlowWith) {
  Evidence evidence = with_gpus();
  evidence.paths.push_back(of(works("gpu_aware", Memory::device, 2.5), Allocator::pool));
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence.paths.back() = of(works("gpu_aware", Memory::device, 30), Allocator::virtual_memory);
  EXPECT_FOUND(evidence, note("is slow with memory from CUDA's virtual memory",
                              "16 MiB: 7.68 ms, from cudaMalloc 385 us", "since 1.14"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::strict), Verdict::fine);
}

TEST(DoctorMemory, OfKernelsThatDoNotReachIt) {
  Evidence evidence = with_gpus();
  evidence.paths.push_back(
      of(ends("peer", Memory::device, Outcome::wrong, "byte 0"), Allocator::virtual_memory));
  EXPECT_FOUND(evidence, broken("transport peer with vmm memory delivers wrong", "byte 0",
                                "until then use transport staged"));
}

TEST(DoctorMemory, OfTheSystemThatNoGpuReadsCountsNeverAgainstIt) {
  Evidence evidence = with_gpus();
  evidence.paths.push_back(ends("mpi", Memory::system, Outcome::unavailable, "no HMM"));
  EXPECT_THAT(findings(evidence), IsEmpty());
  EXPECT_EQ(verdict(evidence, {}, Strictness::strict), Verdict::fine);
  evidence.paths.back().outcome = Outcome::failed;
  EXPECT_FOUND(evidence, broken("transport mpi with system memory does not", "no HMM",
                                "another transport of this MPI"));
}

TEST(DoctorStreams, AreNotKeptInOrder) {
  Evidence evidence = with_gpus();
  evidence.paths[3] = ends("peer", Memory::device, Outcome::out_of_order, "was sent before");
  EXPECT_FOUND(evidence, broken("transport peer with device memory does not follow the order",
                                "was sent before", "or use transport staged"));
  EXPECT_EQ(taken_for(evidence, Memory::device), "gpu_aware");
  evidence = with_gpus();
  aware(evidence) =
      ends("gpu_aware", Memory::device, Outcome::out_of_order, "had not arrived when");
  evidence.facts.ranks.claims_gpu = true;
  EXPECT_FOUND(evidence,
               broken("as complete before they are", "had not arrived when", "UCX_TLS=^cuda_ipc"));
}

TEST(DoctorCollectives, ThatWorkAreNoNews) {
  EXPECT_THAT(findings(with_collectives()), IsEmpty());
  EXPECT_EQ(verdict(with_collectives(), {}, Strictness::strict), Verdict::fine);
}

TEST(DoctorCollectives, ThatCrashThoughMessagesWork) {
  Evidence evidence = with_collectives();
  evidence.collectives[1] = ends(collectives[0], Memory::device, Outcome::failed, "signal 11");
  evidence.collectives[3] = ends(collectives[2], Memory::device, Outcome::failed, "signal 7");
  const auto told = [&](Severity severity) {
    return ElementsAre(finding(
        severity, "accepts GPU memory in messages, but not in MPI_Allreduce and MPI_Allgather",
        "MPI_Allreduce: signal 11; MPI_Allgather: signal 7", "as Halocline does with its norms"));
  };
  EXPECT_THAT(findings(evidence), told(Severity::absent));
  EXPECT_EQ(verdict(evidence, {}, Strictness::strict), Verdict::incomplete);
  evidence.facts.ranks.claims_gpu = true;
  EXPECT_THAT(findings(evidence), told(Severity::broken));
}

TEST(DoctorCollectives, ThatCrashWithTheSettingsThatMessagesNeed) {
  Evidence evidence = with_collectives();
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  evidence.paths.push_back(works("gpu_aware", Memory::device, 1.5));
  evidence.paths.back().with = with_cache_off;
  for (PathResult& result : evidence.collectives) result.with = with_cache_off;
  evidence.collectives[2].outcome = Outcome::failed;
  evidence.collectives[2].how = "signal 11";
  EXPECT_THAT(findings(evidence),
              testing::Contains(absent("but not in MPI_Bcast",
                                       "signal 11; with UCX_MEMTYPE_CACHE=n", "--with-cuda")));
}

TEST(DoctorCollectives, ThatAreWrong) {
  Evidence evidence = with_collectives();
  evidence.collectives[1] = ends(collectives[0], Memory::device, Outcome::wrong, "byte 8");
  EXPECT_FOUND(evidence, broken("wrong values from MPI_Allreduce on GPU", "MPI_Allreduce: byte 8",
                                "to the host before"));
  evidence.collectives[3] = ends(collectives[2], Memory::device, Outcome::failed, "signal 7");
  EXPECT_FOUND(evidence, broken("from MPI_Allreduce on", "byte 8", ""),
               absent("not in MPI_Allgather", "signal 7", ""));
  evidence = with_collectives();
  evidence.collectives[0] = ends(collectives[0], Memory::host, Outcome::wrong, "byte 8");
  EXPECT_FOUND(evidence, broken("wrong values from MPI_Allreduce on host", "byte 8", "coll"));
}

TEST(DoctorCollectives, OfAnMpiThatIsNotGpuAwareAreTheSameNews) {
  Evidence evidence = with_collectives();
  aware(evidence) = ends("gpu_aware", Memory::device, Outcome::failed, "signal 11");
  const std::vector<Finding> alone = findings(evidence);
  for (PathResult& result : evidence.collectives)
    if (result.path.memory == Memory::device)
      result = ends(result.path.transport.c_str(), Memory::device, Outcome::failed, "signal 11");
  EXPECT_EQ(findings(evidence).size(), 1U);
  EXPECT_THAT(findings(evidence).front().what, HasSubstr("is not GPU-aware"));
  EXPECT_THAT(alone,
              testing::Contains(note("in MPI_Allreduce and MPI_Bcast and MPI_Allgather, but not",
                                     "every value", "")));
}

TEST(DoctorCollectives, ThatReduceANumberSlowly) {
  Evidence evidence = with_collectives();
  evidence.collectives[1].times.front().us = 90;
  EXPECT_FOUND(evidence, note("reduces a single number faster on the host",
                              "90.0 us in device memory, 1.0", "first"));
}

}  // namespace
}  // namespace halocline::test
