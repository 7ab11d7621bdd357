// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files that a run will write, checked before it starts: what can be wrong with them must not
// be found out when the results are there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// The numbers of files that a run writes one after the other, under one name each.
struct Numbers {
  std::int64_t last = 0;    ///< none is larger; the first is 0
  std::int64_t fewest = 1;  ///< files, as far as is known
};

/// Returns the name of one of them: "u-000100.npy" for "u.npy", with more digits where it needs
/// them.
std::string numbered(const std::string& path, std::int64_t number);

/// A file, or numbered ones, to be written in a run.
struct ResultFile {
  std::string option;  ///< that names it, for errors: "option 'output'"
  std::string path;
  std::int64_t bytes = 0;  ///< a lower bound for each file, as far as is known
  std::optional<Numbers> numbers = {};
};

/// A file that a run reads, or writes on its way.
struct UsedFile {
  std::string option;
  std::string path;
  std::string replaced_by = {};  ///< the option whose result may replace it
};

struct RunFiles {
  std::vector<ResultFile> results;
  std::vector<UsedFile> used;

  /// Adds a file if there is one.
  void add_result(const std::string& option, const std::optional<std::string>& path,
                  std::int64_t bytes = 0, const std::optional<Numbers>& numbers = {});
  void add_used(const std::string& option, const std::optional<std::string>& path,
                const std::string& replaced_by = {});
};

/// Throws usage, with both options, if two of the results are one file, whatever its names, or a
/// result is a file that the run uses; usage for a folder or file that must not be written;
/// resource if the disk or a limit leaves less room than the bytes of a result. Any number up to
/// the last counts as written. Opens no pipe or device.
void check(const RunFiles& files);

}  // namespace halocline
