// SPDX-License-Identifier: Apache-2.0
#include "exchange/poison.hpp"

#include <algorithm>
#include <cstddef>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "field/poison.hpp"
#include "transport/transport.hpp"

namespace halocline::exchange {

Poison::Poison(const std::vector<PeerMessage>& messages, const FieldList& fields, Memory memory) {
  pack::Bundle bundle;
  std::int64_t most = 0;  // all pieces are filled from the same bytes
  for (const PeerMessage& message : messages)
    for (const HaloPart& part : message.receive) {
      const FieldStorage& field = fields[part.field];
      const FieldShape& shape = field.shape();
      bundle.pieces.push_back({field.bytes(), field.layout().runs(part.box), 0});
      most = std::max(most, part.box.cells() * shape.components * shape.element_bytes);
    }
  if (most == 0) return;
  const Memory memory_of_source = transport::slot_memory(memory);
  source_ = device::allocate(memory_of_source, most);
  bundle.even = bundle.odd = static_cast<std::byte*>(source_.get());
  const std::vector<std::byte> bytes(static_cast<std::size_t>(most), field::poison);
  if (host_reads(memory_of_source))
    std::copy(bytes.begin(), bytes.end(), bundle.even);
  else
    device::copy(bundle.even, bytes.data(), most, Stream::host());
  copies_ = {{bundle}, pack::Direction::unpack, memory};
}

}  // namespace halocline::exchange
