// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which mutant acts in this process: the one that HALOCLINE_MUTANT names. overlay.py puts the
// questions into copies of the sources, of kernels too that are compiled when a program runs.

#include <cstdint>
#include <cstdlib>

namespace halocline {

/// Returns a hash of a name (FNV-1a): hot loops compare one word.
constexpr std::uint64_t hash_of_mutant(const char* name) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001B3;
  return hash;
}

/// The same when the source is compiled, also without optimisation.
consteval std::uint64_t mutant(const char* name) { return hash_of_mutant(name); }

/// Read before main(): what other sources do earlier has no mutants.
inline const std::uint64_t chosen_mutant = [] {
  const char* const name = std::getenv("HALOCLINE_MUTANT");
  return name == nullptr ? 0 : hash_of_mutant(name);
}();

}  // namespace halocline
