// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs: what was shown to work between which ranks, or to fail, with which MPI and settings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/memory.hpp>

#include "base/notes.hpp"
#include "base/variables.hpp"

namespace halocline::proof {

/// How the GPUs of two ranks lie to each other.
enum class GpuPair { same_gpu, same_node, other_node };
inline constexpr GpuPair gpu_pairs[] = {GpuPair::same_gpu, GpuPair::same_node, GpuPair::other_node};
std::string_view name_of(GpuPair pair);
std::optional<GpuPair> gpu_pair_named(std::string_view name);

enum class Outcome { works, fails };
std::string_view name_of(Outcome outcome);

struct Proof {
  std::string path = "gpu_aware";
  GpuPair pair = GpuPair::same_node;
  Memory memory = Memory::device;
  Outcome outcome = Outcome::fails;
  std::string how = {};                       ///< a failure was seen, in words
  std::vector<std::int64_t> sizes = {};       ///< bytes per message that were tried
  std::string when = {};                      ///< "2026-01-31T12:00:00Z"
  std::string key = {};                       ///< see environment_key(): void under another
  std::vector<std::string> ingredients = {};  ///< what the key was made of

  friend bool operator==(const Proof&, const Proof&) = default;
};

/// Returns the proof of `gpu_aware` for such a pair and memory, under this key, if there is one.
std::optional<Proof> find(const std::vector<Proof>& proofs, GpuPair pair, Memory memory,
                          std::string_view key);

/// Joins two lists; of two proofs of the same thing the later one stays. Sorted, latest first.
std::vector<Proof> merge(const std::vector<Proof>& some, const std::vector<Proof>& more);

/// Names a file that a site installs: read in addition, never written.
inline constexpr const char* site_variable = "HALOCLINE_SITE_PROOFS";

/// Where proofs are kept.
struct ProofsFile {
  enum class Place { cache, named };
  std::string path;
  /// What is no file of proofs is replaced in our own cache, and left alone under a name that
  /// somebody gave.
  Place place = Place::cache;
};

/// Returns the file that the user named, else the one in the user's cache ($XDG_CACHE_HOME, else
/// ~/.cache); nothing if there is no home.
std::optional<ProofsFile> proofs_file(const std::optional<std::string>& named,
                                      const Variables& variables);

/// Reads a file; none if there is no such file. What cannot be read or understood is told in one
/// note and counts as empty.
std::vector<Proof> read_proofs(const std::string& path, Notes& notes);

/// Reads the user's file and the site's.
std::vector<Proof> known_proofs(const std::optional<ProofsFile>& file, const Variables& variables,
                                Notes& notes);

/// Adds proofs to a file, which others may do at the same time, and makes the cache's folder if
/// need be. A file that cannot be written is told in one note.
void keep_proofs(const ProofsFile& file, const std::vector<Proof>& proofs, Notes& notes);

}  // namespace halocline::proof
