// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels that are compiled when the program runs, by NVRTC as it is found then: neither its header
// nor its library is needed to build.

#include <memory>
#include <optional>
#include <span>
#include <string>

namespace halocline::compiler {

/// A file that a source can include by this name.
struct Header {
  const char *name, *text;
};

struct Source {
  std::string text;  ///< CUDA C++
  std::span<const Header> headers;
  std::string kernel;  ///< as C++ names it: "march<Norm::max, 2>"
};

/// The compiled form of a source: code for one kind of GPU.
struct Code {
  std::string image;
  std::string kernel;        ///< its name in the code
  bool is_prebuilt = false;  ///< with this program, not now
};

/// Options of NVRTC, besides the GPU: those of nvcc, and that functions of lambdas are for the GPU.
inline constexpr const char* compiler_options[] = {"--std=c++20", "--fmad=false",
                                                   "--device-as-default-execution-space"};

/// Returns why there is no compiler here, with what to do; nothing if there is one.
std::optional<std::string> no_compiler_because();

/// Compiles a source for GPUs of that compute capability (90: 9.0), with the bits of the host: no
/// contraction, no approximation. The same source is compiled once in a process. Throws unavailable
/// where no_compiler_because() gives a reason, and internal, with the compiler's output, for wrong
/// sources. Callable from any thread. Takes some seconds, or some milliseconds where an earlier run
/// of this user has compiled it: see compiler/kept_code.hpp.
Code compile(const Source& source, int capability);
/// Returns what compile() need not compile, if it is so. Callable from any thread.
std::optional<Code> find_compiled(const Source& source, int capability);
/// The same, anew.
Code compile_for(const Source& source, int capability);

/// Code on the current GPU.
class Module {
 public:
  explicit Module(const Code& code);

  /// Returns the kernel, for functions of launch.cuh. The module must outlive it. The type must be
  /// the kernel's.
  template <class Kernel>
  Kernel* kernel() const {
    return reinterpret_cast<Kernel*>(address());
  }

 private:
  void* address() const;

  std::shared_ptr<void> library_;
  std::string kernel_;
};

}  // namespace halocline::compiler
