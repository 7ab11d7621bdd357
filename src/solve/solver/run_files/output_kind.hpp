// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of output files, by their names.

#include <string>

namespace halocline::solver {

enum class OutputKind { npy, png, vtkhdf, vti };

/// By the extension. Throws usage for any other.
OutputKind kind_of(const std::string& path);

/// Whether a file of this kind has any number of fields, and so all unless one is named.
inline bool has_all_fields(OutputKind kind) {
  return kind == OutputKind::vtkhdf || kind == OutputKind::vti;
}

}  // namespace halocline::solver
