// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streams: the order of work on the host and on GPUs.

#include <cstdint>

#include <halocline/error.hpp>

namespace halocline {

/// Names the stream that a call's work joins. Work on one stream runs in the order of the calls.
/// Does not own the stream. On the host stream, the work is done when the call returns.
///
/// A null stream is the host's, never CUDA's default stream, in C++, C and Fortran alike. CUDA's
/// default stream is cudaStreamLegacy or cudaStreamPerThread.
class Stream {
 public:
  /// The calling thread: all earlier work on the fields must be done, also on GPUs, and the call's
  /// own work is done when it returns. native() is null.
  static constexpr Stream host() { return Stream{}; }

  /// Wraps a cudaStream_t, which must outlive the work given to it. Throws usage for null: in
  /// CUDA's calls null is the default stream, here it would be the host's; use cuda_default() or
  /// host().
  static Stream cuda(void* stream) {
    if (stream == nullptr)
      throw Error(ErrorKind::usage,
                  "a null stream is the host's, not CUDA's default stream; use "
                  "Stream::cuda_default() or Stream::host()");
    Stream result;
    result.native_ = stream;
    return result;
  }

  /// CUDA's default stream, cudaStreamLegacy: kernels launched without a stream join it, unless
  /// they are compiled with --default-stream per-thread; for those use
  /// Stream::cuda(cudaStreamPerThread).
  static Stream cuda_default() {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA defines this handle so
    return cuda(reinterpret_cast<void*>(legacy));
  }

  constexpr bool is_host() const { return native_ == nullptr; }
  /// Returns the cudaStream_t; null for the host.
  constexpr void* native() const { return native_; }

 private:
  // Private and without conversions: a 0 or a null pointer never becomes a stream by accident.
  constexpr Stream() = default;
  static constexpr std::uintptr_t legacy = 1;  // cudaStreamLegacy
  void* native_ = nullptr;
};

}  // namespace halocline
