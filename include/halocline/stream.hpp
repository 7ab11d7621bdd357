#pragma once
// The order in which work happens.

namespace halocline {

/// Names the queue of work that a call joins. Work given to one stream happens in the order it
/// was given. Not owning; the host stream does its work before the call returns.
class Stream {
 public:
  /// The calling thread itself.
  static constexpr Stream host() { return Stream{}; }

  constexpr bool is_host() const { return native_ == nullptr; }
  /// The driver's handle (a cudaStream_t once a GPU backend is built in); null for the host.
  constexpr void* native() const { return native_; }

 private:
  // Private and without conversions: a 0 or a null pointer never becomes a stream by accident.
  constexpr Stream() = default;
  void* native_ = nullptr;
};

}  // namespace halocline
