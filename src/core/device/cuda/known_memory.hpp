// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts about memory, by its address.

#include <map>
#include <mutex>
#include <optional>

namespace halocline::device::cuda {

/// A value for each piece of memory, found by the address where it begins. Any thread may call.
template <class Value>
class KnownMemory {
 public:
  /// Returns the only one for such values, which is never destroyed: memory may be released at the
  /// very end of the program.
  static KnownMemory& all() {
    static KnownMemory& only = *new KnownMemory();
    return only;
  }
  void add(const void* memory, Value value) {
    const std::lock_guard lock(mutex_);
    values_[memory] = value;
  }
  void remove(const void* memory) {
    const std::lock_guard lock(mutex_);
    values_.erase(memory);
  }
  std::optional<Value> find(const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(memory);
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, Value> values_;
};

}  // namespace halocline::device::cuda
