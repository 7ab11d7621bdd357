// SPDX-License-Identifier: Apache-2.0
#pragma once
// The types of the handles of halocline.h.

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
};

struct halocline_exchange {
  std::vector<halocline::FieldStorage> fields;
  halocline::Exchange exchange;
  std::string transports, reasons;  // for halocline_exchange_info
};
