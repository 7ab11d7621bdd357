// SPDX-License-Identifier: Apache-2.0
#include "device/queue.hpp"

#include <cstring>

#include "device/buffer.hpp"
#include "device/cuda/runtime.hpp"

namespace halocline::device {
namespace {

/// A CUDA query takes about a microsecond, and initialises CUDA, so it is made only if needed.
bool host_reaches(const void* memory) { return !cuda::in_use() || host_reads(memory_of(memory)); }

bool on_host_alone(const void* to, const void* from, Stream stream) {
  return stream.is_host() && host_reaches(to) && host_reaches(from);
}

}  // namespace

OwnedStream::OwnedStream(Priority priority) : native_(cuda::make_stream(priority)) {}

void Event::record(Stream stream) {
  recorded_ = !stream.is_host();
  if (!recorded_) return;
  if (native_ == nullptr) native_ = cuda::make_event();
  cuda::record(native_.get(), stream);
}

bool Event::reached() const { return !recorded_ || cuda::reached(native_.get()); }

void Event::wait() const {
  if (recorded_) cuda::wait(native_.get());
}

void Event::hold(Stream stream) const {
  if (!recorded_) return;
  if (stream.is_host())
    wait();
  else
    cuda::hold(native_.get(), stream);
}

Stream Branch::fork(Stream trunk) {
  forked_.record(trunk);
  forked_.hold(stream_.get());
  return stream_.get();
}

void Branch::join(Stream trunk) {
  joined_.record(stream_.get());
  joined_.hold(trunk);
}

void synchronize(Stream stream) {
  if (!stream.is_host()) cuda::synchronize(stream);
}

void finish_all() { cuda::finish_all(); }

void copy(void* to, const void* from, std::int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (on_host_alone(to, from, stream))
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else
    cuda::copy(to, from, bytes, stream);
}

void copy_rows(void* to, const void* from, const Rows& rows, Stream stream) {
  if (rows.bytes == 0 || rows.count == 0) return;
  if (!on_host_alone(to, from, stream)) return cuda::copy_rows(to, from, rows, stream);
  for (std::int64_t row = 0; row < rows.count; ++row)
    std::memcpy(static_cast<std::byte*>(to) + row * rows.to_stride,
                static_cast<const std::byte*>(from) + row * rows.from_stride,
                static_cast<std::size_t>(rows.bytes));
}

void clear(void* memory, std::int64_t bytes, Stream stream) {
  if (bytes == 0) return;
  if (stream.is_host() && host_reaches(memory))
    std::memset(memory, 0, static_cast<std::size_t>(bytes));
  else
    cuda::clear(memory, bytes, stream);
}

}  // namespace halocline::device
