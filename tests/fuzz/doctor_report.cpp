// SPDX-License-Identifier: Apache-2.0
// Reports that `doctor --compare` reads. scripts/fuzz runs it.

#include <cstddef>
#include <cstdint>
#include <string>

#include "doctor/changes.hpp"
#include "fuzz/hostile_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halocline;
  static const std::string ours =
      R"({"facts": {"cores": 2, "limits": {"shm_bytes": 4096}}, "findings": [], "paths": [
          {"path": "peer", "pair": "same-node", "memory": "device", "with": "", "outcome": "works",
           "how": "", "us": [[8, 1.5], [1048576, 9.0]]}]})";
  const std::string theirs(data, data + size);
  test::refused_or_read([&] {
    // With itself, as the command does to find out whether it is a report.
    doctor::changes(theirs, theirs, "hostile.json");
    doctor::changes(theirs, ours, "hostile.json");
    doctor::regressions(theirs, ours, "hostile.json");
  });
  return 0;
}
