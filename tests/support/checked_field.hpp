// SPDX-License-Identifier: Apache-2.0
#pragma once
// A field whose every byte is known: owned cells hold what a formula says of their place, all
// else is poison. After an exchange a wrong byte tells where it comes from.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/exchange.hpp>
#include <halocline/field.hpp>

#include "support/block.hpp"

namespace halocline::test {

enum class Element { f32, f64, i8, triple };  // triple: three 32-bit integers
std::int64_t bytes_of(Element element);

struct FieldSpec {
  Element element = Element::f64;
  std::int64_t components = 1;
  HaloWidths halo = 1;
  /// Where the field is: memory of its own, or the caller's with axes and components in this
  /// order, the fastest first: "zyxc".
  std::string order_in_users_memory = {};
  /// Elements left unused after each row, plane, … of the caller's memory.
  std::int64_t gap = 0;
  Memory memory = Memory::host;
  /// In memory of its own: cells of a brick along each axis, of which those of the grid count.
  /// None: the field is in rows.
  Int3 brick = {0, 0, 0};
};

std::string describe(const FieldSpec& spec);

class CheckedField {
 public:
  /// `number` tells the fields of a test apart; at most 8, of at most 4 components.
  CheckedField(const Grid& grid, const FieldSpec& spec, int number);
  CheckedField(CheckedField&&) = default;

  const FieldStorage& storage() const { return *storage_; }
  const FieldSpec& spec() const { return spec_; }

  /// Gives every owned cell its value at `step`, and poisons all other bytes. On a GPU's stream by
  /// work that is queued.
  void fill(int step, Stream stream = Stream::host());
  /// Tells the first byte, anywhere in the field's memory, that is not as after fill() and an
  /// exchange with these options; without options, as after fill(). All work has to be done.
  testing::AssertionResult is_filled() const;
  testing::AssertionResult is_exchanged(const ExchangeOptions& options) const;

  /// Queues a copy of the field as it then is, to be looked at later.
  void note(Stream stream);
  /// As is_exchanged(), of all that was noted. All work has to be done.
  testing::AssertionResult noted_are_exchanged(const ExchangeOptions& options);

 private:
  struct Note {
    int step;
    Block bytes;
  };
  std::vector<std::byte> filled_at(int step) const;
  testing::AssertionResult is_exchanged(const ExchangeOptions& options, int step,
                                        const std::vector<std::byte>& seen) const;
  testing::AssertionResult holds(const std::vector<std::byte>& expected,
                                 const std::vector<std::byte>& seen) const;
  Bytes seen() const;
  /// Of a cell's byte, counted from the first of the field's memory.
  std::int64_t offset_of(Int3 at, std::int64_t component) const;
  void write_value(Int3 cell, std::int64_t component, int step, std::byte* to) const;
  std::string read_value(const std::byte* from) const;
  std::string name_of_byte(std::int64_t offset) const;

  Grid grid_;
  FieldSpec spec_;
  int number_;
  int step_ = 0;
  std::shared_ptr<void> users_memory_;
  std::shared_ptr<const FieldStorage> storage_;
  std::byte* memory_ = nullptr;  // of the field, with all padding
  std::int64_t memory_bytes_ = 0;
  // On a GPU: where queued copies come from, one for each fill() since the last look.
  std::vector<Block> sources_;
  mutable std::size_t sources_used_ = 0;
  std::vector<Note> notes_;
};

}  // namespace halocline::test
