// SPDX-License-Identifier: Apache-2.0
#pragma once
// An exchange of some halos, where others are filled in another way.

#include <functional>

#include <halocline/exchange.hpp>

namespace halocline::exchange {

/// Returns whether an exchange fills the halos between this rank and `peer`, which lies in that
/// direction. The peer must answer the same for the opposite direction.
using PartFilter = std::function<bool(const Direction& direction, int peer)>;

/// Fills the halos that the filter names; the others keep their values.
class PartExchange : public Exchange {
 public:
  /// Otherwise as the constructor of Exchange.
  PartExchange(const Communicator& communicator, const Grid& grid, const FieldList& fields,
               const ExchangeOptions& options, const PartFilter& is_filled);
};

}  // namespace halocline::exchange
