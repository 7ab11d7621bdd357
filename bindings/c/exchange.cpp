// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "guard.hpp"
#include "handles.hpp"
#include "translate.hpp"

using namespace halocline;
using binding::checked;
using binding::fillable;
using binding::guarded;
using binding::made;
using binding::required;

// A later version adds members at the end of a struct, and earlier_sizes has its size before.
static_assert(sizeof(halocline_exchange_options) == 48);
static_assert(sizeof(halocline_exchange_info) == 40);

namespace {

Neighbours neighbours(const std::string& name) {
  if (name == "all") return Neighbours::all;
  if (name == "faces") return Neighbours::faces;
  throw Error(ErrorKind::usage, "there are no neighbours '" + name + "'; there are: all, faces");
}

ExchangeOptions options_from(const halocline_exchange_options& given) {
  ExchangeOptions options{.neighbours = neighbours(binding::text(given.neighbours, "neighbours")),
                          .transport = binding::text(given.transport, "the transport")};
  if (given.widths != nullptr) options.widths = binding::widths(*given.widths);
  if (given.proofs != nullptr) options.proofs = given.proofs;
  options.same_order = given.same_order != 0;
  return options;
}

std::string reasons_of(const ExchangeInfo& info) {
  std::string text;
  for (const ExchangeInfo::Race& race : info.races) {
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "%.1f", race.microseconds);
    text += race.pair + ": " + race.transport + " takes " + time.data() + " us per exchange\n";
  }
  for (const std::string& note : info.notes) text += note + "\n";
  if (!text.empty()) text.pop_back();
  return text;
}

/// A null stream is the host's.
Stream stream_from(void* stream) {
  return stream == HALOCLINE_HOST_STREAM ? Stream::host() : Stream::cuda(stream);
}

Exchange& required_exchange(halocline_exchange* exchange) {
  return made(exchange, "exchange").exchange;
}

}  // namespace

halocline_status halocline_exchange_create(const halocline_grid* grid,
                                           halocline_field* const* fields, int count,
                                           const halocline_exchange_options* options,
                                           halocline_exchange** exchange) {
  return guarded([&] {
    halocline_exchange*& result = required(exchange, "the place for the exchange");
    result = nullptr;
    const halocline_grid& on = made(grid, "grid");
    if (count < 1)
      throw Error(ErrorKind::usage,
                  "an exchange of " + std::to_string(count) + " fields; at least 1 is needed");
    required(fields, "the list of fields");
    const halocline_exchange_options defaults = HALOCLINE_EXCHANGE_OPTIONS;
    const ExchangeOptions wanted = options_from(
        options == nullptr ? defaults : checked(options, "halocline_exchange_options"));
    std::vector<FieldStorage> kept;
    for (int i = 0; i < count; ++i) kept.push_back(made(fields[i], "field").storage);
    Exchange plan(on.communicator, on.grid, {kept.begin(), kept.end()}, wanted);
    const ExchangeInfo& info = plan.info();
    result = new halocline_exchange{std::move(kept), std::move(plan),
                                    info.transports.empty() ? std::string() : info.transport(),
                                    reasons_of(info)};
  });
}

halocline_status halocline_exchange_destroy(halocline_exchange** exchange) {
  return binding::destroy(exchange, "the address of the exchange");
}

halocline_status halocline_exchange_start(halocline_exchange* exchange, void* stream) {
  return guarded([&] { required_exchange(exchange).start(stream_from(stream)); });
}

halocline_status halocline_exchange_progress(halocline_exchange* exchange, int* done) {
  return guarded([&] {
    const bool is_done = required_exchange(exchange).progress();
    if (done != nullptr) *done = is_done ? 1 : 0;
  });
}

halocline_status halocline_exchange_finish(halocline_exchange* exchange, void* stream) {
  return guarded([&] { required_exchange(exchange).finish(stream_from(stream)); });
}

halocline_status halocline_exchange_run(halocline_exchange* exchange, void* stream) {
  return guarded([&] { required_exchange(exchange).run(stream_from(stream)); });
}

halocline_status halocline_exchange_get_info(const halocline_exchange* exchange,
                                             halocline_exchange_info* info) {
  return guarded([&] {
    const halocline_exchange& its = made(exchange, "exchange");
    halocline_exchange_info& answer = fillable(info, "halocline_exchange_info");
    answer.messages = its.exchange.info().messages;
    answer.bytes = its.exchange.info().bytes;
    answer.transports = its.transports.c_str();
    answer.reasons = its.reasons.c_str();
  });
}
