// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compiled kernels that are kept for later runs, in a folder of the user's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/process/variables.hpp"

namespace halocline::compiler {

/// Returns 32 digits that differ for texts that do, but by design.
std::string content_hash(std::string_view text);

/// Returns the folder that kept kernels are in: that of HALOCLINE_KERNELS, else `kernels` in the
/// user's cache; nothing where that is "off" or there is no such cache.
std::optional<std::string> folder_of_kept_code(const Variables& variables);

/// A folder of kept kernels. It is used only while it belongs to this user alone (mode 0700) and is
/// no link. Nothing that goes wrong with it matters to a run: what cannot be read is compiled
/// again, what cannot be written is not kept. Several processes may use it at the same time.
class KeptCode {
 public:
  /// Beyond `most_bytes`, the files that were not used for longest are removed.
  explicit KeptCode(std::string folder, std::int64_t most_bytes = std::int64_t{256} << 20)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  /// Returns what was kept under this key, if it is whole.
  std::optional<std::string> find(const std::string& key) const noexcept;
  /// Keeps it, instead of what was kept before under this key.
  void keep(const std::string& key, const std::string& content) const noexcept;

 private:
  std::string folder_;
  std::int64_t most_bytes_;
};

}  // namespace halocline::compiler
