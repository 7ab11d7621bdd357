// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/passes/passes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "compiler/cuda/compiler.hpp"
#include "device/cuda/launch.cuh"
#include "stencil/cuda/arguments.hpp"
#include "stencil/cuda/passes/division.hpp"
#include "stencil/cuda/passes/shapes.hpp"
#include "stencil/cuda/passes/side_terms.hpp"
#include "stencil/cuda/text/build.hpp"
#include "stencil/cuda/text/prebuilt.hpp"
#include "stencil/cuda/walks/shapes.hpp"

namespace halocline::stencil::cuda {
namespace {

struct Wanted {
  PassForm form;
  Norm kind;
};

/// Returns the most sweeps of passes under these options.
int most_sweeps(const problem::Model& model, const SweepOptions& options,
                const PrintedUpdate& update) {
  return std::min(static_cast<int>(options.sweeps_per_pass), most_sweeps_of(model, update));
}

std::vector<Wanted> kernels_for(const problem::Model& model, const SweepOptions& options,
                                const PrintedUpdate& update) {
  const int most = most_sweeps(model, options, update);
  std::vector<int> sweeps{most};
  if (const int few = most / 4; few > 1) sweeps.push_back(few);
  std::vector<Wanted> wanted;
  for (const int count : sweeps)
    for (const halocline::Norm norm : options.norms)
      wanted.push_back(
          {form_of(model, update, count, norm, options.largest_part.value_or(model.cells)),
           norm_of(norm)});
  return wanted;
}

/// Finds or compiles kernels, with fewer blocks where too many values would not fit in registers.
/// `choice` has the blocks of each, in four bits. Returns nothing if one would have to be compiled
/// and may not be.
std::optional<Build> built(const problem::Model& model, const PrintedUpdate& update,
                           std::vector<Wanted> wanted, bool may_compile) {
  const ArgumentRoom room = argument_rooms[room_number_for(update.operands)];
  const std::string source = source_of_passes(model, update);
  Build build;
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    PassForm& form = wanted[w].form;
    for (;; --form.blocks) {
      const std::string name = name_of_pass(model, kind_of(wanted[w].kind), form, room);
      const auto code =
          may_compile ? std::optional(code_of(source, name)) : code_at_hand(source, name);
      if (!code) return std::nullopt;
      const compiler::Module loaded(*code);
      if (form.blocks > 1 &&
          device::cuda::spilled_bytes(loaded.kernel<void()>()) > most_spilled_bytes)
        continue;
      build.choice |= static_cast<std::size_t>(form.blocks) << 4 * w;
      build.codes.push_back(*code);
      break;
    }
  }
  return build;
}

template <class Real, int inputs, int outputs>
class CudaPasses final : public Passes {
 public:
  CudaPasses(const problem::Model& model, const SweepOptions& options, const PrintedUpdate& update)
      : model_(model),
        update_(update),
        layers_(model, update),
        part_(options.largest_part.value_or(model.cells)),
        sides_(model, update.operands, most_sweeps(model, options, update), options.communicator),
        compile_seconds_(sides_.compile_seconds()) {
    make(kernels_for(model, options, update), options.communicator);
  }

  std::int64_t sweeps_in(std::int64_t most, const Box& region) const override {
    std::int64_t best = 1;
    for (const One& one : all_)
      if (one.form.sweeps <= most && one.at_once > 0 && has_room_for_norms(one.form, region))
        best = std::max<std::int64_t>(best, one.form.sweeps);
    return best;
  }

  void run(const Pass& pass, Stream stream) override {
    const One one = kernel_of(static_cast<int>(pass.sweeps), norm_of(pass.norms.kind));
    Arguments work = work_for(pass);
    sides_.give(pass, work, stream);
    const Division division =
        division_of(layers_, side_walks_of(model_, update_, one.form.sweeps), one.form,
                    region_in(work), std::max<std::int64_t>(one.at_once, 1));
    work.walks = division.walks;
    device::cuda::launch({.shared_bytes = one.block_bytes}, one.kernel,
                         static_cast<unsigned>(division.blocks), threads_of(one.form), stream, work,
                         constants_in<Real>(update_));
    next_part_ = work.first_part + division.blocks;
  }

  double compile_seconds() const override { return compile_seconds_; }

 private:
  using Arguments = PassWork<Real, inputs, outputs>;
  using Kernel = void (*)(Arguments, PrintedConstants<Real>);
  struct One : Wanted {
    Kernel kernel = nullptr;
    std::size_t block_bytes = 0;
    std::int64_t at_once = 0;  ///< walks that the GPU runs at the same time; 0: it cannot run one
  };
  static unsigned threads_of(const PassForm& form) {
    return static_cast<unsigned>(form.warps * warp_lanes);
  }

  /// Blocks leave a partial norm each: whether there is room for those of one layer of walks.
  bool has_room_for_norms(const PassForm& form, const Box& region) const {
    const RegionOfPass most{.columns = region.extent().x + vector_cells<Real>,
                            .rows = layers_.axes == 3 ? region.extent().y : 1,
                            .layers = 1,
                            .has_below = true,
                            .has_above = true};
    return fewest_walks(layers_, form, most) <=
           most_blocks_of_pass * walks_of_block(form, layers_.axes);
  }

  void make(const std::vector<Wanted>& wanted, const Communicator* communicator) {
    const Build build =
        build_for_all(communicator, [&] { return *built(model_, update_, wanted, true); });
    compile_seconds_ += build.seconds;
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      One one{wanted[w]};
      one.form.blocks = static_cast<int>(build.choice >> 4 * w & 15);
      one.kernel =
          modules_.emplace_back(build.codes[w]).template kernel<std::remove_pointer_t<Kernel>>();
      one.block_bytes = block_bytes_of(model_, update_, one.form);
      one.at_once =
          walks_of_block(one.form, layers_.axes) *
          device::cuda::most_resident_blocks(one.kernel, threads_of(one.form), one.block_bytes);
      all_.push_back(one);
    }
  }

  /// Those of other norms than were told of are compiled when they are asked for.
  const One& kernel_of(int sweeps, Norm kind) {
    for (const One& one : all_)
      if (one.form.sweeps == sweeps && one.kind == kind) return one;
    make({{form_of(model_, update_, sweeps, kind_of(kind), part_), kind}}, nullptr);
    return all_.back();
  }

  Arguments work_for(const Pass& pass) const {
    const Box& region = pass.region;
    Arguments work{};
    const Operands& operands = update_.operands;
    work.lead = lead_of<Real>(field::address_of(pass.out[operands.outputs[0]], region.lower));
    const auto at_boundary = [&](auto array) {
      array.cell -= work.lead;
      return array;
    };
    for (std::size_t i = 0; i < operands.inputs.size(); ++i)
      work.in[i] = at_boundary(
          array_of<const Real>(input_of(pass.in, pass.coefficients, operands.inputs[i]), region));
    for (std::size_t o = 0; o < operands.outputs.size(); ++o)
      work.out[o] = at_boundary(array_of<Real>(pass.out[operands.outputs[o]], region));
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      if (const auto& followed = model_.fields[f].follows)
        work.before[output_of(*followed)] = at_boundary(array_of<Real>(pass.out[f], region));
    Box readable = pass.in[0].shape().held(), changing = readable;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      constexpr std::int64_t far = 1 << 30;
      work.cells[axis] = region.extent()[axis];
      work.origin[axis] = region.lower[axis];
      work.around[axis] = pass.wraps[a] ? work.cells[axis] : 0;
      if (pass.wraps[a]) {
        readable.lower[axis] = region.lower[axis];
        readable.upper[axis] = region.upper[axis];
      }
      changing.lower[axis] = model_.periodic[a] ? region.lower[axis] - far : 0;
      changing.upper[axis] = model_.periodic[a] ? region.upper[axis] + far : model_.cells[axis];
    }
    work.readable = range_in(region, readable);
    work.changing = range_in(region, changing);
    work.owned = owned_within(region, pass.out[0].shape().owned);
    work.first_sweep = pass.first_sweep;
    work.clock = pass.clock;
    work.parts = pass.norms.parts;
    work.first_part = pass.is_first ? 0 : next_part_;
    work.is_last = pass.is_last;
    work.stop = pass.stop;
    return work;
  }

  std::size_t output_of(std::size_t field) const {
    const std::vector<std::size_t>& outputs_ = update_.operands.outputs;
    return static_cast<std::size_t>(std::find(outputs_.begin(), outputs_.end(), field) -
                                    outputs_.begin());
  }

  RegionOfPass region_in(const Arguments& work) const {
    const bool has_below = work.changing.lower[1] < 0;
    const bool has_above = work.changing.upper[1] > work.cells[1];
    return {.columns = work.lead + work.cells[0],
            .rows = layers_.axes == 3 ? work.cells[1] : 1,
            .layers = work.cells[layers_.axes - 1],
            .has_below = has_below,
            .has_above = has_above};
  }

  const problem::Model& model_;
  PrintedUpdate update_;
  LayersOfPass layers_;
  Int3 part_;
  SideTerms<Real> sides_;
  std::vector<compiler::Module> modules_;
  std::vector<One> all_;
  Index next_part_ = 0;
  double compile_seconds_;
};

/// Makes the passes with the room for arguments of that number, counted from `number` on.
template <class Real, std::size_t number = 0>
std::unique_ptr<Passes> make_for(const problem::Model& model, const SweepOptions& options,
                                 const PrintedUpdate& update) {
  constexpr ArgumentRoom room = argument_rooms[number];
  if constexpr (number + 1 < std::size(argument_rooms))
    if (room_number_for(update.operands) > number)
      return make_for<Real, number + 1>(model, options, update);
  return std::make_unique<CudaPasses<Real, room.inputs, room.outputs>>(model, options, update);
}

}  // namespace

std::unique_ptr<Passes> make_passes(const problem::Model& model, const SweepOptions& options) {
  const PrintedUpdate update = print_update(model);
  if (model.precision == Precision::f32) return make_for<float>(model, options, update);
  return make_for<double>(model, options, update);
}

bool has_passes_at_hand(const problem::Model& model, const SweepOptions& options,
                        bool may_compile) {
  const PrintedUpdate update = print_update(model);
  return has_side_terms_at_hand(model, may_compile) &&
         built(model, update, kernels_for(model, options, update), may_compile).has_value();
}

}  // namespace halocline::stencil::cuda
