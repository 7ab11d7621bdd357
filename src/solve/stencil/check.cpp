// SPDX-License-Identifier: Apache-2.0
#include "stencil/check.hpp"

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

Box read_around(Box box, const problem::Reach& reach, const std::array<bool, 3>& wraps) {
  for (int axis = 0; axis < 3; ++axis) {
    if (wraps[static_cast<std::size_t>(axis)]) continue;
    box.lower[axis] -= reach.lower[static_cast<std::size_t>(axis)];
    box.upper[axis] += reach.upper[static_cast<std::size_t>(axis)];
  }
  return box;
}

}  // namespace

void check_arguments(const SweepArguments& arguments, const problem::Model& model, SweptBy by,
                     Stream stream) {
  if (stream.is_host() == (by == SweptBy::gpu))
    fail(by == SweptBy::gpu ? "a sweep on a GPU was given the host's stream"
                            : "a sweep on the host was given a GPU's stream");
  if (arguments.norm != Norm::none && arguments.norm_sum == nullptr &&
      arguments.partial_norms == nullptr)
    fail("a sweep with a norm has no destination for it");
  if (by == SweptBy::host &&
      (arguments.partial_norms != nullptr || arguments.reduction.parts != nullptr ||
       arguments.stop != nullptr || arguments.faces != nullptr))
    fail("a sweep on the host has no partial norms, reductions, stop words or faces");
  if (arguments.in.size() != model.fields.size() || arguments.out.size() != model.fields.size() ||
      arguments.coefficients.size() != model.coefficients.size())
    fail("a sweep of {} fields and {} coefficients was given {}, {} and {}", model.fields.size(),
         model.coefficients.size(), arguments.in.size(), arguments.out.size(),
         arguments.coefficients.size());
  for (const Fields& fields : {arguments.in, arguments.out, arguments.coefficients})
    for (const FieldStorage& field : fields) {
      check_field(field, model, by);
      if (field.as_bricks() != arguments.out[0].as_bricks())
        fail("a sweep was given field '{}' in another layout than '{}'", field.name(),
             arguments.out[0].name());
    }
  if (arguments.region.empty()) return;
  for (int axis = 0; axis < 3; ++axis)
    if (arguments.wraps[static_cast<std::size_t>(axis)] &&
        (by == SweptBy::host || arguments.region.lower[axis] != 0 ||
         arguments.region.upper[axis] != model.cells[axis]))
      fail("a sweep of the cells {} cannot wrap around axis {}", written(arguments.region), axis);
  for (std::size_t f = 0; f < model.fields.size(); ++f) {
    check_held(arguments.in[f],
               read_around(arguments.region, model.fields[f].reach, arguments.wraps), "reads");
    check_held(arguments.out[f], arguments.region, "writes");
  }
  for (std::size_t c = 0; c < model.coefficients.size(); ++c)
    check_held(arguments.coefficients[c],
               read_around(arguments.region, model.coefficients[c].reach, arguments.wraps),
               "reads");
}

}  // namespace halocline::stencil
