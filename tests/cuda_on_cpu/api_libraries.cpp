// SPDX-License-Identifier: Apache-2.0
// The driver's calls about code that is loaded when the program runs: shared libraries, whose path
// stands for the code. A kernel's handle is its address, so that it is launched like others.

#include <dlfcn.h>

#include "cuda.h"

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  if (!library || !code) return CUDA_ERROR_INVALID_VALUE;
  void* const handle = dlopen(static_cast<const char*>(code), RTLD_NOW | RTLD_LOCAL);
  *library = static_cast<CUlibrary>(handle);
  return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLibraryUnload(CUlibrary library) {
  return dlclose(library) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  if (!kernel || !library || !name) return CUDA_ERROR_INVALID_VALUE;
  void* const function = dlsym(library, name);
  if (!function) return CUDA_ERROR_NOT_FOUND;
  *kernel = static_cast<CUkernel>(reinterpret_cast<void* (*)()>(function)());
  return CUDA_SUCCESS;
}

}  // extern "C"
