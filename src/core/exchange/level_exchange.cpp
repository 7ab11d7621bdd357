// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"

namespace halocline {
namespace {

/// Throws usage without levels.
const FieldList& first_of(const Communicator& communicator, const std::vector<FieldList>& levels) {
  comm::require_same(communicator, "exchange plans", {counted(levels.size(), "level")});
  comm::together(communicator, [&] {
    if (levels.empty()) throw Error(ErrorKind::usage, "an exchange needs at least one level");
  });
  return levels[0];
}

}  // namespace

LevelExchange::LevelExchange(const Communicator& communicator, const Grid& grid,
                             const std::vector<FieldList>& levels, const ExchangeOptions& options)
    : plan_(communicator, grid, first_of(communicator, levels), options) {
  comm::together(communicator, [&] {
    for (std::size_t level = 0; level < levels.size(); ++level)
      first_owned_.push_back(plan_.add(levels[level], fmt::format(" of level {}", level)));
  });
}

const std::vector<void*>& LevelExchange::arrays_of(std::int64_t level) const {
  if (level < 0 || level >= levels())
    throw Error(ErrorKind::usage,
                fmt::format("level {} does not exist; use 0 to {}", level, levels() - 1));
  return first_owned_[static_cast<std::size_t>(level)];
}

void LevelExchange::start(std::int64_t level, Stream stream) {
  plan_.start_at(arrays_of(level), stream);
}
void LevelExchange::run(std::int64_t level, Stream stream) {
  plan_.run_at(arrays_of(level), stream);
}

}  // namespace halocline
