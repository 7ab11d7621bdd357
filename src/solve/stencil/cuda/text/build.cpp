// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/text/build.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
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
  std::string facts;
  comm::on_first_rank(*communicator, [&] {
    build = make();
    facts = fmt::format("{}\n", build.choice);
    for (const compiler::Code& code : build.codes)
      facts += fmt::format("{} {:d}\n", code.kernel, code.is_prebuilt);
  });
  std::istringstream lines(comm::broadcast(*communicator, std::move(facts), 0));
  lines >> build.choice;
  compiler::Code code;
  for (std::size_t at = 0; lines >> code.kernel >> code.is_prebuilt; ++at) {
    if (at == build.codes.size()) build.codes.push_back(code);
    std::string& image = build.codes[at].image;
    image = comm::broadcast(*communicator, std::move(image), 0);
  }
  return build;
}

}  // namespace

Build build_for_all(const Communicator* communicator, const std::function<Build()>& make) {
  const auto begun = std::chrono::steady_clock::now();
  Build build = made(communicator, make);
  if (!std::all_of(build.codes.begin(), build.codes.end(),
                   [](const compiler::Code& code) { return code.is_prebuilt; }))
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
