// SPDX-License-Identifier: Apache-2.0
#include "cli/flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace halocline::cli {
namespace {

/// Option of the libraries, flag. scripts/check_option_names.py looks here for those that texts
/// name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 33> flags{{
    {"backend", "--backend"},
    {"baseline", "--baseline"},
    {"cells", "--cells"},
    {"cells_per_rank", "--cells-per-rank"},
    {"checkpoint", "--checkpoint"},
    {"checkpoint_every", "--checkpoint-every"},
    {"expected_halo", "--halo-depth"},
    {"graph", "--graph"},
    {"initial", "--initial"},
    {"memory", "--memory"},
    {"norm", "--norm"},
    {"norm_every", "--norm-every"},
    {"output", "--output"},
    {"output_every", "--output-every"},
    {"parameters", "--set"},
    {"precision", "--precision"},
    {"probes", "--probe"},
    {"proofs", "--proofs"},
    {"ranges", "--range"},
    {"restart", "--restart"},
    {"seed", "--seed"},
    {"series", "--series"},
    {"series_every", "--series-every"},
    {"simd", "--simd"},
    {"sums", "--sum"},
    {"sweeps", "--sweeps"},
    {"tolerance", "--tolerance"},
    {"trace", "--trace"},
    {"tuning_file", "--tune"},
    {"verify", "--verify"},
    {"verify_every", "--verify-every"},
    {"wait_limit", "--wait-limit"},
    {"writing", "--writing"},
}};

std::string_view flag_of(std::string_view option) {
  for (const auto& [name, flag] : flags)
    if (name == option) return flag;
  return {};
}

/// Takes a word in quotes off the front of a text, with what stands before it; else nothing.
std::string_view take_quoted(std::string_view& text, std::string_view before) {
  const std::size_t end = text.starts_with(before) ? text.find('\'', before.size()) : text.npos;
  if (end == text.npos) return {};
  const std::string_view word = text.substr(before.size(), end - before.size());
  text.remove_prefix(end + 1);
  return word;
}

}  // namespace

std::string with_flags(std::string_view text) {
  constexpr std::string_view opening = "option '", verb = "set ";
  std::string result;
  while (!text.empty()) {
    const std::size_t at = text.find(opening);
    result += text.substr(0, at);
    text.remove_prefix(std::min(at, text.size()));
    std::string_view rest = text;
    const std::string_view flag = flag_of(take_quoted(rest, opening));
    if (flag.empty()) {
      // Of another program, or the end.
      result += text.substr(0, opening.size());
      text.remove_prefix(std::min(opening.size(), text.size()));
      continue;
    }
    if (result.ends_with(verb)) result.replace(result.size() - verb.size(), verb.size(), "use ");
    result += flag;
    for (const std::string_view before : {" to '", " set to '"})
      if (const std::string_view value = take_quoted(rest, before); !value.empty())
        result.append(1, ' ').append(value);
    text = rest;
  }
  return result;
}

}  // namespace halocline::cli
