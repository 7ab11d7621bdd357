// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proof/records.hpp"
#include "support/temporary_folder.hpp"
#include "text/utc.hpp"

namespace halocline::test {
namespace {

namespace fs = std::filesystem;
using proof::GpuPair;
using proof::Outcome;
using proof::Proof;
using proof::ProofsFile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Proof working{.pair = GpuPair::same_node,
                    .memory = Memory::device,
                    .outcome = Outcome::works,
                    .sizes = {8, 4096, 16777216},
                    .when = "2026-02-03T04:05:06Z",
                    .key = "0123456789abcdef",
                    .ingredients = {"MPI: Open MPI 4.1.6", "UCX_TLS=\"any\"\n"}};
const Proof failing{.pair = GpuPair::same_gpu,
                    .memory = Memory::managed,
                    .outcome = Outcome::failed,
                    .signal = 11,
                    .exit_code = 139,
                    .how = "rank 1 was ended by signal 11 (Segmentation fault)",
                    .sizes = {8},
                    .when = "2026-02-03T04:05:05Z",
                    .key = "0123456789abcdef",
                    .ingredients = {}};

Proof later(Proof proof) {
  proof.when = "2026-02-04T00:00:00Z";
  proof.outcome = Outcome::failed;
  proof.how = "since yesterday";
  return proof;
}

class ProofRecords : public testing::Test {
 protected:
  std::vector<Proof> read(const std::string& path) { return proof::read_proofs(path, notes_); }
  void keep(const std::vector<Proof>& proofs, ProofsFile::Place place = ProofsFile::Place::named) {
    proof::keep_proofs({file_, place}, proofs, notes_);
  }
  std::string note() const {
    return notes_.all().size() == 1 ? notes_.all().front()
                                    : std::to_string(notes_.all().size()) + " notes";
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_ / "proofs.json";
  Notes notes_;
};

TEST_F(ProofRecords, ComeBackAsTheyWereKept) {
  keep({working, failing});
  EXPECT_THAT(read(file_), ElementsAre(working, failing));
  EXPECT_THAT(notes_.all(), IsEmpty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1) << "nothing beside it";
}

TEST_F(ProofRecords, AreNoneWhereThereIsNoFile) {
  EXPECT_THAT(read(file_), IsEmpty());
  EXPECT_THAT(read(folder_ / "no/such/folder/file"), IsEmpty());
  EXPECT_THAT(read(folder_.put("empty", "")), IsEmpty());
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST_F(ProofRecords, AreReadByPeopleToo) {
  keep({failing});
  EXPECT_THAT(content_of(file_), HasSubstr("\"pair\": \"same-gpu\""));
  EXPECT_THAT(content_of(file_), HasSubstr("\"how\": \"rank 1 was ended"));
}

TEST_F(ProofRecords, OutliveBytesThatAreNoText) {
  Proof odd = working;
  odd.ingredients = {"UCX_TLS=\xff\xfe"};
  keep({odd});
  ASSERT_EQ(read(file_).size(), 1U);
  EXPECT_EQ(read(file_)[0].key, working.key);
}

TEST_F(ProofRecords, OfOthersStayWhenSomeAreAdded) {
  Proof other_key = working;
  other_key.key = "another";
  keep({working});
  keep({failing});
  keep({other_key});
  EXPECT_THAT(read(file_), testing::UnorderedElementsAre(working, failing, other_key));
}

TEST_F(ProofRecords, AreReplacedByLaterOnesOfTheSameThing) {
  keep({later(working), failing});
  keep({working});
  EXPECT_THAT(read(file_), ElementsAre(later(working), failing));
  EXPECT_THAT(proof::merge({working}, {later(working)}), ElementsAre(later(working)));
  EXPECT_THAT(proof::merge({later(working)}, {working, failing}),
              ElementsAre(later(working), failing));
}

TEST_F(ProofRecords, AreFoundByPairMemoryAndKey) {
  const std::vector<Proof> proofs{working, failing, later(working)};
  EXPECT_EQ(proof::find(proofs, {.pair = working.pair, .memory = working.memory}, working.key),
            later(working));
  EXPECT_EQ(proof::find(proofs, {.pair = failing.pair, .memory = failing.memory}, failing.key),
            failing);
  EXPECT_EQ(
      proof::find(proofs, {.pair = GpuPair::other_node, .memory = working.memory}, working.key),
      std::nullopt);
  EXPECT_EQ(proof::find(proofs, {.pair = working.pair, .memory = Memory::managed}, working.key),
            std::nullopt);
  EXPECT_EQ(proof::find(proofs, {.pair = working.pair, .memory = working.memory}, "another"),
            std::nullopt);
  Proof of_another_path = working;
  of_another_path.path = "nccl";
  EXPECT_EQ(
      proof::find({of_another_path}, {.pair = working.pair, .memory = working.memory}, working.key),
      std::nullopt);
}

TEST_F(ProofRecords, LoseNothingToWritersAtTheSameTime) {
  constexpr int writers = 4, each = 5;
  std::vector<std::jthread> threads;
  for (int writer = 0; writer < writers; ++writer)
    threads.emplace_back([&, writer] {
      for (int i = 0; i < each; ++i) {
        Proof mine = working;
        mine.key = std::to_string(writer) + "/" + std::to_string(i);
        Notes notes;
        proof::keep_proofs({file_, ProofsFile::Place::named}, {mine}, notes);
        EXPECT_THAT(notes.all(), IsEmpty());
      }
    });
  threads.clear();
  EXPECT_EQ(read(file_).size(), static_cast<std::size_t>(writers * each));
}

TEST_F(ProofRecords, InADamagedFileAreNoneAndOneNote) {
  keep({working, failing});
  const std::string whole = content_of(file_);
  for (const std::string& text :
       {whole.substr(0, whole.size() / 2), std::string("{}"), std::string("[1, 2]"),
        std::string("\x7f"
                    "ELF\0\0\0",
                    7),
        std::string("{\"format\": 7, \"proofs\": {}}")}) {
    notes_ = {};
    const std::string path = folder_.put("damaged", text);
    EXPECT_THAT(read(path), IsEmpty());
    EXPECT_THAT(note(), HasSubstr("'" + path + "': it is damaged, or not a file of proofs"))
        << text;
  }
}

TEST_F(ProofRecords, OfAnotherVersionAreNoneAndOneNote) {
  keep({working});
  std::string text = content_of(file_);
  text.replace(text.find("\"version\": 2"), 12, "\"version\": 1");
  EXPECT_THAT(read(folder_.put("newer", text)), IsEmpty());
  EXPECT_THAT(note(), HasSubstr("another version of Halocline"));
}

TEST_F(ProofRecords, ThatAreUnderstoodAreUsedBesideOthers) {
  keep({working, failing});
  std::string text = content_of(file_);
  text.replace(text.find("same-gpu"), 8, "same-gqu");
  EXPECT_THAT(read(folder_.put("strange", text)), ElementsAre(working));
  EXPECT_THAT(note(), HasSubstr("1 of its 2 proofs are not valid"));
}

TEST_F(ProofRecords, AreNotLookedForInFoldersAndDevices) {
  EXPECT_THAT(read(folder_.path()), IsEmpty());
  EXPECT_THAT(note(), HasSubstr("not a regular file"));
  EXPECT_THAT(read("/dev/zero"), IsEmpty());
  EXPECT_EQ(notes_.all().size(), 2U);
}

TEST_F(ProofRecords, NeverReplaceSomebodysFile) {
  folder_.put("proofs.json", "my thesis");
  keep({working});
  EXPECT_EQ(content_of(file_), "my thesis");
  EXPECT_THAT(note(), HasSubstr("was not changed"));
}

TEST_F(ProofRecords, ReplaceADamagedFileInTheCache) {
  folder_.put("proofs.json", "{\"format\": \"halo");
  keep({working}, ProofsFile::Place::cache);
  EXPECT_THAT(notes_.all(), IsEmpty());
  EXPECT_THAT(read(file_), ElementsAre(working));
}

TEST_F(ProofRecords, ThatCannotBeWrittenAreANote) {
  proof::keep_proofs({folder_ / "no/such/folder/p.json", ProofsFile::Place::named}, {working},
                     notes_);
  EXPECT_THAT(note(), HasSubstr("were not saved: cannot write"));
  EXPECT_THAT(note(), HasSubstr("no/such/folder"));
  notes_ = {};
  folder_.put("home", "a file where a folder should be");
  proof::keep_proofs({folder_ / "home/halocline/p.json", ProofsFile::Place::cache}, {working},
                     notes_);
  EXPECT_THAT(note(), HasSubstr("were not saved"));
}

TEST_F(ProofRecords, InAFolderThatCannotBeWrittenAreANote) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(folder_.path(), fs::perms(0555));
  keep({working}, ProofsFile::Place::cache);
  fs::permissions(folder_.path(), fs::perms(0755));
  EXPECT_THAT(note(), HasSubstr("were not saved"));
}

TEST_F(ProofRecords, MakeTheFolderOfTheCache) {
  const auto file = proof::proofs_file({}, {{"XDG_CACHE_HOME", folder_ / "new"}});
  ASSERT_TRUE(file);
  proof::keep_proofs(*file, {working}, notes_);
  EXPECT_THAT(read(folder_ / "new/halocline/proofs.json"), ElementsAre(working));
}

TEST_F(ProofRecords, ComeFromTheSiteToo) {
  keep({working});
  const std::string site = folder_ / "site.json";
  proof::keep_proofs({site, ProofsFile::Place::named}, {failing, later(working)}, notes_);
  const ProofsFile user{file_, ProofsFile::Place::named};
  EXPECT_THAT(proof::known_proofs(user, {{proof::site_variable, site}}, notes_),
              ElementsAre(later(working), failing));
  EXPECT_THAT(proof::known_proofs({}, {{proof::site_variable, site}}, notes_),
              ElementsAre(later(working), failing));
  EXPECT_THAT(proof::known_proofs(user, {}, notes_), ElementsAre(working));
  EXPECT_THAT(notes_.all(), IsEmpty());
}

TEST(ProofsFile, IsTheNamedOneElseInTheCache) {
  const Variables home{{"HOME", "/home/ada"}};
  const auto named = proof::proofs_file("p.json", home);
  EXPECT_EQ(named->path, "p.json");
  EXPECT_EQ(named->place, ProofsFile::Place::named);
  const auto cache = proof::proofs_file({}, home);
  EXPECT_EQ(cache->path, "/home/ada/.cache/halocline/proofs.json");
  EXPECT_EQ(cache->place, ProofsFile::Place::cache);
  EXPECT_EQ(proof::proofs_file({}, {{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "/scratch"}})->path,
            "/scratch/halocline/proofs.json");
  EXPECT_EQ(proof::proofs_file({}, {{"HOME", "/home/ada"}, {"XDG_CACHE_HOME", "relative"}})->path,
            cache->path);
  EXPECT_FALSE(proof::proofs_file({}, {}));
  EXPECT_FALSE(proof::proofs_file({}, {{"HOME", ""}}));
}

TEST(ProofNames, AreReadAsTheyAreWritten) {
  for (const GpuPair pair : proof::gpu_pairs)
    EXPECT_EQ(proof::gpu_pair_named(proof::name_of(pair)), pair);
  for (const Memory memory :
       {Memory::host, Memory::pinned, Memory::device, Memory::managed, Memory::system})
    EXPECT_EQ(memory_named(name_of(memory)), memory);
  EXPECT_FALSE(proof::gpu_pair_named("self"));
  EXPECT_FALSE(memory_named("devices"));
  EXPECT_THAT(now_in_utc(),
              testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
                                    "[0-6][0-9]Z"));
}

}  // namespace
}  // namespace halocline::test
