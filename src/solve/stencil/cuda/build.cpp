// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/build.hpp"

#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "comm/collectives.hpp"
#include "device/cuda/runtime.hpp"

namespace halocline::stencil::cuda {
namespace {

/// Whether the GPUs of all ranks run the same code.
bool are_alike(const Communicator& communicator) {
  const auto kind = std::int64_t{device::cuda::compute_capability()};
  return comm::max_over_ranks(communicator, kind) == -comm::max_over_ranks(communicator, -kind);
}

Build made(const Communicator* communicator, const std::function<Build()>& make) {
  if (communicator == nullptr || communicator->size() == 1 || !are_alike(*communicator))
    return make();
  Build build;
  comm::on_first_rank(*communicator, [&] { build = make(); });
  build.code.image = comm::broadcast(*communicator, std::move(build.code.image), 0);
  const std::string names =
      comm::broadcast(*communicator, fmt::format("{}\n", fmt::join(build.code.kernels, "\n")), 0);
  build.choice = std::stoul(comm::broadcast(*communicator, std::to_string(build.choice), 0));
  build.code.kernels.clear();
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = names.find('\n', at);
    build.code.kernels.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  return build;
}

}  // namespace

Build build_for_all(const Communicator* communicator, const std::function<Build()>& make) {
  const auto begun = std::chrono::steady_clock::now();
  Build build = made(communicator, make);
  build.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return build;
}

bool any_rank(const Communicator* communicator, bool says_so) {
  return communicator == nullptr
             ? says_so
             : comm::max_over_ranks(*communicator, std::int64_t{says_so ? 1 : 0}) > 0;
}

void on_all_ranks(const Communicator* communicator, const std::function<void()>& work) {
  if (communicator == nullptr) return work();
  comm::together(*communicator, work);
}

}  // namespace halocline::stencil::cuda
