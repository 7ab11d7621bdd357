// SPDX-License-Identifier: Apache-2.0
#pragma once
// The order in which work happens.

#include <cstdint>

namespace halocline {

/// Names the queue of work that a call joins. Work given to one stream happens in the order it
/// was given. Not owning; the host stream does its work before the call returns.
class Stream {
 public:
  /// The calling thread itself.
  static constexpr Stream host() { return Stream{}; }

  /// A cudaStream_t. Null, CUDA's default stream, is taken as cudaStreamLegacy.
  static Stream cuda(void* stream) {
    Stream result;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA defines this handle so
    result.native_ = stream != nullptr ? stream : reinterpret_cast<void*>(legacy);
    return result;
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
