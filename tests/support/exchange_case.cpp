// SPDX-License-Identifier: Apache-2.0
#include "support/exchange_case.hpp"

#include <map>
#include <sstream>

#include "support/cells.hpp"
#include "support/communicators.hpp"
#include "support/halo_formula.hpp"
#include "support/memories.hpp"
#include "support/ranks.hpp"

namespace halocline::test {
namespace {

std::string describe(const Extents& extents) {
  if (extents.axes() == 0) return "chosen";
  std::ostringstream text;
  text << extents[0];
  for (int axis = 1; axis < extents.axes(); ++axis) text << 'x' << extents[axis];
  return text.str();
}

/// Bytes that one rank owns and another's halo images, by definition.
std::int64_t bytes_between(const Grid& grid, int from, int to, const ExchangeCase& c) {
  const Box source = owned_by_formula(grid, from), target = owned_by_formula(grid, to);
  std::int64_t bytes = 0;
  for (const FieldSpec& field : c.fields) {
    const HaloWidths widths = widths_filled(grid, field.halo, c.exchange);
    for_each_cell(grow(target, widths.lower, widths.upper), [&](Int3 at) {
      const auto cell = imaged_cell(grid, target, widths, c.exchange.neighbours, at);
      if (cell && source.contains(*cell)) bytes += field.components * bytes_of(field.element);
    });
  }
  return bytes;
}

void expect_info(const ExchangeInfo& info, const Grid& grid, const ExchangeCase& c) {
  std::int64_t messages = 0, bytes = 0;
  for (int peer = 0; peer < grid.ranks(); ++peer) {
    if (peer == grid.rank()) continue;
    const std::int64_t sent = bytes_between(grid, grid.rank(), peer, c);
    const std::int64_t received = bytes_between(grid, peer, grid.rank(), c);
    messages += sent > 0 || received > 0 ? 1 : 0;
    bytes += sent;
  }
  EXPECT_EQ(info.messages, messages);
  EXPECT_EQ(info.bytes, bytes);
  // Over GPUs there is something to say of what was not proved.
  if (c.memory == Memory::host) {
    EXPECT_TRUE(info.notes.empty()) << info.notes.front();
  }
}

}  // namespace

std::string describe(const ExchangeCase& c) {
  std::ostringstream text;
  text << describe(c.grid.cells) << " cells, periodic " << c.grid.periodic[0] << c.grid.periodic[1]
       << c.grid.periodic[2] << ", process grid " << describe(c.grid.process_grid) << ", "
       << (c.exchange.neighbours == Neighbours::all ? "all" : "faces") << ", transport "
       << c.exchange.transport;
  if (c.exchange.widths) {
    text << ", widths";
    for (int axis = 0; axis < 3; ++axis)
      text << ' ' << c.exchange.widths->lower[axis] << '/' << c.exchange.widths->upper[axis];
  }
  text << ", pieces of " << c.communicator.piece_bytes << ", " << c.communicator.ranks_per_node
       << " rank(s) per node";
  if (c.memory != Memory::host)
    text << ", " << name_of(c.memory) << " memory on the " << (is_on_gpu(c) ? "GPU" : "host");
  if (c.arrays > 1) text << ", " << c.arrays << " arrays in turn";
  for (const FieldSpec& field : c.fields) text << "; " << describe(field);
  return text.str();
}

std::vector<CheckedField> make_fields(const Grid& grid, const ExchangeCase& c) {
  std::vector<CheckedField> fields;
  for (FieldSpec spec : c.fields) {
    spec.memory = c.memory;
    fields.emplace_back(grid, spec, static_cast<int>(fields.size()));
  }
  return fields;
}

FieldList list_of(const std::vector<CheckedField>& fields) {
  FieldList list;
  for (const CheckedField& field : fields) list.emplace_back(field.storage());
  return list;
}

std::vector<void*> first_cells_of(const std::vector<CheckedField>& fields) {
  std::vector<void*> cells;
  for (const CheckedField& field : fields) cells.push_back(field.storage().first_owned());
  return cells;
}

bool run(const ExchangeCase& c) {
  SCOPED_TRACE(describe(c));
  const Communicator& communicator = communicator_with(c.communicator);
  const Grid grid(communicator, c.grid);
  EXPECT_EQ(grid.owned(), owned_by_formula(grid, grid.rank()));
  std::vector<std::vector<CheckedField>> arrays;
  for (int i = 0; i < c.arrays; ++i) arrays.push_back(make_fields(grid, c));
  Exchange exchange(communicator, grid, list_of(arrays[0]), c.exchange);
  expect_info(exchange.info(), grid, c);
  const TestStream own_stream(is_on_gpu(c) ? c.memory : Memory::host);
  const Stream stream = own_stream.get();
  for (int step = 0; step < c.steps; ++step) {
    const auto chosen = static_cast<std::size_t>(step * (1 + rank()) % c.arrays);
    // The others have other values.
    for (std::size_t i = 0; i < arrays.size(); ++i)
      for (CheckedField& field : arrays[i]) field.fill(i == chosen ? step : step + c.steps, stream);
    if (chosen == 0 && step % 2 == 0)
      exchange.run(stream);
    else if (step % 3 == 0)
      exchange.run(list_of(arrays[chosen]), stream);
    else
      exchange.run_at(first_cells_of(arrays[chosen]), stream);
    device::synchronize(stream);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      for (const CheckedField& field : arrays[i])
        EXPECT_TRUE(i == chosen ? field.is_exchanged(c.exchange) : field.is_filled())
            << "array " << i << ", step " << step;
  }
  return all_well();
}

}  // namespace halocline::test
