#include "proof/records.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>

#include <halocline/error.hpp>

#include "base/temporary_file.hpp"

namespace halocline::proof {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr auto format_name = "halocline proofs";
constexpr int format_version = 1;
// Enough for every pair and memory under dozens of settings; the oldest go.
constexpr std::size_t most_kept = 512;
constexpr std::uintmax_t largest_file = std::uintmax_t{16} << 20;

Json to_json(const Proof& proof) {
  Json json{{"path", proof.path},
            {"pair", name_of(proof.pair)},
            {"memory", name_of(proof.memory)},
            {"outcome", name_of(proof.outcome)}};
  if (proof.outcome == Outcome::fails) json["how"] = proof.how;
  json["sizes"] = proof.sizes;
  json["when"] = proof.when;
  json["key"] = proof.key;
  json["ingredients"] = proof.ingredients;
  return json;
}

template <class T>
T known(std::optional<T> value) {
  if (!value) throw std::invalid_argument("a word that is not known");
  return *value;
}

std::optional<Outcome> outcome_named(std::string_view name) {
  for (const Outcome outcome : {Outcome::works, Outcome::fails})
    if (name_of(outcome) == name) return outcome;
  return std::nullopt;
}

/// Throws for anything that to_json() does not write.
Proof from_json(const Json& json) {
  Proof proof;
  proof.path = json.at("path").get<std::string>();
  proof.pair = known(gpu_pair_named(json.at("pair").get<std::string>()));
  proof.memory = known(memory_named(json.at("memory").get<std::string>()));
  proof.outcome = known(outcome_named(json.at("outcome").get<std::string>()));
  if (proof.outcome == Outcome::fails) proof.how = json.at("how").get<std::string>();
  proof.sizes = json.at("sizes").get<std::vector<std::int64_t>>();
  proof.when = json.at("when").get<std::string>();
  proof.key = json.at("key").get<std::string>();
  proof.ingredients = json.at("ingredients").get<std::vector<std::string>>();
  return proof;
}

bool are_of_the_same(const Proof& a, const Proof& b) {
  return a.path == b.path && a.pair == b.pair && a.memory == b.memory && a.key == b.key;
}

struct Content {
  std::vector<Proof> proofs;
  std::string wrong;      ///< in words; empty if all was understood
  bool is_other = false;  ///< it is no file of proofs
};

Content other_file(std::string wrong) { return {{}, std::move(wrong), true}; }

Content parse(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("format") ||
      json["format"] != format_name || !json.contains("proofs") || !json["proofs"].is_array())
    return other_file("it is damaged, or no file of proofs");
  if (!json.contains("version") || json["version"] != format_version)
    return other_file("another version of Halocline wrote it");
  Content content;
  std::size_t strange = 0;
  for (const Json& entry : json["proofs"]) {
    try {
      content.proofs.push_back(from_json(entry));
    } catch (const std::exception&) {
      ++strange;
    }
  }
  if (strange > 0)
    content.wrong =
        fmt::format("{} of its {} proofs are not understood", strange, json["proofs"].size());
  return content;
}

Content read(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {};
  if (error) return other_file(error.message());
  if (!fs::is_regular_file(status)) return other_file("it is no regular file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > largest_file) return other_file("it is too large for a file of proofs");
  std::ifstream file(path, std::ios::binary);
  if (!file) return other_file(std::generic_category().message(errno));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return other_file("reading it failed");
  if (text.empty()) return {};
  return parse(text);
}

std::string text_of(const std::vector<Proof>& proofs) {
  Json list = Json::array();
  for (const Proof& proof : proofs) list.push_back(to_json(proof));
  const Json all{{"format", format_name}, {"version", format_version}, {"proofs", list}};
  // A variable's value may hold bytes that are no UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Locks a folder, so that no file is left behind, against other writers; for a while at most, and
/// where the file system can: without the lock the last of them wins, and its file is whole.
class Lock {
 public:
  explicit Lock(const fs::path& folder)
      : descriptor_(
            ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 &&
           (errno == EWOULDBLOCK || errno == EINTR) && std::chrono::steady_clock::now() < enough)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

std::string_view name_of(GpuPair pair) {
  return pair == GpuPair::same_gpu    ? "same-gpu"
         : pair == GpuPair::same_node ? "same-node"
                                      : "other-node";
}

std::optional<GpuPair> gpu_pair_named(std::string_view name) {
  for (const GpuPair pair : gpu_pairs)
    if (name_of(pair) == name) return pair;
  return std::nullopt;
}

std::string_view name_of(Outcome outcome) { return outcome == Outcome::works ? "works" : "fails"; }

std::optional<Proof> find(const std::vector<Proof>& proofs, GpuPair pair, Memory memory,
                          std::string_view key) {
  const Proof wanted{.pair = pair, .memory = memory, .key = std::string(key)};
  std::optional<Proof> found;
  for (const Proof& proof : proofs)
    if (are_of_the_same(proof, wanted) && (!found || found->when < proof.when)) found = proof;
  return found;
}

std::vector<Proof> merge(const std::vector<Proof>& some, const std::vector<Proof>& more) {
  std::vector<Proof> all(some);
  all.insert(all.end(), more.begin(), more.end());
  // Times of one form and one zone are in order as texts are.
  std::stable_sort(all.begin(), all.end(),
                   [](const Proof& a, const Proof& b) { return a.when > b.when; });
  std::vector<Proof> merged;
  for (const Proof& proof : all)
    if (std::none_of(merged.begin(), merged.end(),
                     [&](const Proof& kept) { return are_of_the_same(kept, proof); }))
      merged.push_back(proof);
  return merged;
}

std::string now_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::optional<ProofsFile> proofs_file(const std::optional<std::string>& named,
                                      const Variables& variables) {
  if (named) return ProofsFile{*named, ProofsFile::Place::named};
  const auto folder = [&](const char* name) {
    const auto found = variables.find(name);
    // The XDG base directory specification: a relative path is to be ignored.
    return found == variables.end() || !found->second.starts_with('/') ? "" : found->second;
  };
  std::string cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") + "/.cache";
  if (cache.empty()) return std::nullopt;
  return ProofsFile{cache + "/halocline/proofs.json", ProofsFile::Place::cache};
}

std::vector<Proof> read_proofs(const std::string& path, Notes& notes) {
  Content content = read(path);
  if (!content.wrong.empty())
    notes.add(
        fmt::format("proofs in '{}': {}; remove the file, or name another", path, content.wrong));
  return std::move(content.proofs);
}

std::vector<Proof> known_proofs(const std::optional<ProofsFile>& file, const Variables& variables,
                                Notes& notes) {
  std::vector<Proof> proofs;
  if (file) proofs = read_proofs(file->path, notes);
  const auto site = variables.find(site_variable);
  if (site == variables.end() || site->second.empty()) return proofs;
  return merge(proofs, read_proofs(site->second, notes));
}

void keep_proofs(const ProofsFile& file, const std::vector<Proof>& proofs, Notes& notes) {
  try {
    if (file.place == ProofsFile::Place::cache)
      fs::create_directories(fs::path(file.path).parent_path());
    const Lock lock(fs::path(file.path).parent_path());
    const Content there = read(file.path);
    if (there.is_other && file.place == ProofsFile::Place::named)
      throw Error(ErrorKind::usage,
                  fmt::format("'{}' is left as it is: {}", file.path, there.wrong));
    std::vector<Proof> all = merge(proofs, there.proofs);
    if (all.size() > most_kept) all.resize(most_kept);
    write_text_file(file.path, text_of(all));
  } catch (const std::exception& error) {  // of Error, of the file system
    notes.add(
        fmt::format("what was shown of gpu_aware is not kept: {} (--proofs FILE names a "
                    "place for it)",
                    error.what()));
  }
}

}  // namespace halocline::proof
