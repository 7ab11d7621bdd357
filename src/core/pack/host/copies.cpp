// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "pack/pack.hpp"

namespace halocline::pack {
namespace {

/// Copies pieces of a size known at compile time: a call of memcpy for 4 or 8 bytes would cost more
/// than the copy.
template <std::size_t Bytes>
void gather_small(std::byte* to, const std::byte* from, const Run& run) {
  for (std::int64_t i = 0; i < run.count; ++i)
    std::memcpy(to + i * static_cast<std::int64_t>(Bytes), from + i * run.stride, Bytes);
}

template <std::size_t Bytes>
void scatter_small(std::byte* to, const std::byte* from, const Run& run) {
  for (std::int64_t i = 0; i < run.count; ++i)
    std::memcpy(to + i * run.stride, from + i * static_cast<std::int64_t>(Bytes), Bytes);
}

void gather(std::byte* to, const std::byte* from, const Run& run) {
  if (run.bytes == 8) return gather_small<8>(to, from, run);
  if (run.bytes == 4) return gather_small<4>(to, from, run);
  if (run.bytes == 16) return gather_small<16>(to, from, run);
  for (std::int64_t i = 0; i < run.count; ++i)
    std::memcpy(to + i * run.bytes, from + i * run.stride, static_cast<std::size_t>(run.bytes));
}

void scatter(std::byte* to, const std::byte* from, const Run& run) {
  if (run.bytes == 8) return scatter_small<8>(to, from, run);
  if (run.bytes == 4) return scatter_small<4>(to, from, run);
  if (run.bytes == 16) return scatter_small<16>(to, from, run);
  for (std::int64_t i = 0; i < run.count; ++i)
    std::memcpy(to + i * run.stride, from + i * run.bytes, static_cast<std::size_t>(run.bytes));
}

std::byte* slot(const Bundle& bundle, std::uint64_t epochs_ahead) {
  if (bundle.epoch == nullptr) return bundle.even;
  return (*bundle.epoch + epochs_ahead) % 2 == 0 ? bundle.even : bundle.odd;
}

template <class Copy>
void for_each_run(const Bundle& bundle, std::byte* slot, Copy copy) {
  for (const FieldRuns& piece : bundle.pieces) {
    std::byte* at = slot + piece.offset;
    for (const Run& run : piece.runs) {
      copy(piece.field + run.offset, at, run);
      at += run.bytes * run.count;
    }
  }
}

}  // namespace

HostCopies::HostCopies(std::vector<Bundle> bundles, Direction direction)
    : bundles_(std::move(bundles)), direction_(direction) {}

void HostCopies::run() const {
  for (const Bundle& bundle : bundles_) {
    if (direction_ == Direction::pack)
      for_each_run(
          bundle, slot(bundle, 1),
          [](const std::byte* field, std::byte* at, const Run& run) { gather(at, field, run); });
    else
      for_each_run(
          bundle, slot(bundle, 0),
          [](std::byte* field, const std::byte* at, const Run& run) { scatter(field, at, run); });
  }
}

}  // namespace halocline::pack
