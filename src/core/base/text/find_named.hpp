// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selection by name.

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline {

/// Returns the element with that name. Throws usage, listing the valid names; `names` comes before
/// them.
template <class Thing, class NameOf>
const Thing& find_named(std::string_view kind, std::string_view name,
                        std::span<const Thing* const> things, NameOf name_of,
                        std::string names = "") {
  for (const Thing* thing : things) {
    if (std::invoke(name_of, *thing) == name) return *thing;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", std::invoke(name_of, *thing));
  }
  throw Error(ErrorKind::usage,
              fmt::format("there is no {} '{}'; there are: {}", kind, name, names));
}

}  // namespace halocline
