// SPDX-License-Identifier: Apache-2.0
#include "exchange/poison.hpp"

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
  constexpr std::int64_t word = 16;
  std::int64_t bytes = 0;
  for (const PeerMessage& message : messages)
    for (const HaloPart& part : message.receive) {
      const FieldStorage& field = fields[part.field];
      const FieldShape& shape = field.shape();
      all.pieces.push_back({field.bytes(), field.layout().runs(part.box), bytes});
      if (!fields_with_plans().contains(field.first_owned()))
        first.pieces.push_back(all.pieces.back());
      bytes += part.box.cells() * shape.components * shape.element_bytes;
      bytes = (bytes + word - 1) / word * word;
    }
  if (bytes > 0) {
    const Memory memory_of_source = transport::slot_memory(memory);
    source_ = device::allocate(memory_of_source, bytes);
    all.even = all.odd = first.even = first.odd = static_cast<std::byte*>(source_.get());
    const std::vector<std::byte> values(static_cast<std::size_t>(bytes), field::poison);
    device::copy(all.even, values.data(), bytes, Stream::host());
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
