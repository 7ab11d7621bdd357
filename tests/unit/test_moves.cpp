// SPDX-License-Identifier: Apache-2.0
// Copies from runs to runs of one rank, by the host.

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "pack/cuda/segments.hpp"
#include "pack/pieces.hpp"
#include "support/caught.hpp"
#include "support/moves.hpp"

namespace halocline::test {
namespace {

using pack::Copies;
using pack::Direction;
using pack::Move;
using pack::Pieces;

TEST(Moves, CopyEveryByteToItsPlace) {
  for (std::uint64_t number = 0; number < 100; ++number) {
    SCOPED_TRACE(how_to_repeat(number));
    const RandomMoves moves(number);
    const Bytes before = random_bytes(moves.field_bytes(), number);
    Bytes field = before;
    const Copies copies({}, Direction::pack, Memory::host, moves.in(field.data()));
    copies.run(Stream::host());
    ASSERT_EQ(field, moves.after(before));
  }
}

TEST(Moves, KeepPiecesThatBothSidesHave) {
  Bytes field(1000);
  const Move move{{field.data(), {{0, 4, 10, 20}, {200, 4, 10, 20}}, 0},
                  {field.data(), {{500, 4, 10, 24}, {740, 4, 10, 24}}, 0}};
  const std::vector<Pieces> pieces = pieces_of(move);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].count, 10);
  EXPECT_EQ(pieces[1].from.first - field.data(), 200);
  EXPECT_EQ(pieces[1].to.first - field.data(), 740);
  EXPECT_EQ(pieces[1].to.stride, 24);
}

TEST(Moves, JoinPiecesThatOnlyOneSideHasAsARun) {
  Bytes field(1000);
  // Four runs of one piece, as far from each other as the pieces of the other side's run.
  const Move move{{field.data(), {{0, 8, 1, 8}, {30, 8, 1, 8}, {60, 8, 1, 8}, {90, 8, 1, 8}}, 0},
                  {field.data(), {{500, 8, 4, 10}}, 0}};
  const std::vector<Pieces> pieces = pieces_of(move);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].count, 4);
  EXPECT_EQ(pieces[0].from.stride, 30);
  EXPECT_EQ(pieces[0].to.stride, 10);
}

TEST(Moves, AreRefusedWhereSidesDiffer) {
  Bytes field(100);
  const Move move{{field.data(), {{0, 8, 1, 8}}, 0}, {field.data(), {{50, 4, 1, 4}}, 0}};
  const Caught error = caught([&] { pieces_of(move); });
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_EQ(error.text, "a rank sends itself 8 bytes but expects 4");
}

TEST(Divisor, DividesAsIntegersDo) {
  using pack::cuda::Divisor;
  for (std::uint32_t by = 1; by <= 32768; by = by < 70 ? by + 1 : by * 2 - by / 3) {
    const Divisor divisor(by);
    const std::uint32_t most = 0xffffffffu / by;
    for (std::uint32_t number = 0; number < 3 * by + 70 && number <= most; ++number)
      ASSERT_EQ(divisor.quotient(number), number / by) << number << " / " << by;
    for (std::uint32_t number = most - std::min(most, 200u); number < most; ++number)
      ASSERT_EQ(divisor.quotient(number), number / by) << number << " / " << by;
  }
  EXPECT_EQ(Divisor::of_all().quotient(0xffffffffu), 0u);
}

}  // namespace
}  // namespace halocline::test
