// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "guard.hpp"
#include "handles.hpp"
#include "translate.hpp"

using namespace halocline;
using binding::checked;
using binding::fillable;
using binding::guarded;
using binding::guarded_beside_others;
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

/// Returns the first owned cells of arrays, of which `first` are the first cells.
std::span<void* const> owned_of(halocline_exchange& exchange, void* const* first, int count) {
  const auto fields = static_cast<int>(exchange.fields.size());
  if (count != fields)
    throw Error(ErrorKind::usage, std::to_string(count) + " arrays for an exchange of " +
                                      std::to_string(fields) + " fields; give it one for each");
  required(first, "the list of arrays");
  for (std::size_t f = 0; f < exchange.fields.size(); ++f) {
    auto* const array = static_cast<std::byte*>(first[f]);
    exchange.first_owned[f] = array == nullptr ? nullptr : array + exchange.fields[f].lead;
  }
  return exchange.first_owned;
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
    std::vector<halocline_field> kept;
    for (int i = 0; i < count; ++i) kept.push_back(made(fields[i], "field"));
    FieldList list;
    for (const halocline_field& field : kept) list.emplace_back(field.storage);
    Exchange plan(on.communicator, on.grid, list, wanted);
    const ExchangeInfo& info = plan.info();
    std::vector<void*> first_owned(kept.size());
    result = new halocline_exchange{std::move(kept), std::move(first_owned), std::move(plan),
                                    info.transports.empty() ? std::string() : info.transport(),
                                    reasons_of(info)};
  });
}

halocline_status halocline_exchange_destroy(halocline_exchange** exchange) {
  return binding::destroy(exchange, "the address of the exchange");
}

halocline_status halocline_exchange_park(halocline_exchange** exchange) {
  return guarded_beside_others([&] {
    halocline_exchange*& handle = required(exchange, "the address of the exchange");
    if (handle == nullptr) return;
    const std::shared_ptr<halocline_exchange> all(std::exchange(handle, nullptr));
    Exchange::park(std::move(all->exchange), all);
  });
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

halocline_status halocline_exchange_start_at(halocline_exchange* exchange, void* const* arrays,
                                             int count, void* stream) {
  return guarded([&] {
    Exchange& plan = required_exchange(exchange);
    plan.start_at(owned_of(*exchange, arrays, count), stream_from(stream));
  });
}

halocline_status halocline_exchange_run_at(halocline_exchange* exchange, void* const* arrays,
                                           int count, void* stream) {
  return guarded([&] {
    Exchange& plan = required_exchange(exchange);
    plan.run_at(owned_of(*exchange, arrays, count), stream_from(stream));
  });
}

halocline_status halocline_exchange_get_info(const halocline_exchange* exchange,
                                             halocline_exchange_info* info) {
  return guarded_beside_others([&] {
    const halocline_exchange& its = made(exchange, "exchange");
    halocline_exchange_info& answer = fillable(info, "halocline_exchange_info");
    answer.messages = its.exchange.info().messages;
    answer.bytes = its.exchange.info().bytes;
    answer.transports = its.transports.c_str();
    answer.reasons = its.reasons.c_str();
  });
}
