// SPDX-License-Identifier: Apache-2.0
// Headers of .npy files. scripts/fuzz runs it.

#include "files/npy_header.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/hostile_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halocline;
  test::refused_or_read([&] {
    const NpyHeader header = parse_npy_header(std::as_bytes(std::span(data, size)), "hostile.npy");
    const auto bytes = static_cast<std::int64_t>(size);
    require_complete(header, bytes, "hostile.npy");
    require(header, {.shape = {8, 5}, .descr = "<f8", .asked_by = "--cells 5x8"}, bytes,
            "hostile.npy");
  });
  return 0;
}
