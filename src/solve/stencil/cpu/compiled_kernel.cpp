// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/compiled_kernel.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "compiler/host_compiler.hpp"
#include "compiler/kept_code.hpp"
#include "stencil/compiled.hpp"
#include "stencil/cpu/same_bits.hpp"
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

bool is_worth_compiling(const problem::Model& model, const SweepOptions& options) {
  if (options.formulas == Formulas::compiled) return true;
  // Interpreted, an operation on a cell takes 0.2 to 0.3 ns of a core; to compile, 1 to 3 s.
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
  if (auto why_not = cannot_be_compiled_because(model))
    return {.kernel = {}, .why_not = is_worth_compiling(model, options) ? *std::move(why_not) : ""};
  PrintedUpdate update = print_update(model);
  if (Update* const function = built_in(update, level); function != nullptr)
    return {.kernel = std::make_unique<PrintedKernel>(std::move(update), function), .why_not = ""};
  const Ranks ranks(options.communicator);
  const std::string level_of_first = ranks.from_first([&] { return std::string(level); });
  const bool is_wanted =
      ranks.from_first([&] { return is_worth_compiling(model, options) ? "yes" : "no"; }) == "yes";
  const auto refused = [&](std::string why_not) {
    return CompiledKernel{.kernel = {}, .why_not = is_wanted ? std::move(why_not) : ""};
  };
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
    if (!same_bits(*compiled.kernel, interpreted, model))
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
