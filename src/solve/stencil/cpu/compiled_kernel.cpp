// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/compiled_kernel.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/hash.hpp"
#include "comm/collectives.hpp"
#include "compiler/host_compiler.hpp"
#include "compiler/kept_code.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cpu/text/arguments.hpp"
#include "stencil/cpu/text/printed.hpp"

namespace halocline::stencil::cpu {
namespace {

class PrintedKernel final : public Kernel {
 public:
  PrintedKernel(PrintedUpdate update, Update* function,
                std::optional<compiler::HostCode> code = std::nullopt)
      : operands_(std::move(update.operands)),
        constants_(update.constants),
        code_(std::move(code)),
        update_(function) {}

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
                              .norm = norm.kind == Norm::max  ? 1
                                      : norm.kind == Norm::l2 ? 2
                                                              : 0,
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
  std::optional<compiler::HostCode> code_;  // that the function is in
  Update* update_;
};

std::vector<std::string> flags_of(std::string_view level) {
  std::vector<std::string> flags{"-DHALOCLINE_VECTORS=compiled",
                                 "-DHALOCLINE_UPDATE=halocline_update"};
  for (const LevelFlags& one : level_flags()) {
    if (one.level != level) continue;
    std::istringstream words{std::string(one.flags)};
    for (std::string word; words >> word;) flags.push_back(word);
  }
  return flags;
}

/// Returns the function that is compiled in, if there is one; for any level.
Update* built_in(const PrintedUpdate& update, std::string_view level = {}) {
  const std::string text = compiler::content_hash(update.source);
  for (const BuiltInUpdate& one : built_in_updates())
    if (one.text == text && (level.empty() || one.level == level)) return one.update;
  return nullptr;
}

/// How the rows of a sample lie in memory.
struct Lie {
  std::int64_t shift;     ///< elements from an address that is aligned to the first
  std::int64_t multiple;  ///< of elements, from a row to the next
};

/// Cells of a field or coefficient around a block, with values of their own.
template <class Real>
class Sample {
 public:
  Sample(const Int3& cells, const problem::Reach& reach, std::uint64_t number, const Lie& lie) {
    Int3 extent{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      before_[axis] = reach.lower[a];
      extent[axis] = reach.lower[a] + cells[axis] + reach.upper[a];
    }
    step_.y = (extent.x + lie.multiple - 1) / lie.multiple * lie.multiple;
    step_.z = step_.y * extent.y;
    count_ = step_.z * extent.z + line_;
    values_.resize(static_cast<std::size_t>(count_ + line_));
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data()) / sizeof(Real);
    first_ = (line_ - static_cast<std::int64_t>(address) % line_ + lie.shift) % line_;
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::uint64_t bits = mix(number * 0x10001 + static_cast<std::uint64_t>(i));
      values_[static_cast<std::size_t>(first_ + i)] =
          static_cast<Real>(0.25 + std::ldexp(static_cast<double>(bits >> 11), -53));
    }
  }

  Corner corner() {
    Real* const first = values_.data() + first_;
    return {
        reinterpret_cast<std::byte*>(first + before_.x + before_.y * step_.y + before_.z * step_.z),
        step_};
  }
  /// All of the memory, so that what is stored beside the block is seen.
  bool equals(const Sample& other) const {
    const auto first = values_.begin() + first_;
    return std::equal(first, first + count_, other.values_.begin() + other.first_,
                      [](Real a, Real b) { return a == b || (a != a && b != b); });
  }

 private:
  static constexpr std::int64_t line_ = 64 / std::int64_t{sizeof(Real)};
  Int3 before_{}, step_{1, 0, 0};
  std::int64_t first_ = 0, count_ = 0;
  std::vector<Real> values_;
};

/// Returns whether two kernels compute the same bits of a block that lies so.
template <class Real>
bool agree(const Kernel& one, const Kernel& other, const problem::Model& model, const Lie& lie) {
  // No larger than the domain: indices image periodic ones once.
  const Int3 most{101, 19, 7}, of_domain = model.cells;
  const Int3 cells{std::min(most.x, of_domain.x), std::min(most.y, of_domain.y),
                   std::min(most.z, of_domain.z)};
  std::vector<Sample<Real>> in, out, expected;
  const auto add = [&](const problem::Reach& reach) {
    in.emplace_back(cells, reach, in.size(), lie);
  };
  for (const problem::ModelField& field : model.fields) {
    add(field.reach);
    out.emplace_back(cells, problem::Reach{}, 1000, lie);
    expected.emplace_back(cells, problem::Reach{}, 1000, lie);
  }
  for (const problem::ModelCoefficient& coefficient : model.coefficients) add(coefficient.reach);
  const auto run = [&](const Kernel& kernel, std::vector<Sample<Real>>& results, BlockNorm& norm) {
    Block block{.in = {}, .out = {}, .cells = {{}, cells}, .time = 0.5};
    for (Sample<Real>& sample : in) block.in.push_back(sample.corner());
    for (Sample<Real>& sample : results) block.out.push_back(sample.corner());
    kernel.update(block, Stores::cached, norm);
  };
  const Norm kind = model.norm_of.empty() ? Norm::none : Norm::max;
  BlockNorm norm{.kind = kind}, expected_norm{.kind = kind};
  run(one, out, norm);
  run(other, expected, expected_norm);
  const bool are_norms_equal = norm.max == expected_norm.max ||
                               (norm.max != norm.max && expected_norm.max != expected_norm.max);
  return are_norms_equal &&
         std::equal(out.begin(), out.end(), expected.begin(),
                    [](const Sample<Real>& a, const Sample<Real>& b) { return a.equals(b); });
}

/// The same, of rows by themselves and side by side, that begin anywhere.
template <class Real>
bool agree(const Kernel& one, const Kernel& other, const problem::Model& model) {
  const Lie lies[] = {{0, 1}, {3, 1}, {0, 16}, {5, 16}};
  return std::all_of(std::begin(lies), std::end(lies),
                     [&](const Lie& lie) { return agree<Real>(one, other, model, lie); });
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
  PrintedUpdate update = print_update(model);
  if (Update* const function = built_in(update, level);
      function != nullptr && options.formulas == Formulas::automatic)
    return {.kernel = std::make_unique<PrintedKernel>(std::move(update), function), .why_not = ""};
  const Ranks ranks(options.communicator);
  const std::string level_of_first = ranks.from_first([&] { return std::string(level); });
  if (!ranks.first(level == level_of_first ? "" : "differs").empty())
    return refused("ranks have different vectors");

  const auto begun = std::chrono::steady_clock::now();
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
    const compiler::HostCode code(made.substr(1));
    compiled.kernel = std::make_unique<PrintedKernel>(
        std::move(update), code.function<Update>("halocline_update"), code);
    const bool is_right = model.precision == Precision::f32
                              ? agree<float>(*compiled.kernel, interpreted, model)
                              : agree<double>(*compiled.kernel, interpreted, model);
    if (!is_right)
      throw Error(ErrorKind::unavailable, "the compiler's code gives other bits than it should");
  }));
  if (!error.empty()) return refused(error);
  compiled.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  return compiled;
}

}  // namespace halocline::stencil::cpu

bool halocline::stencil::is_compiled_in(const problem::Model& model) {
  return !cannot_be_compiled_because(model) && cpu::built_in(cpu::print_update(model)) != nullptr;
}
