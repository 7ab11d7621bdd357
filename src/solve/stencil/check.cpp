// SPDX-License-Identifier: Apache-2.0
#include "stencil/check.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::stencil {
namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(ErrorKind::internal, text); }
template <class First, class... Rest>
[[noreturn]] void fail(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) {
  fail(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...));
}

std::string written(const Box& box) {
  return fmt::format("[{},{}) x [{},{}) x [{},{})", box.lower.x, box.upper.x, box.lower.y,
                     box.upper.y, box.lower.z, box.upper.z);
}

void check_held(const FieldStorage& field, const Box& box, const char* what) {
  const Box held = field.shape().held();
  if (!held.contains(box))
    fail("a sweep {} the cells {}, but field '{}' holds {}", what, written(box), field.name(),
         written(held));
}

void check_field(const FieldStorage& field, const problem::Model& model, SweptBy by) {
  const Memory memory = field.shape().memory;
  if (by == SweptBy::gpu ? !gpu_reads(memory) : !host_reads(memory))
    fail("a sweep on the {} cannot reach field '{}' in {} memory",
         by == SweptBy::gpu ? "GPU" : "host", field.name(), name_of(memory));
  if (field.shape().element_bytes != model.element_bytes())
    fail("a sweep in {} was given field '{}' of {} bytes per element", name_of(model.precision),
         field.name(), field.shape().element_bytes);
}

/// Returns the cells that a pass reads. Beyond the domain those next to it, which no sweep changes.
Box read_by(const Pass& pass, const problem::Model& model, const problem::Reach& reach) {
  Box box = pass.region;
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (pass.wraps[a]) continue;
    const auto within = [&](std::int64_t layers, std::int64_t to_side) {
      const std::int64_t all = pass.sweeps * layers;
      return model.periodic[a] ? all : std::min(all, std::max<std::int64_t>(to_side, 0) + layers);
    };
    box.lower[axis] -= within(reach.lower[a], pass.region.lower[axis]);
    box.upper[axis] += within(reach.upper[a], model.cells[axis] - pass.region.upper[axis]);
  }
  return box;
}

}  // namespace

void check_pass(const Pass& pass, const problem::Model& model, SweptBy by, Stream stream) {
  if (stream.is_host() == (by == SweptBy::gpu))
    fail(by == SweptBy::gpu ? "a sweep on a GPU was given the host's stream"
                            : "a sweep on the host was given a GPU's stream");
  if (pass.sweeps < 1 || pass.sweeps > most_sweeps_of_pass)
    fail("a pass cannot be one of {} sweeps", pass.sweeps);
  if (pass.norms.kind != Norm::none && pass.norms.sum == nullptr && pass.norms.parts == nullptr)
    fail("a sweep with a norm has no destination for it");
  if (by == SweptBy::host && (pass.norms.parts != nullptr || pass.reduction.parts != nullptr ||
                              pass.stop != nullptr || pass.faces != nullptr))
    fail("a sweep on the host has no partial norms, reductions, stop words or faces");
  if (pass.in.size() != model.fields.size() || pass.out.size() != model.fields.size() ||
      pass.coefficients.size() != model.coefficients.size())
    fail("a sweep of {} fields and {} coefficients was given {}, {} and {}", model.fields.size(),
         model.coefficients.size(), pass.in.size(), pass.out.size(), pass.coefficients.size());
  for (const Fields& fields : {pass.in, pass.out, pass.coefficients})
    for (const FieldStorage& field : fields) {
      check_field(field, model, by);
      if (field.as_bricks() != pass.out[0].as_bricks())
        fail("a sweep was given field '{}' in another layout than '{}'", field.name(),
             pass.out[0].name());
    }
  if (pass.region.empty()) return;
  for (int axis = 0; axis < 3; ++axis)
    if (pass.wraps[static_cast<std::size_t>(axis)] &&
        (by == SweptBy::host || pass.region.lower[axis] != 0 ||
         pass.region.upper[axis] != model.cells[axis]))
      fail("a sweep of the cells {} cannot wrap around axis {}", written(pass.region), axis);
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    check_held(pass.in[f], read_by(pass, model, model.fields[f].reach), "reads");
    check_held(pass.out[f], pass.region, "writes");
  }
  for (std::size_t c = 0; c < model.coefficients.size(); ++c)
    check_held(pass.coefficients[c], read_by(pass, model, model.coefficients[c].reach), "reads");
}

}  // namespace halocline::stencil
