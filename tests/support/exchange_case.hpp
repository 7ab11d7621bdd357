// SPDX-License-Identifier: Apache-2.0
#pragma once
// An exchange with all its circumstances, and what must come of it.

#include <string>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/exchange.hpp>
#include <halocline/grid.hpp>

#include "comm/settings.hpp"
#include "support/checked_field.hpp"

namespace halocline::test {

struct ExchangeCase {
  GridOptions grid;
  std::vector<FieldSpec> fields{FieldSpec{}};
  ExchangeOptions exchange;
  comm::Settings communicator;
  int steps = 3;
  /// Arrays like the fields that take their turns, in another order on each rank; the plan is for
  /// the first ones.
  int arrays = 1;
  Memory memory = Memory::host;  ///< of all fields
  /// Who packs, where both may.
  enum class By { gpu, host } by = By::gpu;
};

std::string describe(const ExchangeCase& exchange_case);

/// Whether a case works on a stream of the GPU.
inline bool is_on_gpu(const ExchangeCase& c) {
  return gpu_reads(c.memory) && c.by == ExchangeCase::By::gpu;
}

/// The fields of a case on this rank.
std::vector<CheckedField> make_fields(const Grid& grid, const ExchangeCase& exchange_case);
FieldList list_of(const std::vector<CheckedField>& fields);
/// The addresses of their first owned cells.
std::vector<void*> first_cells_of(const std::vector<CheckedField>& fields);

/// Runs the steps of a case on all ranks and expects every byte of every field, and what the
/// exchange says of itself, to be right. False, on every rank, if anything was wrong.
bool run(const ExchangeCase& exchange_case);

}  // namespace halocline::test
