// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/norm_slot.hpp"

#include "device/buffer.hpp"

namespace halocline::solver {

NormSlot::NormSlot(bool on_gpu)
    : place_(device::allocate(on_gpu ? Memory::device : Memory::host, sizeof(double))),
      on_host_(on_gpu ? device::allocate(Memory::pinned, sizeof(double)) : place_) {}

double* NormSlot::begin(Stream stream) {
  if (stream.is_host())
    *static_cast<double*>(place_.get()) = 0;
  else
    device::clear(place_.get(), sizeof(double), stream);
  return static_cast<double*>(place_.get());
}

void NormSlot::end(Stream stream) {
  if (stream.is_host()) return;
  device::copy(on_host_.get(), place_.get(), sizeof(double), stream);
  arrived_.record(stream);
}

double NormSlot::value() const {
  arrived_.wait();
  return *static_cast<const double*>(on_host_.get());
}

}  // namespace halocline::solver
