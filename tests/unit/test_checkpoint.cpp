// SPDX-License-Identifier: Apache-2.0
// Heads of checkpoints whose hash is right and whose content is not: refused with words, never a
// crash, nor memory beyond what the file has.

#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hash.hpp"
#include "problem/catalogue.hpp"
#include "solver/case.hpp"
#include "solver/run_files/restart.hpp"
#include "support/caught.hpp"
#include "support/temporary_folder.hpp"
#include "unit/mutations.hpp"

namespace halocline::solver {
namespace {

using test::Caught;
using test::caught;
using test::says;

std::uint64_t hash_of_text(const std::string& text) {
  return hash_of(reinterpret_cast<const std::byte*>(text.data()), std::ssize(text), 1);
}

/// A checkpoint after 3 sweeps whose fields have no values yet: no reader of a head misses them.
class HostileCheckpoint : public testing::Test {
 protected:
  HostileCheckpoint() {
    const Problem laplace("laplace");
    const std::string text = problem::find_problem(laplace).text;
    run_ = {{"problem", "laplace"},
            {"sweeps_done", 3},
            {"time", 0},
            {"precision", "f64"},
            {"parameters", Json::array()},
            {"seed", 5},
            {"other_starts", Json::array()},
            {"norm", "max"},
            {"norm_every", 2},
            {"tolerance", 0.01},
            {"least_norm", 0},
            {"sweeps", 9},
            {"sums", Json::array()},
            {"probes", Json::array()},
            {"series_every", 1},
            {"checkpoint_every", Json::array()}};
    texts_ = {{"problem", text}, {"norms", ""}, {"series", ""}};
  }

  Json head() const {
    std::int64_t at = 4096;
    files::CheckpointHead head{
        .run = run_, .cells = {10, 8}, .element_bytes = 8, .fields = {}, .texts = {}};
    for (const auto& [name, bytes] : texts_) {
      head.texts.push_back({name, at, std::ssize(bytes), hash_of_text(bytes)});
      at += std::ssize(bytes);
    }
    head.fields = {{"u", at, 10 * 8 * 8, 0}};
    head.end = at + 10 * 8 * 8;
    return parse_json(files::text_of(head));
  }

  std::string put(const std::string& head) const {
    std::string bytes = files::begin_of_file(head);
    bytes.resize(std::max<std::size_t>(bytes.size(), 4096));
    for (const files::CheckpointText& text : texts_) bytes += text.bytes;
    bytes.resize(bytes.size() + 10 * 8 * 8);
    return folder_.put("c.vtkhdf", bytes);
  }

  /// What a run of it is, or why there is none.
  Caught use(const std::string& head) const {
    SolveOptions options;
    options.restart = put(head);
    return caught([&] { make_case(options, 2); });
  }

  void expect_damaged(const Json& head, const std::string& what) const {
    const Caught error = use(head.dump());
    EXPECT_THAT(error, says(ErrorKind::usage, "c.vtkhdf")) << what;
  }

  test::TemporaryFolder folder_;
  Json run_;
  std::vector<files::CheckpointText> texts_;
};

TEST_F(HostileCheckpoint, IsOneAsItStands) {
  const Caught error = use(head().dump());
  EXPECT_FALSE(error.kind) << error.text;
}

/// Whatever would make sense there.
TEST_F(HostileCheckpoint, IsNotAsItWasWrittenInOneBit) {
  const std::string path = put(head().dump());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::string bytes(4096, ' ');
  file.read(bytes.data(), std::ssize(bytes));
  const auto at = static_cast<std::streamoff>(bytes.find("\"seed\":5") + 7);
  file.seekp(at).put('4');
  file.close();
  SolveOptions options;
  options.restart = path;
  EXPECT_THAT(caught([&] { make_case(options, 2); }),
              says(ErrorKind::usage, "its head is not as it was written"));
}

TEST_F(HostileCheckpoint, HasPartsThatCannotBe) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::pair<const char*, std::vector<Json>>> changes{
      {"/cells", {{0, 8}, {-10, 8}, {10}, {10, 8, 1, 1}, {most, most}, {"ten", 8}, nullptr}},
      {"/element_bytes", {0, -8, 4, 16, "8"}},
      {"/end", {0, -1, most, 1e300}},
      {"/fields/0/offset", {-1, 0, 64, most, most - 5}},
      {"/fields/0/bytes", {-1, 0, 639, most}},
      {"/fields/0/hash", {"", "xyz", 5, "0123456789abcdef0"}},
      {"/texts/0/offset", {-1, 0, most, most - 100}},
      {"/texts/0/bytes", {-1, 1, most, most - 4096}},
      {"/texts/0/name", {"norms", "", nullptr}},
      {"/texts", {Json::array(), Json::object(), 3}},
      {"/run", {nullptr, 3, Json::array()}}};
  for (const auto& [place, values] : changes)
    for (const Json& value : values) {
      Json changed = head();
      changed[Json::json_pointer(place)] = value;
      expect_damaged(changed, place + (" = " + value.dump()));
    }
}

TEST_F(HostileCheckpoint, IsOfARunThatCannotBe) {
  const std::vector<std::pair<const char*, std::vector<Json>>> changes{
      {"sweeps_done", {-1, "3", nullptr, 10}},
      {"precision", {"f16", 64}},
      {"norm", {"mean", nullptr}},
      {"norm_every", {0, -2, "1"}},
      {"sums", {3, {3}}},
      {"probes", {{3}, {{{"field", "u"}}}}},
      {"parameters", {{3}, {{"a"}}}},
      {"other_starts", {3}},
      {"problem", {3}},
      {"tolerance", {"small"}},
      {"seed", {"five"}}};
  for (const auto& [key, values] : changes)
    for (const Json& value : values) {
      Json changed = head();
      changed["run"][key] = value;
      const Caught error = use(changed.dump());
      EXPECT_EQ(error.kind, ErrorKind::usage) << key << " = " << value << ": " << error.text;
    }
  for (const auto& [key, value] : run_.items()) {
    Json changed = head();
    changed["run"].erase(key);
    // What the file says of time is for people, and there is no series.
    if (key != "time" && key != "series_every") expect_damaged(changed, "without " + key);
  }
}

TEST_F(HostileCheckpoint, HasTextsThatCannotBe) {
  const auto number = [](std::int64_t value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::vector<std::pair<std::size_t, std::string>> changes{
      {1, "x"},
      {1, std::string(17, '\1')},
      {2, "row"},
      {2, number(1) + number(-1)},
      {2, number(1) + number(std::numeric_limits<std::int64_t>::max())},
      {2, number(1) + number(2) + number(0)}};
  for (const auto& [text, bytes] : changes) {
    const std::string before = std::exchange(texts_[text].bytes, bytes);
    expect_damaged(head(), texts_[text].name);
    texts_[text].bytes = before;
  }
  texts_[0].bytes = "no problem";
  EXPECT_EQ(use(head().dump()).kind, ErrorKind::usage);
}

TEST_F(HostileCheckpoint, MayHaveAnythingInItsHead) {
  test::Mutations mutations(11, {head().dump(1), head().dump()});
  int refused = 0;
  constexpr int tries = 3000;
  for (int i = 0; i < tries; ++i) {
    const std::string text = mutations.next();
    const Caught error = use(text);
    if (!error.kind) continue;
    ++refused;
    EXPECT_EQ(error.kind, ErrorKind::usage) << error.text << "\n" << text;
  }
  EXPECT_GT(refused, tries / 2);
}

TEST(CheckpointNames, AreOfWholeNumbersAlone) {
  const test::TemporaryFolder folder;
  for (const char* name :
       {"sweep-000000000010.vtkhdf", "sweep-5.vtkhdf", "sweep-.vtkhdf", "sweep-1x.vtkhdf",
        "sweep-1.vtkhdf.npz", "sweep-99999999999999999999.vtkhdf", ".halocline-1.tmp", "stop"})
    folder.put(name, "");
  const auto all = checkpoints_in(folder.path());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].sweeps, 10);
  EXPECT_EQ(all[1].sweeps, 5);
  EXPECT_TRUE(checkpoints_in(folder / "none").empty());
}

}  // namespace
}  // namespace halocline::solver
