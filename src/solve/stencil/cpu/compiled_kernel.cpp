// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/compiled_kernel.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/hash.hpp"
#include "comm/collectives.hpp"
#include "compiler/host_compiler.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cpu/text/arguments.hpp"
#include "stencil/cpu/text/printed.hpp"

namespace halocline::stencil::cpu {
namespace {

class PrintedKernel final : public Kernel {
 public:
  PrintedKernel(PrintedUpdate update, compiler::HostCode code)
      : operands_(std::move(update.operands)),
        constants_(update.constants),
        code_(std::move(code)),
        update_(code_.function<Update>("halocline_update")) {}

  void update(const Block& block, Stores stores, BlockNorm& norm) const override {
    std::array<BlockOfArray, most_inputs> in, out;
    for (std::size_t i = 0; i < operands_.inputs.size(); ++i)
      in[i] = block_of(block.in[operands_.inputs[i]]);
    for (std::size_t o = 0; o < operands_.outputs.size(); ++o)
      out[o] = block_of(block.out[operands_.outputs[o]]);
    const Int3 cells = block.extent(), lower = block.cells.lower;
    UpdateArguments arguments{.in = in.data(),
                              .out = out.data(),
                              .constants = constants_.data(),
                              .cells = {cells.x, cells.y, cells.z},
                              .lower = {lower.x, lower.y, lower.z},
                              .time = block.time,
                              .streamed = stores == Stores::streamed,
                              .norm = norm.kind == Norm::max ? 1 : norm.kind == Norm::l2 ? 2 : 0,
                              .max = norm.max,
                              .row_sums = norm.row_sums,
                              .plane = norm.plane};
    update_(arguments);
    norm.max = arguments.max;
  }

 private:
  static BlockOfArray block_of(const Corner& corner) {
    return {corner.cell, corner.step.y, corner.step.z};
  }

  Operands operands_;
  std::array<double, most_constants> constants_;
  compiler::HostCode code_;
  Update* update_;
};

std::vector<std::string> flags_of(std::string_view level) {
  std::vector<std::string> flags{"-DHALOCLINE_VECTORS=compiled",
                                 "-DHALOCLINE_UPDATE=halocline_update"};
  const auto add = [&](std::initializer_list<const char*> more) {
    flags.insert(flags.end(), more.begin(), more.end());
  };
  if (level == "sse4") add({"-msse4.2"});
  if (level == "avx2" || level == "avx512") add({"-mavx2", "-mfma", "-mbmi", "-mbmi2"});
  if (level == "avx512")
    add({"-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw", "-mavx512cd",
         "-mprefer-vector-width=512"});
  return flags;
}

/// Cells of a field or coefficient around a block, with values of their own.
template <class Real>
class Sample {
 public:
  Sample(const Int3& cells, const problem::Reach& reach, std::uint64_t number) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      before_[axis] = -reach.lower[a];
      extent_[axis] = cells[axis] + before_[axis] + reach.upper[a];
    }
    values_.resize(static_cast<std::size_t>(extent_.x * extent_.y * extent_.z));
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<Real>(
          0.25 + std::ldexp(static_cast<double>(mix(number * 0x10001 + i) >> 11), -53));
  }

  Corner corner() {
    const Int3 step{1, extent_.x, extent_.x * extent_.y};
    return {reinterpret_cast<std::byte*>(values_.data() + before_.x + before_.y * step.y +
                                         before_.z * step.z),
            step};
  }
  bool equals(const Sample& other) const {
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (values_[i] != other.values_[i] && values_[i] == values_[i]) return false;
    return true;
  }

 private:
  Int3 before_{}, extent_{};
  std::vector<Real> values_;
};

/// Returns whether two kernels compute the same bits of a block.
template <class Real>
bool agree(const Kernel& one, const Kernel& other, const problem::Model& model) {
  const Int3 cells{53, model.axes > 1 ? 19 : 1, model.axes > 2 ? 7 : 1};
  std::vector<Sample<Real>> in, out, expected;
  const auto add = [&](const problem::Reach& reach) { in.emplace_back(cells, reach, in.size()); };
  for (const problem::ModelField& field : model.fields) {
    add(field.reach);
    out.emplace_back(cells, problem::Reach{}, 1000);
    expected.emplace_back(cells, problem::Reach{}, 1000);
  }
  for (const problem::ModelCoefficient& coefficient : model.coefficients) add(coefficient.reach);
  const Norm kind = model.norm_of.empty() ? Norm::none : Norm::max;
  BlockNorm norm{.kind = kind}, expected_norm{.kind = kind};
  const auto run = [&](const Kernel& kernel, std::vector<Sample<Real>>& results, BlockNorm& of) {
    Block block{.in = {}, .out = {}, .cells = {{}, cells}, .time = 0.5};
    for (Sample<Real>& sample : in) block.in.push_back(sample.corner());
    for (Sample<Real>& sample : results) block.out.push_back(sample.corner());
    kernel.update(block, Stores::cached, of);
  };
  run(one, out, norm);
  run(other, expected, expected_norm);
  for (std::size_t f = 0; f < out.size(); ++f)
    if (!out[f].equals(expected[f])) return false;
  return norm.max == expected_norm.max || (norm.max != norm.max && expected_norm.max != norm.max);
}

/// Of two ways to update the cells to come, compiled formulas are about this much faster.
bool is_worth_compiling(const problem::Model& model, const SweepOptions& options) {
  // Seconds of a core: tapes take 0.2 to 0.3 ns for an operation on a cell, compilation 1 to 3 s.
  constexpr double seconds_of_operation = 0.2e-9, seconds_saved = 5;
  const auto operations = static_cast<double>(nodes_of(model.tree, model.updates()).size());
  return options.updates_to_come * operations * seconds_of_operation / options.threads >
         seconds_saved;
}

/// Texts that all ranks have, where there are several.
class Ranks {
 public:
  explicit Ranks(const Communicator* all) : all_(all) {}

  /// Returns what rank 0 makes.
  std::string from_first(const std::function<std::string()>& make) const {
    if (all_ == nullptr) return make();
    return comm::broadcast(*all_, all_->rank() == 0 ? make() : std::string(), 0);
  }
  /// Returns the first of the texts that are not empty.
  std::string first(const std::string& text) const {
    return all_ == nullptr ? text : comm::first_text(*all_, text);
  }

 private:
  const Communicator* all_;
};

/// Calls `work`; returns the error that it throws, if any.
template <class Work>
std::string error_of(const Work& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

CompiledKernel make_compiled_kernel(std::string_view level, const problem::Model& model,
                                    const Kernel& interpreted, const SweepOptions& options) {
  if (options.formulas == Formulas::interpreted) return {};
  const bool is_wanted =
      options.formulas == Formulas::compiled || is_worth_compiling(model, options);
  const auto refused = [&](std::string why_not) {
    return CompiledKernel{.kernel = {}, .why_not = is_wanted ? std::move(why_not) : ""};
  };
  if (auto why_not = cannot_be_compiled_because(model)) return refused(*std::move(why_not));
  const Ranks ranks(options.communicator);
  const std::string level_of_first = ranks.from_first([&] { return std::string(level); });
  if (!ranks.first(level == level_of_first ? "" : "differs").empty())
    return refused("ranks have different vectors");

  const auto begun = std::chrono::steady_clock::now();
  PrintedUpdate update = print_update(model);
  const compiler::HostSource source{.text = text_of_rows() + update.source,
                                    .flags = flags_of(level)};
  // Its first letter: c, code; e, an error; n, neither is wanted.
  const std::string made = ranks.from_first([&] {
    std::string image;
    const std::string error = error_of([&] {
      if (is_wanted)
        image = compiler::compile_for_host(source);
      else if (auto known = compiler::find_compiled_for_host(source))
        image = *std::move(known);
    });
    return !error.empty() ? "e" + error : image.empty() ? "n" : "c" + image;
  });
  if (made.starts_with('n')) return {};
  if (made.starts_with('e')) return refused(made.substr(1));

  CompiledKernel compiled;
  const std::string error = ranks.first(error_of([&] {
    compiled.kernel =
        std::make_unique<PrintedKernel>(std::move(update), compiler::HostCode(made.substr(1)));
    const bool is_right = model.precision == Precision::f32
                              ? agree<float>(*compiled.kernel, interpreted, model)
                              : agree<double>(*compiled.kernel, interpreted, model);
    if (!is_right)
      throw Error(ErrorKind::unavailable, "the compiler's code gives other bits than it should");
  }));
  if (!error.empty()) return refused(error);
  compiled.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return compiled;
}

}  // namespace halocline::stencil::cpu
