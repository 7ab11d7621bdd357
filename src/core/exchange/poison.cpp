// SPDX-License-Identifier: Apache-2.0
#include "exchange/poison.hpp"

#include <set>
#include <utility>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/poison.hpp"
#include "pack/pieces.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {
namespace {

/// The first owned cells of fields, once for each plan that they have. Never destroyed: a plan may
/// be a program's static object.
std::multiset<const std::byte*>& fields_with_plans() {
  static auto& fields = *new std::multiset<const std::byte*>;
  return fields;
}

/// Where the next piece goes.
std::int64_t end_of(const pack::Bundle& bundle) {
  constexpr std::int64_t word = 16;
  if (bundle.pieces.empty()) return 0;
  const pack::FieldRuns& last = bundle.pieces.back();
  return last.offset + (pack::bytes_of(last) + word - 1) / word * word;
}

}  // namespace

Poison::Poison(std::vector<PeerMessage> messages, const FieldList& fields, Memory memory)
    : messages_(std::move(messages)), memory_(memory) {
  const std::int64_t bytes = end_of(bundle_for(fields));
  if (bytes == 0) return;
  source_ = device::allocate(transport::slot_memory(memory), bytes);
  const std::vector<std::byte> values(static_cast<std::size_t>(bytes), field::poison);
  device::copy(source_.get(), values.data(), bytes, Stream::host());
  all_ = {{bundle_for(fields)}, pack::Direction::unpack, memory};
}

Poison::~Poison() {
  for (const std::byte* field : begun_) fields_with_plans().erase(fields_with_plans().find(field));
}

pack::Bundle Poison::bundle_for(const FieldList& fields) const {
  auto* const source = static_cast<std::byte*>(source_.get());
  pack::Bundle bundle{.pieces = {}, .even = source, .odd = source};
  for (const PeerMessage& message : messages_)
    for (const HaloPart& part : message.receive) {
      const FieldStorage& field = fields[part.field];
      bundle.pieces.push_back(
          {field.bytes(), field.layout().runs(part.box), end_of(bundle), part.field});
    }
  return bundle;
}

void Poison::begin(const FieldList& fields, Stream stream) {
  pack::Bundle bundle = bundle_for(fields);
  std::erase_if(bundle.pieces, [&](const pack::FieldRuns& piece) {
    return fields_with_plans().contains(fields[piece.number].get().first_owned());
  });
  if (!bundle.pieces.empty()) {
    pack::Copies({bundle}, pack::Direction::unpack, memory_).run(stream);
    device::synchronize(stream);
  }
  for (const FieldStorage& field : fields) {
    begun_.push_back(field.first_owned());
    fields_with_plans().insert(field.first_owned());
  }
}

}  // namespace halocline::exchange
