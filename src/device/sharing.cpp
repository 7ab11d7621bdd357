#include "device/sharing.hpp"

#include "device/cuda/runtime.hpp"

namespace halocline::device {

MemoryHandle handle_of(const void* memory) { return cuda::handle_of(memory); }
std::shared_ptr<void> map(const MemoryHandle& handle) { return cuda::map(handle); }

}  // namespace halocline::device
