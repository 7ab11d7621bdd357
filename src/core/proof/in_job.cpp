// SPDX-License-Identifier: Apache-2.0
#include "proof/in_job.hpp"

#include <fmt/format.h>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "proof/pattern.hpp"

namespace halocline::proof {
namespace {

using transport::Slots;

std::byte* slot(const Slots& slots, std::uint64_t epoch) {
  return epoch % 2 != 0 ? slots.odd : slots.even;
}

std::byte* field_of(const std::vector<transport::Part>& parts) {
  return static_cast<std::byte*>(transport::in_place(parts));
}

/// The bytes of a slot or a field for access by the host: in place, or in a copy.
class SlotBytes {
 public:
  SlotBytes(std::byte* slot, std::int64_t bytes, Memory fields) : slot_(slot), bytes_(bytes) {
    // Calls CUDA only if it is in use anyway.
    if (gpu_reads(fields) && !host_reads(device::memory_of(slot)))
      copy_.resize(static_cast<std::size_t>(bytes));
  }

  void fill(std::uint64_t seed) {
    proof::fill(host(), bytes_, seed);
    if (!copy_.empty()) device::copy(slot_, copy_.data(), bytes_, Stream::host());
  }
  std::int64_t first_difference(std::uint64_t seed) {
    if (!copy_.empty()) device::copy(copy_.data(), slot_, bytes_, Stream::host());
    return proof::first_difference(host(), bytes_, seed);
  }

 private:
  std::byte* host() { return copy_.empty() ? slot_ : copy_.data(); }

  std::byte* slot_;
  std::int64_t bytes_;
  std::vector<std::byte> copy_;
};

}  // namespace

std::optional<std::string> prove(const Communicator& communicator, transport::Channel& channel,
                                 const std::vector<transport::Message>& messages, Memory fields) {
  const int me = communicator.rank();
  std::optional<std::string> wrong;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t m = 0; m < messages.size(); ++m) {
      std::byte* const field = field_of(messages[m].send);
      SlotBytes(field != nullptr ? field : slot(channel.send_slots(m), channel.epoch() + 1),
                transport::bytes_of(messages[m].send), fields)
          .fill(seed_of(me, messages[m].peer, round));
    }
    channel.start(Stream::host());
    channel.finish(Stream::host());
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const std::int64_t bytes = transport::bytes_of(messages[m].receive);
      std::byte* const field = field_of(messages[m].receive);
      const std::int64_t at =
          SlotBytes(field != nullptr ? field : slot(channel.receive_slots(m), channel.epoch()),
                    bytes, fields)
              .first_difference(seed_of(messages[m].peer, me, round));
      if (at < bytes && !wrong)
        wrong = text_of(WrongByte{.at = at, .bytes = bytes, .from = messages[m].peer, .to = me});
    }
  }
  return wrong;
}

}  // namespace halocline::proof
