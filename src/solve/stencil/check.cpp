// SPDX-License-Identifier: Apache-2.0
#include "stencil/check.hpp"

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::stencil {
namespace {

std::string written(const Box& box) {
  return fmt::format("[{},{}) x [{},{}) x [{},{})", box.lower.x, box.upper.x, box.lower.y,
                     box.upper.y, box.lower.z, box.upper.z);
}

void check_held(const FieldStorage& field, const Box& box, const char* what) {
  const Box held = field.shape().held();
  if (!held.contains(box))
    throw Error(ErrorKind::internal, fmt::format("a sweep {} the cells {}, but field '{}' holds {}",
                                                 what, written(box), field.name(), written(held)));
}

}  // namespace

void check_arguments(const SweepArguments& arguments, const SweepNeeds& needs, Stream stream) {
  if (stream.is_host() == needs.on_gpu)
    throw Error(ErrorKind::internal, needs.on_gpu ? "a sweep on a GPU was given the host's stream"
                                                  : "a sweep on the host was given a GPU's stream");
  if (arguments.norm != Norm::none && arguments.norm_sum == nullptr &&
      arguments.partial_norms == nullptr)
    throw Error(ErrorKind::internal, "a sweep with a norm has no destination for it");
  if (!needs.on_gpu &&
      (arguments.partial_norms != nullptr || arguments.reduction.parts != nullptr ||
       arguments.stop != nullptr || arguments.faces != nullptr))
    throw Error(ErrorKind::internal,
                "a sweep on the host has no partial norms, reductions, stop words or faces");
  const std::int64_t element_bytes = needs.precision == problem::Precision::f32 ? 4 : 8;
  for (const FieldStorage* field : {&arguments.in, &arguments.out}) {
    const Memory memory = field->shape().memory;
    if (needs.on_gpu ? !gpu_reads(memory) : !host_reads(memory))
      throw Error(ErrorKind::internal,
                  fmt::format("a sweep on the {} cannot reach field '{}' in {} memory",
                              needs.on_gpu ? "GPU" : "host", field->name(), name_of(memory)));
    if (field->shape().element_bytes != element_bytes)
      throw Error(
          ErrorKind::internal,
          fmt::format("a sweep in {} was given field '{}' of {} bytes per element",
                      name_of(needs.precision), field->name(), field->shape().element_bytes));
  }
  if (arguments.region.empty()) return;
  Box read = arguments.region;
  for (int axis = 0; axis < needs.axes; ++axis) {
    read.lower[axis] -= 1;
    read.upper[axis] += 1;
  }
  check_held(arguments.in, read, "reads");
  check_held(arguments.out, arguments.region, "writes");
}

}  // namespace halocline::stencil
