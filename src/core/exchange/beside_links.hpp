// SPDX-License-Identifier: Apache-2.0
#pragma once
// An exchange of the halos that sweeps do not send over face links (exchange/face_links.hpp).

#include <halocline/exchange.hpp>

namespace halocline::exchange {

/// Returns whether all halos of a grid's ranks go over links; the same on every rank.
bool all_are_linked(const Communicator& communicator, const Grid& grid);

/// Plans an exchange with ranks of other nodes, and with those of this node that are not beyond an
/// end of the last axis alone. The halos that come over links keep their values. Otherwise as the
/// constructor of Exchange.
Exchange beside_links(const Communicator& communicator, const Grid& grid, const FieldList& fields,
                      const ExchangeOptions& options);

}  // namespace halocline::exchange
