// SPDX-License-Identifier: Apache-2.0
// Calls about devices.

#include <cstdio>

#include "runtime.hpp"

using cuda_on_cpu::call;
using cuda_on_cpu::Needs;
using cuda_on_cpu::Runtime;

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  return call(Needs::nothing, [&](Runtime& runtime) {
    if (!version) return cudaErrorInvalidValue;
    *version = runtime.devices.driver_version();
    return cudaSuccess;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return cuda_on_cpu::remember(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  return call(Needs::nothing, [&](Runtime& runtime) {
    if (!count) return cudaErrorInvalidValue;
    *count = runtime.devices.count();
    return runtime.devices.status();
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return call(Needs::device, [&](Runtime& runtime) {
    if (!prop) return cudaErrorInvalidValue;
    if (!runtime.devices.valid(device)) return cudaErrorInvalidDevice;
    *prop = runtime.devices.properties(device);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  return call(Needs::device, [&](Runtime& runtime) {
    if (!value) return cudaErrorInvalidValue;
    if (!runtime.devices.valid(device)) return cudaErrorInvalidDevice;
    return runtime.devices.attribute(value, attr, device) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  return call(Needs::device, [&](Runtime& runtime) {
    if (!pciBusId || len < 1) return cudaErrorInvalidValue;
    if (!runtime.devices.valid(device)) return cudaErrorInvalidDevice;
    const cudaDeviceProp is = runtime.devices.properties(device);
    const int length =
        std::snprintf(pciBusId, static_cast<std::size_t>(len), "%04X:%02X:%02X.0",
                      static_cast<unsigned>(is.pciDomainID), static_cast<unsigned>(is.pciBusID),
                      static_cast<unsigned>(is.pciDeviceID));
    return length < len ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaSetDevice(int device) {
  return call(Needs::device, [&](Runtime& runtime) {
    const cudaError_t error = runtime.devices.use(device);
    if (error == cudaSuccess) cuda_on_cpu::set_current_device(device);
    return error;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return call(Needs::device, [&](Runtime&) {
    if (!device) return cudaErrorInvalidValue;
    *device = cuda_on_cpu::current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.captures.empty()) {
      for (const auto& capture : runtime.captures) capture->valid = false;
      return cudaErrorStreamCaptureUnsupported;
    }
    runtime.queue.drain(cuda_on_cpu::current_device());
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return call(Needs::context, [&](Runtime&) {
    if (leastPriority) *leastPriority = 0;
    if (greatestPriority) *greatestPriority = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  return call(Needs::device, [&](Runtime& runtime) {
    if (!canAccessPeer) return cudaErrorInvalidValue;
    if (!runtime.devices.valid(device) || !runtime.devices.valid(peerDevice)) {
      return cudaErrorInvalidDevice;
    }
    *canAccessPeer = runtime.settings.p2p && device != peerDevice;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned flags) {
  return call(Needs::context, [&](Runtime& runtime) {
    const int device = cuda_on_cpu::current_device();
    if (flags != 0) return cudaErrorInvalidValue;
    if (!runtime.devices.valid(peerDevice) || peerDevice == device) return cudaErrorInvalidDevice;
    if (!runtime.settings.p2p) return cudaErrorPeerAccessUnsupported;
    const bool added = runtime.peers.insert({device, peerDevice}).second;
    return added ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice) {
  return call(Needs::context, [&](Runtime& runtime) {
    if (!runtime.devices.valid(peerDevice)) return cudaErrorInvalidDevice;
    const bool removed = runtime.peers.erase({cuda_on_cpu::current_device(), peerDevice}) != 0;
    return removed ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
  });
}

}  // extern "C"
