// SPDX-License-Identifier: Apache-2.0
#include "proof/records.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/files/record_file.hpp"

namespace halocline::proof {
namespace {

namespace fs = std::filesystem;
constexpr RecordFormat format{.format = "halocline proofs", .version = 2, .list = "proofs"};
// Enough for every pair and memory under dozens of settings; the oldest are dropped.
constexpr std::size_t most_kept = 512;

Json to_json(const Proof& proof) {
  Json json{{"path", proof.path},
            {"pair", name_of(proof.pair)},
            {"memory", name_of(proof.memory)},
            {"outcome", name_of(proof.outcome)}};
  if (proof.outcome != Outcome::works) {
    json["signal"] = proof.signal;
    json["exit_code"] = proof.exit_code;
    json["how"] = proof.how;
  }
  json["sizes"] = proof.sizes;
  json["when"] = proof.when;
  json["key"] = proof.key;
  json["ingredients"] = proof.ingredients;
  return json;
}

template <class T>
T known(std::optional<T> value) {
  if (!value) throw std::invalid_argument("an unknown word");
  return *value;
}

/// Throws for anything that to_json() does not write.
Proof from_json(const Json& json) {
  Proof proof;
  proof.path = json.at("path").get<std::string>();
  proof.pair = known(gpu_pair_named(json.at("pair").get<std::string>()));
  proof.memory = known(memory_named(json.at("memory").get<std::string>()));
  proof.outcome = known(outcome_named(json.at("outcome").get<std::string>()));
  if (proof.outcome != Outcome::works) {
    if (!is_failure(proof.outcome)) throw std::invalid_argument("proves nothing");
    proof.signal = json.at("signal").get<int>();
    proof.exit_code = json.at("exit_code").get<int>();
    proof.how = json.at("how").get<std::string>();
  }
  proof.sizes = json.at("sizes").get<std::vector<std::int64_t>>();
  proof.when = json.at("when").get<std::string>();
  proof.key = json.at("key").get<std::string>();
  proof.ingredients = json.at("ingredients").get<std::vector<std::string>>();
  return proof;
}

bool are_of_the_same(const Proof& a, const Proof& b) {
  return a.path == b.path && a.pair == b.pair && a.memory == b.memory && a.key == b.key;
}

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

constexpr std::string_view names_of_outcomes[] = {"works",  "wrong",       "out of order",
                                                  "failed", "unavailable", "untried"};

std::string_view name_of(Outcome outcome) {
  return names_of_outcomes[static_cast<std::size_t>(outcome)];
}

std::optional<Outcome> outcome_named(std::string_view name) {
  const auto* at = std::find(std::begin(names_of_outcomes), std::end(names_of_outcomes), name);
  if (at == std::end(names_of_outcomes)) return std::nullopt;
  return static_cast<Outcome>(at - std::begin(names_of_outcomes));
}

bool is_failure(Outcome outcome) {
  return outcome == Outcome::wrong || outcome == Outcome::out_of_order ||
         outcome == Outcome::failed;
}

std::optional<Proof> find(const std::vector<Proof>& proofs, const ProofCase& wanted,
                          std::string_view key) {
  const Proof like{
      .path = wanted.path, .pair = wanted.pair, .memory = wanted.memory, .key = std::string(key)};
  std::optional<Proof> found;
  for (const Proof& proof : proofs)
    if (are_of_the_same(proof, like) && (!found || found->when < proof.when)) found = proof;
  return found;
}

std::vector<Proof> merge(const std::vector<Proof>& some, const std::vector<Proof>& more) {
  std::vector<Proof> all(some);
  all.insert(all.end(), more.begin(), more.end());
  // Times in one format and one time zone sort like texts.
  std::stable_sort(all.begin(), all.end(),
                   [](const Proof& a, const Proof& b) { return a.when > b.when; });
  std::vector<Proof> merged;
  for (const Proof& proof : all)
    if (std::none_of(merged.begin(), merged.end(),
                     [&](const Proof& kept) { return are_of_the_same(kept, proof); }))
      merged.push_back(proof);
  return merged;
}

std::optional<ProofsFile> proofs_file(const std::optional<std::string>& named,
                                      const Variables& variables) {
  if (named) return ProofsFile{*named, ProofsFile::Place::named};
  const auto folder = [&](const char* name) {
    const auto found = variables.find(name);
    // XDG base directory specification: relative paths must be ignored.
    return found == variables.end() || !found->second.starts_with('/') ? "" : found->second;
  };
  std::string cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") + "/.cache";
  if (cache.empty()) return std::nullopt;
  return ProofsFile{cache + "/halocline/proofs.json", ProofsFile::Place::cache};
}

std::vector<Proof> read_proofs(const std::string& path, Notes& notes) {
  RecordFile file = read_records(path, format);
  std::vector<Proof> proofs = understood(file, format, from_json);
  if (!file.wrong.empty())
    notes.add(
        fmt::format("proofs in '{}': {}; remove the file, or name another", path, file.wrong));
  return proofs;
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
    change_records(file.path, format,
                   file.place == ProofsFile::Place::cache ? OtherFile::replace : OtherFile::keep,
                   [&](RecordFile there) {
                     std::vector<Proof> all = merge(proofs, understood(there, format, from_json));
                     if (all.size() > most_kept) all.resize(most_kept);
                     std::vector<Json> records;
                     for (const Proof& proof : all) records.push_back(to_json(proof));
                     return records;
                   });
  } catch (const std::exception& error) {  // Error, or an error of the file system
    notes.add(fmt::format("the proofs were not saved: {} (option 'proofs' sets another file)",
                          error.what()));
  }
}

}  // namespace halocline::proof
