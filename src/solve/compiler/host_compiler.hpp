// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions that are compiled when the program runs, by the C++ compiler of the machine.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/descriptor.hpp"

namespace halocline::compiler {

struct HostSource {
  std::string text;                ///< C++20 that includes no header
  std::vector<std::string> flags;  ///< that say for which processors
};

/// Returns why there is no compiler here, with what to do; nothing if there is one: that of
/// HALOCLINE_CXX, unless it is "off", else the first of c++, g++ and clang++ on PATH.
std::optional<std::string> no_host_compiler_because();

/// Compiles a source as a shared library, with the bits of the rest of Halocline: no contraction,
/// no approximation, whatever CXXFLAGS says. Throws unavailable where no_host_compiler_because()
/// gives a reason, and where the compiler fails, with what it printed first. Takes a second or
/// more, or a millisecond where an earlier run of this user has compiled it: see
/// compiler/kept_code.hpp.
std::string compile_for_host(const HostSource& source);
/// Returns what compile_for_host() need not compile, if it is so.
std::optional<std::string> find_compiled_for_host(const HostSource& source);

/// A shared library in this process, from memory: no folder has to allow programs. Copies share it.
class HostCode {
 public:
  /// Throws unavailable where the system does not allow it.
  explicit HostCode(const std::string& image);
  /// Returns the function with that name, which must be there and of that type.
  template <class Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(address(name));
  }

 private:
  void* address(const char* name) const;

  // The loader takes a file of the same path for the same library: the descriptor stays open.
  std::shared_ptr<Descriptor> file_;
  std::shared_ptr<void> library_;
};

}  // namespace halocline::compiler
