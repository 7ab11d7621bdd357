// SPDX-License-Identifier: Apache-2.0
#include "helper.hpp"

#include <thread>
#include <utility>
#include <vector>

namespace cuda_on_cpu {
namespace {

// Never destroyed, nor are the helpers: their threads wait until the process ends.
struct Idle {
  std::mutex mutex;
  std::vector<Helper*> helpers;
};
Idle& idle() {
  static auto* const the = new Idle;
  return *the;
}

}  // namespace

Helper& Helper::hire(Main main) {
  Helper* helper = nullptr;
  {
    const std::lock_guard lock(idle().mutex);
    if (!idle().helpers.empty()) {
      helper = idle().helpers.back();
      idle().helpers.pop_back();
    }
  }
  if (!helper) {
    helper = new Helper;
    std::thread([helper] { helper->serve(); }).detach();
  }
  helper->main_ = std::move(main);
  return *helper;
}

void Helper::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    passed_.wait(lock, [this] { return is_helpers_; });
    lock.unlock();
    main_(*this);
    lock.lock();
    main_ = nullptr;
    is_helpers_ = false;
    passed_.notify_all();
  }
}

void Helper::pass_to(bool helper) {
  std::unique_lock lock(mutex_);
  is_helpers_ = helper;
  passed_.notify_all();
  passed_.wait(lock, [&] { return is_helpers_ != helper; });
}

bool Helper::resume() {
  pass_to(true);
  if (main_) return true;
  const std::lock_guard lock(idle().mutex);
  idle().helpers.push_back(this);
  return false;
}

void Helper::give_way() { pass_to(false); }

}  // namespace cuda_on_cpu
