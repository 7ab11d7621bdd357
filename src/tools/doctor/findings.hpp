// SPDX-License-Identifier: Apache-2.0
#pragma once
// From facts and what became of paths to sentences: pure functions.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/facts.hpp"
#include "probe/paths.hpp"

namespace halocline::doctor {

enum class Severity {
  broken,    ///< something does not work, and should
  slow,      ///< it works, and another setting would be faster
  untested,  ///< doctor could not find out
  absent,    ///< not available on this machine, and not expected to be
  note       ///< worth knowing
};
std::string_view name_of(Severity severity);

struct Finding {
  Severity severity = Severity::note;
  std::string what;  ///< a sentence without its full stop, as the others
  std::string seen;  ///< how it was seen
  std::string fix;   ///< what to set or install; may be empty

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// All that was gathered.
struct Evidence {
  Facts facts;
  int ranks = 2;                                ///< of the probes
  int nodes = 1;                                ///< that they were to be spread over
  std::vector<PathResult> paths;                ///< also those tried with other settings
  std::vector<std::string> bad_ends = {};       ///< of jobs whose ranks had said all they had to
  std::vector<PathResult> collectives = {};     ///< on a GPU's memory, and one on the host's
  std::optional<proof::GpuPair> gpu_pair = {};  ///< GPUs of a node's ranks; nothing without GPUs
};

/// What a variable is set to in ranks of the probes; empty if it is not.
std::string setting(const Evidence& evidence, const char* name);

/// The result of a path with the user's settings, or nothing.
const PathResult* result_of(const Evidence& evidence, const Path& path);

/// The library that a path's transport loads when a program runs, as Library::name; null: none.
/// Such transports have to be asked for: auto does not take them.
const char* library_of(const Path& path);
/// What the ranks found of a library; null: they did not say.
const Library* library_named(const Facts& facts, std::string_view name);

/// Whether it is no fault that a path's library does not start. NVSHMEM wants a GPU for each rank,
/// and GPUs that reach each other's memory or an adapter of a network.
bool may_not_start(const Evidence& evidence, const Path& path);

/// Whether a result counts where all paths should work: not of memory that few GPUs read, nor of a
/// library that is not there or does not serve these ranks.
bool is_expected(const PathResult& result);

/// What is to be told, worst first.
std::vector<Finding> findings(const Evidence& evidence);

/// Adds more of them, worst first again.
void add_findings(std::vector<Finding>& found, std::vector<Finding> more);

/// The transport that a run with fields in such memory would take so far, going by what was
/// measured; nothing if none works.
std::optional<std::string> taken_for(const Evidence& evidence, Memory memory,
                                     Distance distance = Distance::same_node);

/// The result of gpu_aware with settings of doctor's own that made it work, or clearly faster; or
/// null.
const PathResult* fixed_gpu_aware(const Evidence& evidence);

/// Those settings.
Variables fix_settings(const Evidence& evidence);

/// Settings under which MPI takes device memory: none but the user's if these do; nothing if it was
/// not seen to take it.
std::optional<Variables> settings_that_work(const Evidence& evidence);

/// Exit codes: broken or slow; not all was tested; a path that is not available, where that counts.
enum class Strictness { lenient, strict };
enum class Verdict { fine, problems, untested, incomplete };
Verdict verdict(const Evidence& evidence, const std::vector<Finding>& found, Strictness strictness);

}  // namespace halocline::doctor
