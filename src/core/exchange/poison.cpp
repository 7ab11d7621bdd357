// SPDX-License-Identifier: Apache-2.0
#include "exchange/poison.hpp"

#include <algorithm>
#include <set>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/poison.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {
namespace {

/// The first owned cells of fields, once for each plan that they have. Never destroyed: a plan may
/// be a program's static object.
std::multiset<const std::byte*>& fields_with_plans() {
  static auto& fields = *new std::multiset<const std::byte*>;
  return fields;
}

}  // namespace

Poison::Poison(const std::vector<PeerMessage>& messages, const FieldList& fields, Memory memory) {
  pack::Bundle all, first;
  std::int64_t most = 0;  // all pieces are filled from the same bytes
  for (const PeerMessage& message : messages)
    for (const HaloPart& part : message.receive) {
      const FieldStorage& field = fields[part.field];
      const FieldShape& shape = field.shape();
      all.pieces.push_back({field.bytes(), field.layout().runs(part.box), 0});
      if (!fields_with_plans().contains(field.first_owned()))
        first.pieces.push_back(all.pieces.back());
      most = std::max(most, part.box.cells() * shape.components * shape.element_bytes);
    }
  if (most > 0) {
    const Memory memory_of_source = transport::slot_memory(memory);
    source_ = device::allocate(memory_of_source, most);
    all.even = all.odd = first.even = first.odd = static_cast<std::byte*>(source_.get());
    const std::vector<std::byte> bytes(static_cast<std::size_t>(most), field::poison);
    device::copy(all.even, bytes.data(), most, Stream::host());
    all_ = {{all}, pack::Direction::unpack, memory};
    if (!first.pieces.empty()) first_ = {{first}, pack::Direction::unpack, memory};
  }
  for (const FieldStorage& field : fields) {
    fields_.push_back(field.first_owned());
    fields_with_plans().insert(field.first_owned());
  }
}

Poison::~Poison() {
  for (const std::byte* field : fields_) fields_with_plans().erase(fields_with_plans().find(field));
}

}  // namespace halocline::exchange
