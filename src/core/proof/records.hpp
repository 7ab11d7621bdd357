// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proofs: results of tests between kinds of ranks, with an MPI and its settings.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/memory.hpp>

#include "base/process/variables.hpp"
#include "base/text/notes.hpp"

namespace halocline::proof {

/// Where the GPUs of two ranks are relative to each other.
enum class GpuPair { same_gpu, same_node, other_node };
inline constexpr GpuPair gpu_pairs[] = {GpuPair::same_gpu, GpuPair::same_node, GpuPair::other_node};
std::string_view name_of(GpuPair pair);
std::optional<GpuPair> gpu_pair_named(std::string_view name);

/// The outcome of a test.
enum class Outcome {
  works,         ///< every byte of every size arrived
  wrong,         ///< some byte did not
  out_of_order,  ///< some byte did before or after its turn in the stream
  failed,        ///< crashed, hung, or an error of MPI
  unavailable,   ///< not available here, for a reason that is no fault
  untried        ///< the job did not get so far
};
std::string_view name_of(Outcome outcome);
std::optional<Outcome> outcome_named(std::string_view name);
/// True for wrong, out_of_order and failed.
bool is_failure(Outcome outcome);

struct Proof {
  std::string path = "gpu_aware";  ///< the name of a transport
  GpuPair pair = GpuPair::same_node;
  Memory memory = Memory::device;
  Outcome outcome = Outcome::failed;  ///< works or a failure
  int signal = 0;                     ///< that ended a rank; 0 if none did
  int exit_code = 0;                  ///< of the ranks, where no signal is known
  std::string how = {};               ///< how it failed, for people
  std::vector<std::int64_t> sizes =
      {};                 ///< tested sizes of messages, in bytes; it failed at the last
  std::string when = {};  ///< "2026-01-31T12:00:00Z"
  std::string key = {};   ///< see environment_key(); the proof is valid only under this key
  std::vector<std::string> ingredients = {};  ///< the ingredients of the key

  friend bool operator==(const Proof&, const Proof&) = default;
};

/// The case that a proof covers.
struct ProofCase {
  std::string path = "gpu_aware";
  GpuPair pair = GpuPair::same_node;
  Memory memory = Memory::device;
};

/// Returns the latest proof of such a case under this key, if there is one.
std::optional<Proof> find(const std::vector<Proof>& proofs, const ProofCase& wanted,
                          std::string_view key);

/// Merges two lists; of two proofs for the same case the later one stays. Sorted, latest first.
std::vector<Proof> merge(const std::vector<Proof>& some, const std::vector<Proof>& more);

/// The variable with the path of a site's file: read in addition, never written.
inline constexpr const char* site_variable = "HALOCLINE_SITE_PROOFS";

/// A file of proofs.
struct ProofsFile {
  enum class Place { cache, named };
  std::string path;
  /// Another kind of file is replaced in our own cache, but not if the user named it.
  Place place = Place::cache;
};

/// Returns the file that the user named, else the one in the user's cache ($XDG_CACHE_HOME, else
/// ~/.cache); nothing without a home folder.
std::optional<ProofsFile> proofs_file(const std::optional<std::string>& named,
                                      const Variables& variables);

/// Reads a file; returns no proofs if it does not exist. A file that cannot be read or parsed
/// causes one note and counts as empty.
std::vector<Proof> read_proofs(const std::string& path, Notes& notes);

/// Reads the user's file and the site's.
std::vector<Proof> known_proofs(const std::optional<ProofsFile>& file, const Variables& variables,
                                Notes& notes);

/// Adds proofs to a file, while other processes may do the same; creates the cache's folder if
/// needed. A file that cannot be written causes one note.
void keep_proofs(const ProofsFile& file, const std::vector<Proof>& proofs, Notes& notes);

}  // namespace halocline::proof
