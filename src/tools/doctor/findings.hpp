// SPDX-License-Identifier: Apache-2.0
#pragma once
// Findings, derived from facts and path results by pure functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "probe/paths.hpp"

namespace halocline::doctor {

enum class Severity {
  broken,    ///< does not work, but should
  slow,      ///< works, but another setting would be faster
  untested,  ///< could not be determined
  absent,    ///< not available on this machine, and not expected to be
  note       ///< worth knowing
};
std::string_view name_of(Severity severity);

struct Finding {
  Severity severity = Severity::note;
  // Sentences without a full stop.
  std::string what;
  std::string seen;  ///< the observation
  std::string fix;   ///< what to set or install; may be empty

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// Everything that was gathered.
struct Evidence {
  Facts facts;
  int ranks = 2;                             ///< of the probes
  int nodes = 1;                             ///< that the ranks should be spread over
  std::vector<PathResult> paths;             ///< also those tried with other settings
  std::vector<std::string> bad_ends = {};    ///< of jobs that failed after their ranks had finished
  std::vector<PathResult> collectives = {};  ///< on GPU and on host memory
  std::optional<proof::GpuPair> gpu_pair = {};  ///< GPUs of a node's ranks; nothing without GPUs
};

/// Returns the value of a variable in ranks of the probes; empty if it is not set.
std::string setting(const Evidence& evidence, const char* name);

/// Returns the result of a path with the user's settings, or null.
const PathResult* result_of(const Evidence& evidence, const Path& path);

/// Returns the library that a path's transport loads at run time, as Library::name; null: none.
/// auto does not use such transports.
const char* library_of(const Path& path);
/// Returns what the ranks reported about a library, or null.
const Library* library_named(const Facts& facts, std::string_view name);

/// Returns whether a failed start of a path's library is expected. NVSHMEM needs a GPU for each
/// rank, and either GPUs that reach each other's memory or a network adapter.
bool may_not_start(const Evidence& evidence, const Path& path);

/// Returns whether a path is expected to work: not with memory that few GPUs read, nor over a
/// library that is missing or does not serve these ranks.
bool is_expected(const PathResult& result);

/// Applies all rules; worst findings first.
std::vector<Finding> findings(const Evidence& evidence);

/// Adds findings and keeps the order, worst first.
void add_findings(std::vector<Finding>& found, std::vector<Finding> more);

/// Returns the transport that a run with fields in such memory would use, by the measured times;
/// nothing if none works.
std::optional<std::string> taken_for(const Evidence& evidence, Memory memory,
                                     Distance distance = Distance::same_node);

/// Returns the result of gpu_aware with settings of doctor's that made it work or clearly faster,
/// or null.
const PathResult* fixed_gpu_aware(const Evidence& evidence);

/// Returns those settings.
Variables fix_settings(const Evidence& evidence);

/// Returns settings with which MPI accepts device memory: empty if it does with the user's; nothing
/// if it never did.
std::optional<Variables> settings_that_work(const Evidence& evidence);

/// The result for the exit code. problems: something is broken or slow; incomplete: a path is not
/// available, if strict.
enum class Strictness { lenient, strict };
enum class Verdict { fine, problems, untested, incomplete };
Verdict verdict(const Evidence& evidence, const std::vector<Finding>& found, Strictness strictness);

}  // namespace halocline::doctor
