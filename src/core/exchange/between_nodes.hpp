// SPDX-License-Identifier: Apache-2.0
#pragma once
// An exchange with the ranks of other nodes only: what kernels that store into their neighbours'
// memory leave to calls.

#include <halocline/exchange.hpp>

namespace halocline::exchange {

/// Plans it; the halos that ranks of this node fill keep their values. Otherwise as the constructor
/// of Exchange.
Exchange between_nodes(const Communicator& communicator, const Grid& grid, const FieldList& fields,
                       const ExchangeOptions& options);

}  // namespace halocline::exchange
