// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/passes/side_terms.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "device/buffer.hpp"
#include "device/cuda/launch.cuh"
#include "device/queue.hpp"
#include "stencil/cuda/text/build.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::stencil::cuda {
namespace {

template <class Value>
std::shared_ptr<Value> on_gpu(const std::vector<Value>& values) {
  const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(Value));
  auto memory = std::static_pointer_cast<Value>(device::allocate(Memory::device, bytes));
  device::copy(memory.get(), values.data(), bytes, Stream::host());
  return memory;
}

/// Those of sweeps that are not the first are left, unless the terms are the same for all.
template <class Real>
void set_terms(const problem::Model& model, const TimedSide& side, const problem::SideRule& rule,
               std::vector<problem::GhostTerms<Real>>& terms) {
  RuleValues values(model, rule, side.axis, side.end, 0);
  const Index cells = cells_of_side(side.along);
  for (int layer = 0; layer < side.side.layers; ++layer)
    for (Index along = 0; along < cells; ++along) {
      const PlaceAlong place = place_along(side.along, along);
      Int3 at{place.at[0], place.at[1], place.at[2]};
      at[side.axis] = side.end == 0 ? -1 - layer : side.domain + layer;
      const double h = static_cast<double>(2 * layer + 1) * side.spacing;
      const Index to = side.first + place_of_terms(side.side, cells, 0, layer, along);
      terms[static_cast<std::size_t>(to)] =
          problem::ghost_terms<Real>(rule.kind, values.at(at).data(), side.is_constant, h);
    }
}

}  // namespace

SideOfPass side_of_pass(const problem::Model& model, std::size_t field, std::size_t side) {
  const problem::ModelField& of = model.fields[field];
  const std::size_t axis = side / 2;
  SideOfPass one;
  if (!model.ghosts_change(field, side)) return one;
  const problem::SideRule& rule = *of.sides[side];
  one.kind = rule.kind;
  one.layers = side % 2 == 0 ? of.reach.lower[axis] : of.reach.upper[axis];
  one.by_sweep = rule.depends_on_time;
  const int values = values_of(rule.kind);
  one.by_place = std::any_of(rule.values.begin(), rule.values.begin() + values,
                             [&](auto value) { return !model.tree.is_constant(value); });
  return one;
}

std::string source_of_side_terms(const problem::Model& model) {
  return print_rules(model) + "\n#include \"stencil/cuda/passes/side_terms.cuh\"\n";
}

bool has_side_terms_at_hand(const problem::Model& model, bool may_compile) {
  bool is_needed = false;
  for (std::size_t field = 0; field < model.fields.size(); ++field)
    for (std::size_t side = 0; side < 6; ++side)
      is_needed = is_needed || side_of_pass(model, field, side).by_sweep;
  if (!is_needed) return true;
  const std::string source = source_of_side_terms(model), name = name_of_make_terms(model);
  if (!may_compile) return code_at_hand(source, name).has_value();
  code_of(source, name);
  return true;
}

template <class Real>
SideTerms<Real>::SideTerms(const problem::Model& model, const Operands& operands, int sweeps,
                           const Communicator* communicator) {
  int margin = 0;
  for (const problem::ModelField& field : model.fields)
    for (std::size_t axis = 0; axis < 3; ++axis)
      margin = std::max({margin, int{field.reach.lower[axis]}, int{field.reach.upper[axis]}});
  for (int axis = 0; axis < 3; ++axis) {
    if (axis >= model.axes) {
      along_[axis] = {.cells = 1, .margin = 0, .wraps = false};
      continue;
    }
    const bool wraps = model.periodic[static_cast<std::size_t>(axis)];
    along_[axis] = {.cells = model.cells[axis] + (wraps ? 0 : 2 * margin),
                    .margin = wraps ? 0 : margin,
                    .wraps = wraps};
  }
  std::vector<Terms> terms;
  std::vector<TimedSide> timed;
  for (std::size_t o = 0; o < operands.outputs.size(); ++o)
    for (std::size_t number = 0; number < 6; ++number) {
      const SideOfPass side = side_of_pass(model, operands.outputs[o], number);
      if (side.layers == 0 || problem::values_of(side.kind) == 0) continue;
      const auto& rule = *model.fields[operands.outputs[o]].sides[number];
      const int axis = static_cast<int>(number / 2), end = static_cast<int>(number % 2);
      TimedSide one{.side = side,
                    .axis = axis,
                    .end = end,
                    .rule = rule_number(operands.outputs[o], axis, end),
                    .is_constant = model.tree.is_constant(rule.values[0]),
                    .spacing = model.spacing[number / 2],
                    .domain = model.cells[axis],
                    .along = {along_[0], along_[1], along_[2]},
                    .first = static_cast<Index>(terms.size())};
      for (int other = 0; other < 3; ++other)
        if (other == axis || !side.by_place)
          one.along[other] = {.cells = 1, .margin = 0, .wraps = false};
      given_.push_back({o, number, one.first});
      const Index cells = cells_of_side(one.along);
      const Index all = place_of_terms(side, cells, sweeps, 0, 0);
      const Index of_one = place_of_terms(side, cells, 0, side.layers, 0);
      terms.resize(terms.size() + static_cast<std::size_t>(std::max(all, of_one)));
      most_cells_of_side_ = std::max(most_cells_of_side_, cells);
      if (side.by_sweep)
        timed.push_back(one);
      else
        set_terms(model, one, rule, terms);
    }
  if (terms.empty()) return;
  terms_[0] = on_gpu(terms);
  terms_[1] = timed.empty() ? terms_[0] : on_gpu(terms);
  if (!timed.empty()) load(model, timed, communicator);
}

template <class Real>
void SideTerms<Real>::load(const problem::Model& model, const std::vector<TimedSide>& timed,
                           const Communicator* communicator) {
  timed_count_ = static_cast<int>(timed.size());
  timed_ = on_gpu(timed);
  const Build build = build_for_all(communicator, [&] {
    return Build{.codes = {code_of(source_of_side_terms(model), name_of_make_terms(model))}};
  });
  compile_seconds_ = build.seconds;
  module_.emplace(build.codes.front());
  kernel_ = module_->template kernel<std::remove_pointer_t<Kernel>>();
  device::cuda::load(kernel_);
}

template <class Real>
void SideTerms<Real>::make(const Pass& pass, int turn, Stream stream) const {
  SideTermsWork<Real> work{.terms = terms_[turn].get(),
                           .sides = timed_.get(),
                           .blocks_of_side = 0,
                           .sweeps = static_cast<int>(pass.sweeps),
                           .first_sweep = pass.first_sweep,
                           .clock = pass.clock};
  work.blocks_of_side =
      static_cast<int>(device::cuda::blocks_for(most_cells_of_side_ * pass.sweeps, block_threads));
  device::cuda::launch(kernel_, static_cast<unsigned>(work.blocks_of_side * timed_count_),
                       block_threads, stream, work, PrintedRules{});
}

template class SideTerms<float>;
template class SideTerms<double>;

}  // namespace halocline::stencil::cuda
