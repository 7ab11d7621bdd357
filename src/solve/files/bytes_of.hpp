// SPDX-License-Identifier: Apache-2.0
#pragma once
// The bytes of numbers in binary files.

#include <string>

namespace halocline::files {

/// The bytes of a number in memory, in this machine's order.
template <class Number>
std::string bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

}  // namespace halocline::files
