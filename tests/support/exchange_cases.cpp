// SPDX-License-Identifier: Apache-2.0
#include "support/exchange_cases.hpp"

#include <algorithm>

#include "support/memories.hpp"
#include "support/random.hpp"
#include "support/ranks.hpp"

namespace halocline::test {

std::vector<Extents> process_grids(int axes) {
  std::vector<Extents> grids;
  for (std::int64_t x = 1; x <= ranks(); ++x)
    for (std::int64_t y = 1; y <= (axes > 1 ? ranks() : 1); ++y) {
      const std::int64_t z = ranks() / (x * y);
      if (x * y * z == ranks() && (axes > 2 || z == 1)) grids.emplace_back(Int3{x, y, z}, axes);
    }
  return grids;
}

ExchangeCase case_along_last_axis(int axes, std::int64_t cells) {
  Int3 parts{1, 1, 1}, all{4, 3, 2};
  parts[axes - 1] = ranks();
  all[axes - 1] = cells * ranks() + 1;
  ExchangeCase c;
  c.grid = {.cells = Extents(all, axes),
            .periodic = {true, true, true},
            .process_grid = Extents(parts, axes)};
  return c;
}

std::vector<std::string> transports_for(Memory memory) {
  std::vector<std::string> names{"auto"};
  if (memory == Memory::device || memory == Memory::managed) names.emplace_back("staged");
  if (!not_testable(transport::find_transport("peer"), memory))
    names.emplace_back(memory == Memory::device ? "same-node=peer,other-node=staged"
                                                : "same-node=peer,other-node=mpi");
  if (memory != Memory::device) {
    names.emplace_back("mpi");
    names.emplace_back("self=mpi,same-node=mpi,other-node=mpi");
  }
  if (!not_testable(transport::find_transport("gpu_aware"), memory)) {
    names.emplace_back("gpu_aware");
    names.emplace_back("same-node=gpu_aware,other-node=staged");
    names.emplace_back("same-node=staged,other-node=gpu_aware");
  }
  if (!not_testable(transport::find_transport("nccl"), memory)) {
    names.emplace_back("nccl");
    names.emplace_back("same-node=peer,other-node=nccl");
  }
  if (!not_testable(transport::find_transport("nvshmem"), memory)) {
    names.emplace_back("nvshmem");
    names.emplace_back("same-node=peer,other-node=nvshmem");
  }
  return names;
}

namespace {

class RandomCase {
 public:
  RandomCase(std::uint64_t number, Memory memory) : random_(number), memory_(memory) {}

  ExchangeCase make() {
    ExchangeCase c;
    c.memory = memory_;
    axes_ = static_cast<int>(random_.between(1, 3));
    const Extents parts = random_.one_of(process_grids(axes_));
    widest_ = random_.between(0, 3);
    Int3 cells;
    for (int axis = 0; axis < axes_; ++axis)
      cells[axis] = parts[axis] * std::max<std::int64_t>(1, widest_) + random_.between(0, 3);
    c.grid = {.cells = Extents(cells, axes_), .process_grid = parts};
    for (bool& periodic : c.grid.periodic) periodic = random_.once_in(2);
    if (random_.once_in(3)) c.exchange.neighbours = Neighbours::faces;
    c.fields.clear();
    for (std::int64_t count = random_.between(1, 3); count > 0; --count)
      c.fields.push_back(make_field());
    if (random_.once_in(4)) narrow(c);
    choose_path(c);
    return c;
  }

 private:
  HaloWidths make_widths() {
    HaloWidths widths = 0;
    for (int axis = 0; axis < 3; ++axis) {
      widths.lower[axis] = random_.between(0, widest_);
      widths.upper[axis] = random_.between(0, widest_);
    }
    return widths;
  }

  FieldSpec make_field() {
    static const Element elements[] = {Element::f32, Element::f64, Element::i8, Element::triple};
    static const std::string orders[] = {"xyzc", "cxyz", "zyxc", "czyx", "yxcz", "yzxc"};
    FieldSpec spec{.element = random_.one_of(elements),
                   .components = random_.between(1, 3),
                   .halo = make_widths()};
    if (random_.once_in(3)) {
      spec.order_in_users_memory = random_.one_of(orders);
      // Where an axis has one cell, a gap keeps the order of the axes plain to see.
      spec.gap = spec.order_in_users_memory.find("xyz") != std::string::npos
                     ? random_.between(0, 2)
                     : random_.between(1, 2);
    } else if (random_.once_in(3)) {
      for (int axis = 0; axis < 3; ++axis)
        spec.brick[axis] = axis < axes_ ? std::int64_t{1} << random_.between(0, 3) : 1;
    }
    return spec;
  }

  /// Gives the exchange widths of its own, which every field has at the least.
  void narrow(ExchangeCase& c) {
    const HaloWidths widths = make_widths();
    c.exchange.widths = widths;
    for (FieldSpec& field : c.fields)
      for (int axis = 0; axis < 3; ++axis) {
        field.halo.lower[axis] = std::max(field.halo.lower[axis], widths.lower[axis]);
        field.halo.upper[axis] = std::max(field.halo.upper[axis], widths.upper[axis]);
      }
  }

  void choose_path(ExchangeCase& c) {
    static const std::string without_windows[] = {"mpi", "self=mpi,same-node=mpi",
                                                  "same-node=mpi,other-node=mpi"};
    static const std::string with_windows[] = {"auto", "same-node=shared,other-node=mpi",
                                               "self=mpi"};
    if (memory_ == Memory::host)
      c.exchange.transport =
          random_.once_in(4) ? random_.one_of(with_windows) : random_.one_of(without_windows);
    else
      c.exchange.transport = random_.one_of(transports_for(memory_));
    if (memory_ != Memory::host && memory_ != Memory::device && random_.once_in(4))
      c.by = ExchangeCase::By::host;
    if (random_.once_in(2)) c.communicator.ranks_per_node = static_cast<int>(random_.between(1, 3));
    if (random_.once_in(4)) c.communicator.piece_bytes = 7;
    if (random_.once_in(2)) c.arrays = static_cast<int>(random_.between(2, 3));
  }

  Random random_;
  Memory memory_;
  int axes_ = 1;
  std::int64_t widest_ = 0;
};

}  // namespace

ExchangeCase random_case(std::uint64_t number, Memory memory) {
  return RandomCase(number, memory).make();
}

}  // namespace halocline::test
