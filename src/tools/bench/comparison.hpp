// SPDX-License-Identifier: Apache-2.0
#pragma once
// The same benchmark with and without a setting, side by side.

#include <string>
#include <vector>

#include "base/record_file.hpp"
#include "report/report.hpp"

namespace halocline::bench {

/// A variable of the environment that half of the runs get, or do not get.
struct Setting {
  std::string name;
  std::string value;
  enum class Kind { set, unset } kind = Kind::set;
};

/// Reads "NAME=VALUE", or "NAME-" for a variable to be taken away. Throws usage.
Setting setting_named(const std::string& word);
/// "UCX_TLS=^cuda_ipc", "without UCX_TLS".
std::string words_for(const Setting& setting);

/// JSON reports of one benchmark: A as it is, B with the setting, in the order of the runs.
struct Runs {
  std::vector<Json> a, b;
};

/// Compares the medians of each case over runs; a case that only one side has is told, too. Of
/// `bench halo` and `bench p2p`; throws usage for another.
Report compare(const Setting& setting, const Runs& runs);

}  // namespace halocline::bench
