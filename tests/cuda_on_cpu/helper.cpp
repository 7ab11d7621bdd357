#include "helper.hpp"

#include <utility>

namespace cuda_on_cpu {

Helper::Helper(std::function<void(Helper&)> main)
    : thread_([this, main = std::move(main)] {
        {
          std::unique_lock lock(mutex_);
          passed_.wait(lock, [this] { return is_helpers_; });
        }
        main(*this);
        const std::lock_guard lock(mutex_);
        has_ended_ = true;
        is_helpers_ = false;
        passed_.notify_all();
      }) {}

void Helper::pass_to(bool helper) {
  std::unique_lock lock(mutex_);
  is_helpers_ = helper;
  passed_.notify_all();
  passed_.wait(lock, [&] { return is_helpers_ != helper; });
}

bool Helper::resume() {
  pass_to(true);
  return !has_ended_;
}

void Helper::give_way() { pass_to(false); }

}  // namespace cuda_on_cpu
