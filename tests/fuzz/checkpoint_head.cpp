// SPDX-License-Identifier: Apache-2.0
// Heads of checkpoints, with the right hash and without. scripts/fuzz runs it.

#include "files/checkpoint_head.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/hostile_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halocline;
  static test::HostileFile file;
  const std::string bytes(data, data + size);
  for (const std::string& content : {bytes, files::begin_of_file(bytes) + std::string(8192, ' ')})
    test::refused_or_read([&] {
      const std::string& path = file.put(content);
      const files::CheckpointHead head = files::read_checkpoint_head(path);
      for (const files::CheckpointPart& text : head.texts)
        files::read_checkpoint_text(path, head, text.name);
      files::head_of(files::text_of(head), path);
    });
  return 0;
}
