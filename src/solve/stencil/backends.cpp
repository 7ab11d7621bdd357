// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/find_named.hpp"
#include "stencil/cpu/backend.hpp"
#include "stencil/cuda/backend.hpp"
#include "stencil/ghosts.hpp"
#include "stencil/persistent.hpp"
#include "stencil/reference/backend.hpp"
#include "stencil/sweep.hpp"
#include "text/refuse.hpp"

namespace halocline::stencil {

void Sweep::reduce(const NormReduction&, Stream) {
  throw Error(ErrorKind::internal, "only sweeps on a GPU leave partial norms to reduce");
}

std::int64_t Sweep::sweeps_in_pass(std::int64_t, const Pass&) const { return 1; }

int Sweep::rows_of_pushing_tile(Fields, Fields, Fields) const { return 0; }

bool Sweep::can_wrap(int, Fields, Fields) const { return false; }

std::optional<std::string> Backend::cannot_pass_because(const problem::Model&) const {
  return fmt::format("backend {} makes one sweep at a time", name());
}

std::unique_ptr<ChangingGhosts> Backend::make_ghosts(const Ghosts& ghosts,
                                                     const SweepOptions&) const {
  return make_host_ghosts(ghosts);
}

std::unique_ptr<PersistentSweep> Backend::make_persistent(const PersistentParts&) const {
  throw Error(ErrorKind::unavailable, fmt::format("backend {} has no persistent sweeps", name()));
}

std::span<const Backend* const> backends() {
  static const reference::Backend reference_backend;
  static const cpu::Backend cpu_backend;
  static const cuda::Backend cuda_backend;
  static const std::array<const Backend*, 3> all{
      &reference_backend,  //
      &cpu_backend,        //
      &cuda_backend,       //
  };
  return all;
}

Formulas read_formulas(std::string_view word) {
  if (word == "auto") return Formulas::automatic;
  if (word == "compiled") return Formulas::compiled;
  if (word == "interpreted") return Formulas::interpreted;
  refuse("option 'formulas' cannot be '{}'; use auto, compiled or interpreted", word);
}

const Backend& find_backend(std::string_view name) {
  return find_named("backend", name, backends(), &Backend::name);
}

}  // namespace halocline::stencil
