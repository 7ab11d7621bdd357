// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random moves within a field, and what they must do, byte by byte.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pack/pack.hpp"
#include "support/block.hpp"
#include "support/random.hpp"

namespace halocline::test {

/// Runs of bytes of one field, without its address.
struct MovedRuns {
  std::vector<Run> from, to;
};

class RandomMoves {
 public:
  explicit RandomMoves(std::uint64_t number) : random_(number) {
    for (std::int64_t count = random_.between(1, 6); count > 0; --count) {
      const std::int64_t kind = random_.between(1, 4);
      if (kind == 1)
        all_.push_back(cut_differently());
      else if (kind == 2)
        add_faces_across_rows();
      else
        all_.push_back(face());
    }
    field_bytes_ += random_.between(0, 40);
  }

  std::int64_t field_bytes() const { return field_bytes_; }
  std::vector<pack::Move> in(std::byte* field) const {
    std::vector<pack::Move> moves;
    for (const MovedRuns& one : all_) moves.push_back({{field, one.from, 0}, {field, one.to, 0}});
    return moves;
  }
  /// Moves bytes one by one.
  Bytes after(Bytes field) const {
    for (const MovedRuns& one : all_) {
      const std::vector<std::int64_t> from = places(one.from), to = places(one.to);
      for (std::size_t i = 0; i < from.size(); ++i)
        field[static_cast<std::size_t>(to[i])] = field[static_cast<std::size_t>(from[i])];
    }
    return field;
  }

 private:
  static std::vector<std::int64_t> places(const std::vector<Run>& runs) {
    std::vector<std::int64_t> places;
    for (const Run& run : runs)
      for (std::int64_t piece = 0; piece < run.count; ++piece)
        for (std::int64_t byte = 0; byte < run.bytes; ++byte)
          places.push_back(run.offset + piece * run.stride + byte);
    return places;
  }

  /// What all of a move's addresses and lengths are multiples of.
  std::int64_t random_unit() {
    static const std::int64_t units[] = {1, 2, 4, 4, 8, 16};
    return random_.one_of(units);
  }

  /// Runs as those of a side of a box: for each layer the same pieces as far from each other, as
  /// far from those of the layer before. Some pieces are longer than what a GPU's segment has of
  /// them.
  MovedRuns face() {
    const std::int64_t unit = random_unit();
    Run run{};
    run.bytes = unit * (random_.once_in(8) ? random_.between(1200, 9000) : random_.between(1, 5));
    run.count = random_.between(1, run.bytes > 1000 ? 3 : 70);
    run.stride = run.bytes + unit * random_.between(0, 9);
    const std::int64_t layers = random_.between(1, run.bytes > 1000 ? 3 : 40);
    const std::int64_t layer = run.count * run.stride + unit * random_.between(0, 9);
    MovedRuns moved;
    for (std::vector<Run>* runs : {&moved.from, &moved.to}) {
      run.offset = begin(unit);
      for (std::int64_t i = 0; i < layers; ++i) {
        // Now and then a gap, so that not all layers are as far from each other.
        if (random_.once_in(60)) run.offset += unit;
        runs->push_back(run);
        run.offset += layer;
      }
      field_bytes_ = run.offset;
    }
    return moved;
  }

  /// What both ends of rows get from each other, one cell or a few: columns of the same rows.
  void add_faces_across_rows() {
    const std::int64_t unit = random_unit();
    Run run{};
    run.bytes = unit * random_.between(1, 3);
    run.count = random_.between(1, 70);
    run.stride = 4 * run.bytes + unit * random_.between(0, 9);
    // Now and then those of the second layer are farther away for one of the faces.
    const bool differs = random_.once_in(3);
    const std::int64_t first = begin(unit), layers = differs ? 2 : random_.between(1, 40),
                       rows = run.count * run.stride, layer = rows + unit * random_.between(0, 9);
    const auto column = [&](std::int64_t number, std::int64_t to_next) {
      std::vector<Run> runs;
      for (std::int64_t i = 0; i < layers; ++i) {
        run.offset = first + number * run.bytes + i * to_next;
        runs.push_back(run);
      }
      return runs;
    };
    all_.push_back({column(2, layer), column(0, layer)});
    const std::int64_t other = differs ? layer + rows : layer;
    all_.push_back({column(1, other), column(3, other)});
    field_bytes_ = first + layers * layer + (differs ? rows : 0);
  }

  MovedRuns cut_differently() {
    const std::int64_t unit = random_unit();
    const std::int64_t bytes = unit * random_.between(1, 3000);
    MovedRuns moved;
    for (std::vector<Run>* runs : {&moved.from, &moved.to}) {
      std::int64_t left = bytes;
      while (left > 0) {
        Run run{};
        run.offset = begin(unit);
        run.bytes = std::min(left, unit * random_.between(1, random_.once_in(5) ? 500 : 8));
        run.count = std::min(left / run.bytes, random_.between(0, 12));  // with runs of nothing
        run.stride = run.bytes + unit * random_.between(0, 4);
        field_bytes_ = run.offset + std::max<std::int64_t>(run.count, 1) * run.stride;
        left -= run.bytes * run.count;
        runs->push_back(run);
      }
    }
    return moved;
  }

  std::int64_t begin(std::int64_t unit) {
    return (field_bytes_ + random_.between(0, 20) + unit - 1) / unit * unit;
  }

  Random random_;
  std::vector<MovedRuns> all_;
  std::int64_t field_bytes_ = 0;
};

}  // namespace halocline::test
