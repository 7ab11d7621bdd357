// SPDX-License-Identifier: Apache-2.0
// Files of proofs, which count as empty if they cannot be read. scripts/fuzz runs it.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text/notes.hpp"
#include "fuzz/hostile_file.hpp"
#include "proof/records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace halocline;
  static test::HostileFile file;
  Notes notes;
  const auto proofs = proof::read_proofs(file.put(std::string(data, data + size)), notes);
  if (!proofs.empty() && !notes.all().empty()) std::abort();
  return 0;
}
