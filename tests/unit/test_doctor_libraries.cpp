// SPDX-License-Identifier: Apache-2.0
// What doctor makes of NCCL and its kin: files, versions, and what became of its transport.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/findings.hpp"
#include "doctor/libraries.hpp"
#include "doctor/report.hpp"
#include "report/render.hpp"
#include "support/evidence.hpp"
#include "support/findings.hpp"

namespace halocline::test {
namespace {

using namespace doctor;
using namespace doctor::made_up;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Library nccl(const char* version) {
  return {.name = "NCCL",
          .path = "/w/libnccl.so.2",
          .version = version,
          .found_by = "its Python package"};
}

/// Two GPUs, an NCCL of this version, and what became of its transport.
Evidence with_nccl(const char* version, PathResult result) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.libraries = {nccl(version)};
  evidence.paths.push_back(std::move(result));
  return evidence;
}

PathResult between_nodes(PathResult result) {
  result.path.distance = Distance::other_node;
  return result;
}

std::string text_of_diagnosis(const Evidence& evidence) {
  Diagnosis diagnosis{.evidence = evidence};
  diagnosis.found = findings(evidence);
  diagnosis.start = recommended_start(evidence, User::ordinary);
  return render_text(report_of(diagnosis, {}));
}

TEST(DoctorLibraries, NcclThatWorksIsNotWhatARunTakes) {
  const Evidence evidence = with_nccl("2.28.9", works("nccl", Memory::device, 0.5));
  EXPECT_THAT(findings(evidence), IsEmpty());
  EXPECT_EQ(taken_for(evidence, Memory::device), "peer");
  Evidence without_peer = evidence;
  without_peer.paths.erase(without_peer.paths.begin() + 3);
  EXPECT_EQ(taken_for(without_peer, Memory::device), "gpu_aware");
}

TEST(DoctorLibraries, NcclThatIsFasterIsToBeAskedFor) {
  Evidence evidence = three_nodes();
  evidence.paths.push_back(between_nodes(works("staged", Memory::device, 30)));
  evidence.paths.push_back(between_nodes(works("nccl", Memory::device, 10)));
  EXPECT_EQ(taken_for(evidence, Memory::device, Distance::other_node), "staged");
  EXPECT_FOUND(evidence,
               slow("uses staged, though nccl is faster", "nccl", "--transport other-node=nccl"));
}

TEST(DoctorLibraries, NcclThatIsMissingIsNoFinding) {
  for (const char* why : {"NCCL was not found; install it",
                          "NCCL 2.28.9 takes one rank per GPU, but ranks 0 and 1 share GPU-0"}) {
    Evidence evidence =
        with_nccl("2.28.9", ends("nccl", Memory::device, Outcome::unavailable, why));
    EXPECT_THAT(findings(evidence), IsEmpty());
    EXPECT_EQ(verdict(evidence, {}, Strictness::strict), Verdict::fine);
    EXPECT_THAT(text_of_diagnosis(evidence), AllOf(HasSubstr("all paths work"), HasSubstr(why)));
  }
}

TEST(DoctorLibraries, NcclThatFails) {
  Evidence evidence =
      with_nccl("2.28.9", ends("nccl", Memory::device, Outcome::failed, "no answer for 10 s"));
  const char* what = "NCCL 2.28.9 does not work between the GPUs of a node";
  EXPECT_FOUND(evidence, broken(what, "no answer for 10 s", "NCCL_NVLS_ENABLE=0"));
  EXPECT_EQ(verdict(evidence, findings(evidence), Strictness::lenient), Verdict::problems);
  evidence.facts.ranks.libraries = {nccl("2.30.7")};
  EXPECT_THAT(findings(evidence).at(0).fix,
              AllOf(HasSubstr("NCCL_P2P_DISABLE=1"), Not(HasSubstr("NVLS"))));
  evidence.facts.node.settings["LD_PRELOAD"] = "x.so";
  EXPECT_THAT(findings(evidence).at(0).fix, HasSubstr("x.so between program and MPI"));
  evidence.paths.back().out_of_time = true;
  evidence.paths.back().outcome = Outcome::untried;
  EXPECT_THAT(findings(evidence),
              testing::Each(testing::Field(&Finding::what, Not(HasSubstr("NCCL")))));
}

TEST(DoctorLibraries, NvshmemThatFails) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.libraries = {{.name = "NVSHMEM",
                                     .path = "/w/libnvshmem_host.so.3",
                                     .version = "3.4.5",
                                     .found_by = "the loader"}};
  evidence.paths.push_back(ends("nvshmem", Memory::device, Outcome::failed, "exit code 255"));
  EXPECT_FOUND(evidence,
               broken("NVSHMEM 3.4.5 does not work", "exit code 255", "NVSHMEM_DEBUG=WARN"));
  evidence.paths.back() =
      between_nodes(ends("nvshmem", Memory::device, Outcome::failed, "exit code 255"));
  EXPECT_THAT(findings(evidence).at(0).fix, HasSubstr("NVSHMEM_REMOTE_TRANSPORT"));
}

TEST(DoctorLibraries, NvshmemMayNotStartWhereNothingCarriesIt) {
  Evidence evidence = with_gpus();
  const Path nvshmem{"nvshmem", Memory::device};
  EXPECT_FALSE(may_not_start(evidence, nvshmem));
  evidence.facts.ranks.peer_access = {true, false, true, true};
  EXPECT_TRUE(may_not_start(evidence, nvshmem)) << "GPUs that do not reach each other";
  EXPECT_FALSE(may_not_start(evidence, {"nccl", Memory::device})) << "which has other ways";
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  EXPECT_FALSE(may_not_start(evidence, nvshmem)) << "but by the network";
  evidence = with_gpus();
  evidence.gpu_pair = proof::GpuPair::same_gpu;
  EXPECT_TRUE(may_not_start(evidence, nvshmem)) << "ranks that share a GPU";
  evidence = three_nodes();
  EXPECT_TRUE(may_not_start(evidence, nvshmem)) << "nodes without a network of its kind";
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  EXPECT_FALSE(may_not_start(evidence, nvshmem));
}

TEST(DoctorLibraries, NcclThatIsWrong) {
  EXPECT_THAT(findings(with_nccl("2.28.9", ends("nccl", Memory::device, Outcome::wrong, "byte 3"))),
              ElementsAre(broken("sends wrong bytes", "byte 3", "NCCL_DEBUG")));
  EXPECT_THAT(findings(with_nccl("2.28.9", ends("nccl", Memory::device, Outcome::out_of_order,
                                                "was sent before"))),
              ElementsAre(broken("the order of a GPU's stream", "was sent before", "NCCL_DEBUG")));
}

TEST(DoctorLibraries, NcclThatFailsBetweenNodes) {
  Evidence evidence = three_nodes();
  evidence.facts.ranks.libraries = {
      nccl("2.28.9"), {.name = nccl_plugin, .path = "/p/libnccl-net.so", .version = {}}};
  evidence.paths.push_back(
      between_nodes(ends("nccl", Memory::device, Outcome::failed, "signal 11")));
  EXPECT_FOUND(evidence,
               broken("between GPUs of different nodes", "signal 11", "NCCL_SOCKET_IFNAME"));
  EXPECT_THAT(findings(evidence).at(0).fix, HasSubstr("whether '/p/libnccl-net.so' is"));
}

TEST(DoctorLibraries, VersionsWithKnownFaults) {
  Evidence evidence = three_nodes();
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  for (const auto& [version, is_faulty] :
       {std::pair("2.29.3", false), std::pair("2.29.7", true), std::pair("2.30.4", true),
        std::pair("2.30.7", false), std::pair("2.32.3", false)}) {
    evidence.facts.ranks.libraries = {nccl(version)};
    EXPECT_EQ(findings(evidence).size(), is_faulty ? 1U : 0U) << version;
  }
  evidence.facts.ranks.libraries = {nccl("2.30.4")};
  EXPECT_FOUND(evidence,
               note("NCCL 2.30.4 may hang between nodes", "libnccl", "NCCL_PXN_DISABLE=1"));
  evidence.facts.node.settings["NCCL_PXN_DISABLE"] = "1";
  EXPECT_THAT(findings(evidence), IsEmpty());
  evidence = with_gpus();
  evidence.facts.node.adapters = {{"mlx5_0", "0-3"}};
  evidence.facts.ranks.libraries = {nccl("2.30.4")};
  EXPECT_THAT(findings(evidence), IsEmpty()) << "on one node";
}

TEST(DoctorLibraries, TwoVersionsThatMayMeet) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.libraries = {nccl("2.28.9")};
  Library& library = evidence.facts.ranks.libraries.front();
  library.others = {{"/usr/lib/libnccl.so.2", "2.28.9", "the loader"}};
  EXPECT_THAT(findings(evidence), IsEmpty()) << "of one version";
  library.others = {{"/usr/lib/libnccl.so.2", "2.27.3", "the loader"}};
  EXPECT_FOUND(evidence, note("two versions of NCCL", "2.27.3", "HALOCLINE_NCCL"));
  library.found_by = "HALOCLINE_NCCL";
  EXPECT_THAT(findings(evidence), IsEmpty()) << "chosen";
  library.found_by = "its Python package";
  evidence.gpu_pair.reset();
  EXPECT_THAT(findings(evidence), IsEmpty()) << "without GPUs";
}

TEST(DoctorLibraries, WhatCannotBeUsedIsANote) {
  Evidence evidence = with_nccl(
      "2.10.3", ends("nccl", Memory::device, Outcome::unavailable, "NCCL 2.10.3: too old"));
  evidence.facts.ranks.libraries.front().problem = "is too old: 2.12.10 is needed";
  EXPECT_FOUND(evidence, note("NCCL 2.10.3", "2.12.10 is needed", "HALOCLINE_NCCL"));
  evidence = with_gpus();
  evidence.facts.ranks.libraries = {
      {.name = nccl_plugin, .path = {}, .version = {}, .problem = "NCCL_NET_PLUGIN is 'x'"}};
  EXPECT_FOUND(evidence, note("its own network", "'x'", "NCCL_NET_PLUGIN"));
}

TEST(DoctorLibraries, CompilerThatCannotBeUsedIsANote) {
  Evidence evidence = with_gpus();
  evidence.facts.ranks.libraries = {{.name = kernel_compiler, .path = {}, .version = {}}};
  EXPECT_FOUND(evidence, note("problem files", "not found", "nvidia-cuda-nvrtc"));
  Library& library = evidence.facts.ranks.libraries.front();
  library = {.name = kernel_compiler, .path = "/w/libnvrtc.so.13", .version = "13.0"};
  library.found_by = "the CUDA toolkit";
  library.others = {{"/usr/lib/libnvrtc.so.13", "13.1", "the loader"}};
  EXPECT_THAT(findings(evidence), IsEmpty()) << "two of them do not harm each other";
  library.problem = "lacks nvrtcCompileProgram";
  EXPECT_FOUND(evidence, note("problem files", "lacks", "HALOCLINE_NVRTC"));
  evidence.gpu_pair.reset();
  EXPECT_THAT(findings(evidence), IsEmpty()) << "without GPUs";
}

TEST(DoctorLibraries, FilesThatCannotBeWrittenAreANote) {
  Evidence evidence = healthy();
  evidence.facts.ranks.libraries = {{.name = file_library, .path = {}, .version = {}}};
  EXPECT_FOUND(evidence, note(".vtkhdf", "not found", "libhdf5-103-1"));
  Library& library = evidence.facts.ranks.libraries.front();
  library = {.name = file_library, .path = "/w/libhdf5.so.103", .version = "1.10.8"};
  library.found_by = "the loader";
  EXPECT_THAT(findings(evidence), IsEmpty());
  library.problem = "is too old: 1.10.0 is needed";
  EXPECT_FOUND(evidence, note(".vtkhdf", "too old", "HALOCLINE_HDF5"));
}

TEST(DoctorLibraries, InWords) {
  Library library = nccl("2.28.9");
  library.is_off_path = true;
  EXPECT_EQ(words_for(library),
            "NCCL 2.28.9: /w/libnccl.so.2, found by its Python package, usable by other programs "
            "only with its folder in LD_LIBRARY_PATH");
  EXPECT_EQ(why_not_usable(library), "");
  library.problem = "cannot be loaded: no ELF";
  EXPECT_THAT(why_not_usable(library),
              AllOf(HasSubstr("NCCL 2.28.9 at '/w/libnccl.so.2'"), HasSubstr("no ELF"),
                    HasSubstr("nvidia-nccl"), HasSubstr("HALOCLINE_NCCL")));
  const Library missing{.name = "NCCL", .path = {}, .version = {}, .problem = "was not found"};
  EXPECT_THAT(why_not_usable(missing),
              AllOf(HasSubstr("NCCL was not found; install"), HasSubstr("HALOCLINE_NCCL")));
  EXPECT_THAT(words_for(missing),
              AllOf(HasSubstr("NCCL: not found; install"), HasSubstr("nvidia-nccl")));
  EXPECT_EQ(words_for({.name = "UCX", .path = {}, .version = {}}), "UCX: not found");
}

}  // namespace
}  // namespace halocline::test
