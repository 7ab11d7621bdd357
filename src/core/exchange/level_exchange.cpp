// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "exchange/messages.hpp"

namespace halocline {
namespace {

[[noreturn]] void refuse_levels(const std::string& text) {
  throw Error(ErrorKind::usage,
              text + "; all levels of an exchange need fields of the same shapes");
}

void require_same_shape(const FieldStorage& first, const FieldStorage& other, std::size_t level,
                        std::size_t index) {
  const FieldShape &a = first.shape(), &b = other.shape();
  const auto differ = [&](const char* in) {
    refuse_levels(fmt::format("field {} of level {} and field {} of level 0 differ in {}",
                              exchange::title_of(other, index), level,
                              exchange::title_of(first, index), in));
  };
  if (a.memory != b.memory) differ("memory");
  if (a.element_bytes != b.element_bytes || a.components != b.components)
    differ("the bytes of a cell");
  if (!(a.halo == b.halo)) differ("halo");
}

/// Throws usage for errors that one rank can detect alone; the plan of each level checks the rest.
void check_levels(const std::vector<FieldList>& levels) {
  if (levels.empty()) throw Error(ErrorKind::usage, "an exchange needs at least one level");
  for (std::size_t level = 1; level < levels.size(); ++level) {
    if (levels[level].size() != levels[0].size())
      refuse_levels(fmt::format("level {} has {}, level 0 has {}", level,
                                counted(levels[level].size(), "field"),
                                counted(levels[0].size(), "field")));
    for (std::size_t f = 0; f < levels[0].size(); ++f)
      require_same_shape(levels[0][f], levels[level][f], level, f);
  }
}

}  // namespace

LevelExchange::LevelExchange(const Communicator& communicator, const Grid& grid,
                             const std::vector<FieldList>& levels, const ExchangeOptions& options) {
  comm::require_same(communicator, "exchange plans", {counted(levels.size(), "level")});
  comm::together(communicator, [&] { check_levels(levels); });
  ExchangeOptions same = options;
  for (const FieldList& fields : levels) {
    plans_.emplace_back(communicator, grid, fields, same);
    // All levels have the same messages, so the fastest transport is the same for all.
    same.transport = plans_[0].info().transport();
  }
  info_ = plans_[0].info();
  for (const Exchange& plan : plans_)
    for (const std::string& note : plan.info().notes)
      if (std::find(info_.notes.begin(), info_.notes.end(), note) == info_.notes.end())
        info_.notes.push_back(note);
}

Exchange& LevelExchange::plan_of(std::int64_t level) {
  if (level < 0 || level >= levels())
    throw Error(ErrorKind::usage,
                fmt::format("level {} does not exist; use 0 to {}", level, levels() - 1));
  return plans_[static_cast<std::size_t>(level)];
}

void LevelExchange::start(std::int64_t level, Stream stream) { plan_of(level).start(stream); }
bool LevelExchange::progress(std::int64_t level) { return plan_of(level).progress(); }
void LevelExchange::finish(std::int64_t level, Stream stream) { plan_of(level).finish(stream); }
void LevelExchange::run(std::int64_t level, Stream stream) { plan_of(level).run(stream); }

}  // namespace halocline
