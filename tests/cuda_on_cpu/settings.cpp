// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>

#include "cuda_on_cpu/threads.hpp"

namespace cuda_on_cpu {
namespace {

std::string_view get(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view wanted) {
  fatal(
      (std::string(name) + " is '" + std::string(value) + "', not " + std::string(wanted)).c_str());
}

template <class T>
T number(const char* name, std::string_view digits, T otherwise) {
  if (digits.empty()) return otherwise;
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size())
    refuse(name, digits, "a number");
  return value;
}

template <class T>
T word(const char* name, const std::map<std::string_view, T>& known, T otherwise) {
  const std::string_view value = get(name);
  if (value.empty()) return otherwise;
  if (const auto found = known.find(value); found != known.end()) return found->second;
  std::string wanted;
  for (const auto& [text, meaning] : known)
    wanted += (wanted.empty() ? "" : " or ") + std::string(text);
  refuse(name, value, wanted);
}

}  // namespace

Settings read_settings() {
  Settings is;
  is.devices = number("CUDA_ON_CPU_DEVICES", get("CUDA_ON_CPU_DEVICES"), is.devices);
  is.memory_bytes =
      number("CUDA_ON_CPU_MEMORY_BYTES", get("CUDA_ON_CPU_MEMORY_BYTES"), is.memory_bytes);
  constexpr std::string_view random = "random:";
  if (const auto order = get("CUDA_ON_CPU_ORDER"); order.starts_with(random)) {
    is.order = Order::random;
    is.seed = number("CUDA_ON_CPU_ORDER", order.substr(random.size()), is.seed);
  } else {
    is.order = word<Order>("CUDA_ON_CPU_ORDER",
                           {{"eager", Order::eager},
                            {"lazy", Order::lazy},
                            {"random:SEED", Order::random},
                            {"thread", Order::thread}},
                           is.order);
  }
  is.mode = word<Mode>(
      "CUDA_ON_CPU_COMPUTE_MODE",
      {{"default", Mode::shared}, {"exclusive", Mode::exclusive}, {"prohibited", Mode::prohibited}},
      is.mode);
  is.driver = word<Driver>(
      "CUDA_ON_CPU_DRIVER",
      {{"absent", Driver::absent}, {"old", Driver::old}, {"none", Driver::none}}, is.driver);
  is.ipc = word<bool>("CUDA_ON_CPU_IPC", {{"absent", false}}, is.ipc);
  is.vmm = word<bool>("CUDA_ON_CPU_VMM", {{"absent", false}}, is.vmm);
  is.p2p = word<bool>("CUDA_ON_CPU_P2P", {{"absent", false}}, is.p2p);
  is.pageable = word<bool>("CUDA_ON_CPU_PAGEABLE", {{"0", false}, {"1", true}}, is.pageable);
  is.host_readable =
      word<bool>("CUDA_ON_CPU_DEVICE_MEMORY", {{"host-readable", true}}, is.host_readable);
  is.launch_blocking =
      word<bool>("CUDA_LAUNCH_BLOCKING", {{"0", false}, {"1", true}}, is.launch_blocking);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) is.visible = visible;
  return is;
}

}  // namespace cuda_on_cpu
