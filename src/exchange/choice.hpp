#pragma once
// Which transport serves which kind of pair.

#include <array>
#include <string>

#include "transport/transport.hpp"

namespace halocline::exchange {

/// One transport per kind of pair, in order of transport::pairs; null where no such pair exists.
using Choice = std::array<const transport::Transport*, 3>;

/// Which kinds of pair occur between any rank and its peers.
using PairsThere = std::array<bool, 3>;

/// Reads "auto", "NAME" or "KIND=NAME,..." (kinds not named: auto). Throws usage for unknown
/// words, unavailable if a named transport cannot serve a pair that is there. A single name
/// leaves copies inside a rank to `self`. `fields` is the memory of the fields; `excluded` is not
/// chosen by auto.
Choice choose(const std::string& wanted, const PairsThere& there, Memory fields,
              const transport::Transport* excluded = nullptr);

}  // namespace halocline::exchange
