// SPDX-License-Identifier: Apache-2.0
#include "solver/engine/levels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "field/cells.hpp"
#include "field/elements.hpp"
#include "files/npy.hpp"
#include "program/copy_cells.hpp"
#include "solver/run_files/restart.hpp"
#include "stencil/fill.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::solver {
namespace {

/// Whether the host fills and reads a field where it is: in rows, in memory of its own.
bool is_for_host(const FieldStorage& field) {
  return field.as_strided().has_value() && !program::is_for_gpu(field);
}

/// Copies all held cells. In rows it copies all bytes, padding included: fields in rows of one
/// shape have the same layout.
void copy_all(const FieldStorage& to, const FieldStorage& from) {
  if (to.as_strided() && from.as_strided())
    device::copy(to.bytes(), from.bytes(), from.allocated_bytes(), Stream::host());
  else
    program::copy_held(from, to);
}

/// Calls `fill` with the field, or with a twin that the host can write, and copies that.
template <class Fill>
void fill_through_host(const FieldStorage& field, const Grid& grid, const Fill& fill) {
  if (is_for_host(field)) return fill(field);
  const FieldStorage twin = program::make_rows(grid, field);
  fill(twin);
  copy_all(field, twin);
}

/// Gives held cells beyond the sides of the domain the value of the nearest cell inside, along x,
/// then y, then z.
void spread_outwards(const FieldStorage& field, const Grid& grid) {
  const Box held = field.shape().held();
  field::with_real(field, [&]<class Real>() {
    const FieldView<Real> view = field::view_of<Real>(field);
    for (int axis = 0; axis < grid.axes(); ++axis) {
      if (grid.periodic(axis)) continue;
      for (std::int64_t z = held.lower.z; z < held.upper.z; ++z)
        for (std::int64_t y = held.lower.y; y < held.upper.y; ++y)
          for (std::int64_t x = held.lower.x; x < held.upper.x; ++x) {
            Int3 from{x, y, z};
            from[axis] = std::clamp<std::int64_t>(from[axis], 0, grid.cells()[axis] - 1);
            if (!(from == Int3{x, y, z})) view(x, y, z) = view(from.x, from.y, from.z);
          }
    }
  });
}

/// Copies an array of the program if there is one with that number; returns whether. Collective.
bool copy_own(const Communicator& communicator, const Case::OwnArrays& arrays, std::size_t number,
              const FieldStorage& field) {
  const auto own = arrays.find(number);
  if (own == arrays.end()) return false;
  comm::together(communicator, [&] { program::copy_owned(own->second, field); });
  return true;
}

/// Reads the values of a name from the checkpoint, if it has them; returns whether. Collective.
bool read_saved(const Case& the_case, const Communicator& communicator, const Grid& grid,
                const FieldStorage& field, const std::string& name) {
  if (!the_case.restart || !the_case.restart->has(name)) return false;
  const Restart& restart = *the_case.restart;
  try {
    files::read_checkpoint_field(communicator, grid, field, restart.path, restart.head, name);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    refuse_damaged(restart.path, error.what());
  }
  return true;
}

/// Fills the cells beyond the owned ones of a coefficient. Collective.
void finish_coefficient(const Communicator& communicator, const Grid& grid,
                        const FieldStorage& field) {
  Exchange(communicator, grid, {field}).run();
  spread_outwards(field, grid);
}

void fill_coefficients(const Case& the_case, const Grid& grid, const Level& coefficients,
                       const Communicator& communicator, int threads) {
  const problem::Model& model = *the_case.model;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const problem::StartValues& values = model.coefficients[i].values;
    fill_through_host(coefficients[i], grid, [&](const FieldStorage& field) {
      const std::string& name = model.coefficients[i].name;
      if (read_saved(the_case, communicator, grid, field, name) ||
          copy_own(communicator, the_case.coefficient_arrays, i, field))
        return finish_coefficient(communicator, grid, field);
      if (!values.file) return stencil::fill_coefficient(field, model, values.expression, threads);
      files::read_npy(communicator, grid, field, *values.file);
      finish_coefficient(communicator, grid, field);
    });
  }
}

/// Start values of a field, collective if they come from a file or an array of the program.
void fill_start(const Case& the_case, std::size_t f, const FieldStorage& field, const Grid& grid,
                const Communicator& communicator, int threads) {
  stencil::fill_start(field, *the_case.model, the_case.model->fields[f].initial.expression,
                      threads);
  if (the_case.restart) {
    read_saved(the_case, communicator, grid, field, the_case.model->fields[f].name);
    return;
  }
  if (the_case.initial[f]) files::read_npy(communicator, grid, field, *the_case.initial[f]);
  copy_own(communicator, the_case.start_arrays, f, field);
}

}  // namespace

double bytes_of_field(const Case& the_case, const Grid& grid) {
  const Int3 owned = grid.owned().extent();
  const HaloWidths halo = the_case.halo();
  double cells = 1;
  for (int axis = 0; axis < grid.axes(); ++axis) {
    // Whole bricks.
    const double of_brick =
        the_case.brick.axes() > 0 ? static_cast<double>(the_case.brick[axis]) : 1;
    const auto bricks = [&](double of_cells) { return std::ceil(of_cells / of_brick); };
    cells *= of_brick *
             (bricks(static_cast<double>(halo.lower[axis])) +
              bricks(static_cast<double>(owned[axis]) + static_cast<double>(halo.upper[axis])));
  }
  return cells * static_cast<double>(the_case.element_bytes());
}

std::size_t arrays_of(const Case& the_case) {
  const problem::Model& model = *the_case.model;
  return the_case.levels() * model.updates().size() + model.coefficients.size();
}

double bytes_of_all(const Case& the_case, const Grid& grid) {
  return static_cast<double>(arrays_of(the_case)) * bytes_of_field(the_case, grid);
}

FieldStorage make_field(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory,
                        const std::string& name) {
  const FieldOptions options{
      .name = name, .halo = the_case.halo(depth), .memory = memory, .brick = the_case.brick};
  return FieldStorage(grid, the_case.element_bytes(), options);
}

Levels make_levels(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory) {
  const problem::Model& model = *the_case.model;
  const std::size_t count = the_case.levels();
  // Arrays by level, for each field that does not follow another.
  std::vector<Level> arrays(model.fields.size());
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (std::size_t level = 0; !model.fields[f].follows && level < count; ++level)
      arrays[f].push_back(make_field(the_case, grid, depth, memory, model.fields[f].name));
  Levels levels(count);
  for (std::size_t level = 0; level < count; ++level)
    for (std::size_t f = 0; f < model.fields.size(); ++f) {
      const auto [source, later] = model.followed(f);
      levels[level].push_back(arrays[source][(level + count - later) % count]);
    }
  return levels;
}

Level make_coefficients(const Case& the_case, const Grid& grid, std::int64_t depth, Memory memory) {
  Level all;
  for (const problem::ModelCoefficient& coefficient : the_case.model->coefficients)
    all.push_back(make_field(the_case, grid, depth, memory, coefficient.name));
  return all;
}

void fill_levels(const Case& the_case, const Grid& grid, Levels& levels, const Level& coefficients,
                 const Communicator& communicator, int threads) {
  fill_coefficients(the_case, grid, coefficients, communicator, threads);
  Levels filled = levels;
  const bool directly = is_for_host(levels[0][0]);
  if (!directly)
    for (FieldStorage& field : filled[0]) field = program::make_rows(grid, field);
  const stencil::Ghosts ghosts(*the_case.model, grid, filled[0][0].shape());
  // All levels, so that the thread that sweeps a page touches it first. The first one comes last:
  // it may share fields with others.
  for (std::size_t level = directly ? levels.size() - 1 : 0; level > 0; --level) {
    for (std::size_t f = 0; f < filled[level].size(); ++f)
      if (!the_case.model->fields[f].follows)
        stencil::fill_start(filled[level][f], *the_case.model,
                            the_case.model->fields[f].initial.expression, threads);
    ghosts.fill_fixed(filled[level]);
  }
  const auto fill_first = [&](bool followers) {
    for (std::size_t f = 0; f < filled[0].size(); ++f)
      if (the_case.model->fields[f].follows.has_value() == followers)
        fill_start(the_case, f, filled[0][f], grid, communicator, threads);
    ghosts.fill_fixed(filled[0]);
  };
  fill_first(false);
  // A follower's memory will be that of the field it follows, whose ghosts it must have.
  for (std::size_t f = 0; !directly && f < filled[0].size(); ++f)
    if (the_case.model->fields[f].follows)
      copy_all(filled[0][f], filled[0][the_case.model->followed(f).first]);
  fill_first(true);
  if (directly) return;
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    for (std::size_t f = 0; f < level->size(); ++f) copy_all((*level)[f], filled[0][f]);
}

void fill_with_noise(const FieldStorage& field, Stream stream) {
  const std::int64_t bytes = field.allocated_bytes();
  const auto block = [&]<class Real>(Real) {
    std::vector<Real> values(std::size_t{1} << 16);
    std::uint32_t state = 1;  // linear congruential generator: any noise will do
    for (Real& value : values)
      value = static_cast<Real>((state = state * 1664525u + 1013904223u) >> 8) / Real{1 << 24};
    const auto block_bytes = static_cast<std::int64_t>(values.size() * sizeof(Real));
    device::copy(field.bytes(), values.data(), std::min(block_bytes, bytes), stream);
    return block_bytes;
  };
  std::int64_t done = field.shape().element_bytes == sizeof(float) ? block(0.0f) : block(0.0);
  for (; done < bytes; done *= 2)
    device::copy(field.bytes() + done, field.bytes(), std::min(done, bytes - done), stream);
}

Level seen_by_host(const Level& level, const Grid& grid) {
  Level seen;
  for (const FieldStorage& field : level) seen.push_back(seen_by_host(field, grid));
  return seen;
}

FieldStorage seen_by_host(const FieldStorage& field, const Grid& grid) {
  if (is_for_host(field)) return field;
  FieldStorage twin = program::make_rows(grid, field);
  copy_all(twin, field);
  return twin;
}

double value_of(const FieldStorage& field, const Int3& cell) {
  return field::with_real(field, [&]<class Real>() {
    Real value = 0;
    const std::byte* address = field::address_of(field, cell);
    if (!program::is_for_gpu(field))
      std::memcpy(&value, address, sizeof value);
    else
      device::copy(&value, address, sizeof value, Stream::host());
    return static_cast<double>(value);
  });
}

}  // namespace halocline::solver
