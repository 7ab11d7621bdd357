// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the handles of halocline.h are.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/halocline.h>

// Each holds, as copies that share, what it needs: handles may be ended in any order.

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
  std::string transports, reasons;  // as halocline_exchange_info shows them
};
