// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of the handles of halocline.h.

#include <cstdint>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/halocline.h>

// Each holds copies of the objects it needs, which share their data: handles may be destroyed in
// any order.

struct halocline_grid {
  halocline::Communicator communicator;
  halocline::Grid grid;
};

struct halocline_field {
  halocline_grid on;
  halocline::FieldStorage storage;
  std::int64_t lead;  ///< bytes from the array's first cell to the first owned one
};

struct halocline_exchange {
  std::vector<halocline_field> fields;
  std::vector<void*> first_owned;  ///< of the arrays of a call, to save allocations
  halocline::Exchange exchange;
  std::string transports, reasons;  // for halocline_exchange_info
};
