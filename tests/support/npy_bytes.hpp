// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of .npy files, right and wrong.

#include <string>

namespace halocline::test {

/// A file with this dictionary, framed as NumPy does.
inline std::string npy_with(std::string dictionary, const std::string& data) {
  dictionary.resize(128 - 10 - 1, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + dictionary + '\n' + data;
}

inline std::string npy_file(const std::string& descr, const std::string& shape,
                            const std::string& data, const std::string& fortran_order = "False") {
  return npy_with("{'descr': '" + descr + "', 'fortran_order': " + fortran_order +
                      ", 'shape': " + shape + ", }",
                  data);
}

}  // namespace halocline::test
