// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/tape.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace halocline::stencil::cpu {
namespace {

using problem::Node;
using problem::Op;
using problem::Ref;

bool is_simple(Op op) { return op == Op::add || op == Op::subtract || op == Op::multiply; }

/// Operations on nodes, before they have registers.
struct Step {
  Op op;
  std::vector<Ref> from;
  SecondOp second = SecondOp::nothing;
  std::optional<Ref> factor{};

  bool is_single() const { return second == SecondOp::nothing && !factor; }
};

class Recorder {
 public:
  explicit Recorder(const problem::Model& model) : model_(model), updates_(model.updates()) {}

  Tape record() {
    const std::vector<Ref> nodes = nodes_of(model_.tree, updates_);
    count_uses(nodes);
    for (const Ref node : nodes) add(node);
    find_last_uses();
    for (const auto& [node, step] : steps_) add_instruction(node, step);
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      if (!model_.fields[f].follows)
        tape_.outputs.push_back({f, operands_.at(model_.fields[f].update)});
    return std::move(tape_);
  }

 private:
  void count_uses(const std::vector<Ref>& nodes) {
    for (const Ref at : nodes)
      for (const Ref operand : operands_of(model_.tree[at])) ++uses_[operand];
    for (const Ref update : updates_) ++uses_[update];
  }

  void add(Ref at) {
    const Node& node = model_.tree[at];
    if (node.op == Op::constant) {
      operands_[at] = {Operand::Kind::number, tape_.numbers.size()};
      tape_.numbers.push_back(node.value);
    } else if (node.op == Op::access) {
      operands_[at] = {Operand::Kind::cells, tape_.accesses.size()};
      tape_.accesses.push_back({node.symbol, node.offset});
    } else if (is_of_row(node)) {
      operands_[at] = {Operand::Kind::row, tape_.rows.size()};
      tape_.rows.push_back(at);
    } else {
      const std::span<const Ref> from = operands_of(node);
      steps_.emplace(at, with_earlier({.op = node.op, .from = {from.begin(), from.end()}}));
    }
  }

  bool is_of_row(const Node& node) const {
    if (node.op == Op::coordinate || node.op == Op::index) return node.symbol != 0;
    const std::span<const Ref> all = operands_of(node);
    return std::all_of(all.begin(), all.end(), [this](Ref at) {
      const auto operand = operands_.find(at);
      return operand != operands_.end() && (operand->second.kind == Operand::Kind::row ||
                                            operand->second.kind == Operand::Kind::number);
    });
  }

  bool is_number(Ref at) const { return model_.tree[at].op == Op::constant; }

  /// Adds a step to the one that computes an operand of it, if nothing else needs that operand.
  Step with_earlier(const Step& step) {
    if (!is_simple(step.op)) return step;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      const Ref inner = step.from[i], other = step.from[1 - i];
      const auto earlier = steps_.find(inner);
      if (inner == other || earlier == steps_.end() || uses_.at(inner) > 1) continue;
      Step joined = earlier->second;
      if (!is_simple(joined.op) || joined.factor || !read_no_rows(joined.from)) continue;
      if (step.op == Op::multiply && is_number(other)) {
        joined.factor = other;
      } else if (joined.is_single() && read_no_rows({other})) {
        joined.second = step.op == Op::add        ? SecondOp::add
                        : step.op == Op::multiply ? SecondOp::multiply
                        : i == 0                  ? SecondOp::subtract
                                                  : SecondOp::subtract_from;
        joined.from.push_back(other);
      } else {
        continue;
      }
      steps_.erase(earlier);
      return joined;
    }
    return step;
  }

  /// Pairs read no values that are one for a whole row, but for numbers.
  bool read_no_rows(const std::vector<Ref>& all) const {
    return std::none_of(all.begin(), all.end(), [this](Ref at) {
      const auto operand = operands_.find(at);
      return operand != operands_.end() && operand->second.kind == Operand::Kind::row;
    });
  }

  void find_last_uses() {
    for (const auto& [node, step] : steps_)
      for (const Ref operand : step.from) last_use_[operand] = node;
    // New values are needed to the end.
    for (const Ref update : updates_) last_use_.erase(update);
  }

  void add_instruction(Ref at, const Step& step) {
    Instruction instruction{.op = step.op, .second = step.second};
    instruction.offset = int{model_.tree[at].offset[0]};  // NOLINT: it has a sign
    if (step.factor) instruction.factor = operands_.at(*step.factor).index;
    for (std::size_t i = 0; i < step.from.size(); ++i) {
      const Ref operand = step.from[i];
      instruction.from[i] = operands_.at(operand);
      if (instruction.from[i].kind != Operand::Kind::register_) continue;
      const auto last = last_use_.find(operand);
      if (last != last_use_.end() && last->second == at) {
        free_.push_back(instruction.from[i].index);
        last_use_.erase(last);
      }
    }
    // Reading and writing one register is right: cell by cell, reads come first.
    if (free_.empty()) free_.push_back(tape_.registers++);
    instruction.to = free_.back();
    free_.pop_back();
    operands_[at] = {Operand::Kind::register_, instruction.to};
    tape_.instructions.push_back(instruction);
  }

  const problem::Model& model_;
  std::vector<Ref> updates_;
  Tape tape_;
  std::map<Ref, int> uses_;
  std::map<Ref, Step> steps_;  // operands first
  std::map<Ref, Operand> operands_;
  std::map<Ref, Ref> last_use_;
  std::vector<std::size_t> free_;
};

}  // namespace

Tape tape_of(const problem::Model& model) { return Recorder(model).record(); }

}  // namespace halocline::stencil::cpu
