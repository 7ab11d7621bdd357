// SPDX-License-Identifier: Apache-2.0
#include "launch/settings.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace halocline {
namespace {

using Words = std::vector<std::string>;
using Setting = std::pair<std::string, std::string>;

/// Splits "NAME=VALUE"; nothing without "=".
std::optional<Setting> setting_in(const std::string& word) {
  const std::size_t sign = word.find('=');
  if (sign == std::string::npos) return std::nullopt;
  return Setting{word.substr(0, sign), word.substr(sign + 1)};
}

template <std::size_t n>
bool is_any(const std::string& word, const std::array<std::string_view, n>& options) {
  return std::find(options.begin(), options.end(), word) != options.end();
}

/// Reads the setting that begins at `at`, if any, and advances `at` past it.
std::optional<Setting> take_open_mpi(const Words& words, std::size_t& at) {
  constexpr std::array<std::string_view, 5> with_two{"--mca", "-mca", "--gmca", "-gmca", "--omca"};
  if (is_any(words[at], with_two) && at + 2 < words.size()) {
    at += 3;
    return Setting{"OMPI_MCA_" + words[at - 2], words[at - 1]};
  }
  if (words[at] != "-x" || at + 1 == words.size()) return std::nullopt;
  // -x NAME forwards a variable that ranks of this node inherit anyway.
  auto setting = setting_in(words[at + 1]);
  if (setting) at += 2;
  return setting;
}

/// "-genv NAME VALUE", "-genv NAME=VALUE"; PALS has "--env NAME=VALUE", "--env=NAME=VALUE".
std::optional<Setting> take_hydra(const Words& words, std::size_t& at) {
  constexpr std::array<std::string_view, 4> options{"-genv", "--genv", "-env", "--env"};
  constexpr std::string_view in_one = "--env=";
  if (words[at].starts_with(in_one)) {
    auto setting = setting_in(words[at].substr(in_one.size()));
    if (setting) ++at;
    return setting;
  }
  if (!is_any(words[at], options) || at + 1 == words.size()) return std::nullopt;
  if (auto setting = setting_in(words[at + 1])) {
    at += 2;
    return setting;
  }
  if (at + 2 >= words.size()) return std::nullopt;
  at += 3;
  return Setting{words[at - 2], words[at - 1]};
}

/// Calls `on_setting` for each setting among a launcher's arguments, `on_other` for other words.
template <class OnSetting, class OnOther>
void read(const Launcher& launcher, const OnSetting& on_setting, const OnOther& on_other) {
  const Words& words = launcher.arguments;
  for (std::size_t at = 0; at < words.size();) {
    std::optional<Setting> setting;
    if (launcher.kind == LauncherKind::open_mpi) setting = take_open_mpi(words, at);
    if (launcher.kind == LauncherKind::hydra) setting = take_hydra(words, at);
    if (setting)
      on_setting(*setting);
    else
      on_other(words[at++]);
  }
}

/// "--export=ALL,NAME=VALUE", also in two words.
void read_exports(const Words& words, Variables& variables) {
  constexpr std::string_view option = "--export";
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string list;
    if (words[at] == option && at + 1 < words.size()) list = words[at + 1];
    if (words[at].starts_with("--export=")) list = words[at].substr(option.size() + 1);
    std::istringstream items(list);
    for (std::string item; std::getline(items, item, ',');)
      if (auto setting = setting_in(item)) variables[setting->first] = setting->second;
  }
}

}  // namespace

Variables variables_in_ranks(const Launcher& launcher, Variables ours) {
  read(
      launcher, [&](const Setting& setting) { ours[setting.first] = setting.second; },
      [](const std::string&) {});
  if (launcher.kind == LauncherKind::srun) read_exports(launcher.arguments, ours);
  return ours;
}

Launcher without_settings(const Launcher& launcher) {
  Launcher bare{launcher.kind, launcher.path};
  read(
      launcher, [](const Setting&) {},
      [&](const std::string& word) { bare.arguments.push_back(word); });
  return bare;
}

}  // namespace halocline
