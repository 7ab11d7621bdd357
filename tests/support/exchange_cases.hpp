// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cases of an exchange for the number of ranks that there are.

#include <cstdint>
#include <string>
#include <vector>

#include "support/exchange_case.hpp"

namespace halocline::test {

/// Process grids of all ranks with this many axes.
std::vector<Extents> process_grids(int axes);

/// All ranks along the last of `axes` axes, with parts of at least `cells` cells.
ExchangeCase case_along_last_axis(int axes, std::int64_t cells = 3);

/// Transports, as an exchange may be asked for them, that can be tested with fields in such
/// memory.
std::vector<std::string> transports_for(Memory memory);

/// Any exchange that is allowed: the same for a number and HALOCLINE_TEST_SEED, on every rank.
ExchangeCase random_case(std::uint64_t number, Memory memory);

}  // namespace halocline::test
