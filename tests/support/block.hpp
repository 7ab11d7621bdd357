// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks of any memory, and what they hold.

#include <cstdint>
#include <memory>
#include <vector>

#include <halocline/memory.hpp>

#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "support/random.hpp"

namespace halocline::test {

using Bytes = std::vector<std::byte>;

class Block {
 public:
  Block(Memory memory, std::int64_t bytes)
      : bytes_(bytes), owner_(device::allocate(memory, bytes)) {}
  Block(Memory memory, const Bytes& content) : Block(memory, std::ssize(content)) {
    device::copy(data(), content.data(), bytes_, Stream::host());
  }

  std::byte* data() const { return static_cast<std::byte*>(owner_.get()); }
  /// What it holds once all work on it is done.
  Bytes content() const {
    Bytes content(static_cast<std::size_t>(bytes_));
    device::copy(content.data(), data(), bytes_, Stream::host());
    return content;
  }

 private:
  std::int64_t bytes_;
  std::shared_ptr<void> owner_;
};

inline Bytes random_bytes(std::int64_t count, std::uint64_t number) {
  Random random(number);
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
  return bytes;
}

}  // namespace halocline::test
