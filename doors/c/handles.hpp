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

namespace halocline::door {

/// A field whose elements are so many bytes, whatever they mean.
class AnyField : public FieldStorage {
 public:
  AnyField(const Grid& grid, const FieldOptions& options, std::int64_t element_bytes)
      : FieldStorage(grid, options, element_bytes) {}
  AnyField(const Grid& grid, const FieldOptions& options, std::int64_t element_bytes,
           void* first_owned, const Strides& strides)
      : FieldStorage(grid, options, element_bytes, first_owned, strides) {}
};

}  // namespace halocline::door

// Each holds, as copies that share, what it needs: handles may be ended in any order.

struct halocline_grid {
  halocline::Communicator communicator;
  halocline::Grid grid;
};

struct halocline_field {
  halocline_grid on;
  halocline::door::AnyField storage;
};

struct halocline_exchange {
  std::vector<halocline::door::AnyField> fields;
  halocline::Exchange exchange;
  std::string transports, reasons;  // as halocline_exchange_info shows them
};
