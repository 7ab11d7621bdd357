// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which work happens.

#include <cstdint>

#include <halocline/error.hpp>

namespace halocline {

/// Names the queue of work that a call joins. Work given to one stream happens in the order it
/// was given. Not owning; the host stream does its work before the call returns.
///
/// A null stream is the host's, never CUDA's default stream, in C++, C and Fortran alike. CUDA's
/// default stream is cudaStreamLegacy or cudaStreamPerThread.
class Stream {
 public:
  /// The calling thread itself: all earlier work on the fields must be done, on a GPU too, and
  /// the call's own work is done when it returns. Its native() is null.
  static constexpr Stream host() { return Stream{}; }

  /// A cudaStream_t. Throws usage for null: in CUDA's own calls that is the default stream, here
  /// it would be the host's. Say which one is meant, by cuda_default() or host().
  static Stream cuda(void* stream) {
    if (stream == nullptr)
      throw Error(ErrorKind::usage,
                  "a null stream is the host's, not CUDA's default stream; use "
                  "Stream::cuda_default() for that one, or Stream::host()");
    Stream result;
    result.native_ = stream;
    return result;
  }

  /// CUDA's default stream, cudaStreamLegacy: what kernels launched without a stream join, unless
  /// compiled with --default-stream per-thread (Stream::cuda(cudaStreamPerThread)).
  static Stream cuda_default() {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA defines this handle so
    return cuda(reinterpret_cast<void*>(legacy));
  }

  constexpr bool is_host() const { return native_ == nullptr; }
  /// The driver's handle, a cudaStream_t; null for the host.
  constexpr void* native() const { return native_; }

 private:
  // Private and without conversions: a 0 or a null pointer never becomes a stream by accident.
  constexpr Stream() = default;
  static constexpr std::uintptr_t legacy = 1;  // cudaStreamLegacy
  void* native_ = nullptr;
};

}  // namespace halocline
