// SPDX-License-Identifier: Apache-2.0
#include "stencil/cpu/tile_walk.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "field/cells.hpp"
#include "stencil/ghosts.hpp"

namespace halocline::stencil::cpu {
namespace {

constexpr std::int64_t bytes_of_line = 64;

/// Cells of a box between two layers.
Box between(Box box, int axis, std::int64_t from, std::int64_t to) {
  box.lower[axis] = std::max(box.lower[axis], from);
  box.upper[axis] = std::min(box.upper[axis], to);
  return box;
}

Box grown(const Box& box, const HaloWidths& reach, std::int64_t sweeps) {
  return grow(box, {sweeps * reach.lower[0], sweeps * reach.lower[1], sweeps * reach.lower[2]},
              {sweeps * reach.upper[0], sweeps * reach.upper[1], sweeps * reach.upper[2]});
}

/// The cells that sweeps change: those of the domain, and all beyond a periodic side.
Box changing_cells(const problem::Model& model) {
  constexpr std::int64_t far = std::int64_t{1} << 40;
  Box box{{0, 0, 0}, model.cells};
  for (int axis = 0; axis < model.axes; ++axis)
    if (model.periodic[static_cast<std::size_t>(axis)]) {
      box.lower[axis] = -far;
      box.upper[axis] = far;
    }
  return box;
}

/// How many levels later a field follows, in the longest chain.
std::int64_t longest_chain(const problem::Model& model) {
  std::size_t longest = 0;
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    longest = std::max(longest, model.followed(f).second);
  return static_cast<std::int64_t>(longest);
}

void copy(const Corner& from, const Corner& to, Int3 cells, std::int64_t element_bytes) {
  const auto row = static_cast<std::size_t>(cells.x * element_bytes);
  for (std::int64_t z = 0; z < cells.z; ++z)
    for (std::int64_t y = 0; y < cells.y; ++y)
      std::memcpy(to.cell + (z * to.step.z + y * to.step.y) * element_bytes,
                  from.cell + (z * from.step.z + y * from.step.y) * element_bytes, row);
}

/// Fields of a level that are computed, and do not follow another.
std::int64_t computed_fields(const problem::Model& model) {
  return std::count_if(model.fields.begin(), model.fields.end(),
                       [](const auto& field) { return !field.follows; });
}

/// Layers that others read behind a level's front.
std::int64_t layers_behind(const problem::Model& model) {
  const HaloWidths reach = model.reach();
  const int axis = model.axes - 1;
  return (1 + longest_chain(model)) * reach.upper[axis] + reach.lower[axis];
}

/// Layers in a buffer.
std::int64_t layers_in_buffer(const problem::Model& model, std::int64_t step) {
  return layers_behind(model) + model.reach().upper[model.axes - 1] + 2 * step;
}

/// Returns the step of a walk: the rows or planes that kernels update side by side. By 16 rows
/// gray_scott in fp64 on 2048^2 cells, whose tiles are narrower then, is a tenth slower.
std::int64_t step_of(const problem::Model& model) {
  constexpr std::int64_t steps[] = {2048, 8, 4};
  const HaloWidths reach = model.reach();
  const int axis = model.axes - 1;
  return std::max({steps[axis], reach.lower[axis], reach.upper[axis]});
}

}  // namespace

WalkShape shape_of_walk(const problem::Model& model, std::int64_t sweeps, const Box& region,
                        std::int64_t cache_bytes) {
  const HaloWidths reach = model.reach();
  const std::int64_t line = bytes_of_line / model.element_bytes();
  WalkShape best{.step = step_of(model), .tile = region.extent()};
  if (model.axes == 1) return best;
  const std::int64_t layer_cells =
      cache_bytes / ((sweeps - 1) * computed_fields(model) * layers_in_buffer(model, best.step) *
                     model.element_bytes());
  const Int3 all = region.extent();
  // Beyond a tile, of all sweeps and on average.
  const auto wider = [&](int axis) { return sweeps * (reach.lower[axis] + reach.upper[axis]); };
  const auto redundant = [&](int axis, std::int64_t cells) {
    return cells >= all[axis]
               ? 1
               : 1 + static_cast<double>(wider(axis)) / 2 / static_cast<double>(cells);
  };
  double least = 0;
  for (std::int64_t strips = 1;; ++strips) {
    const std::int64_t x =
        std::min(all.x, ((all.x + strips - 1) / strips + line - 1) / line * line);
    std::int64_t y = all.y;
    if (model.axes == 3) {
      const std::int64_t most = std::max<std::int64_t>(1, layer_cells / (x + wider(0)) - wider(1));
      const std::int64_t pieces = (all.y + most - 1) / most;
      y = (all.y + pieces - 1) / pieces;
    } else if (x > 4 * line && x + wider(0) > layer_cells) {
      continue;
    }
    const double cost = redundant(0, x) * (model.axes == 3 ? redundant(1, y) : 1);
    if (least == 0 || cost < least) {
      least = cost;
      best.tile = {x, y, all.z};
    }
    if (model.axes == 2 || x <= 4 * line) return best;
  }
}

TileWalk::TileWalk(const problem::Model& model)
    : model_(model), axis_(model.axes - 1), buffered_(model.fields.size()) {
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    if (!model.fields[f].follows) buffered_[f] = buffers_++;
  behind_ = layers_behind(model);
  for (std::size_t f = 0; f < model.fields.size(); ++f)
    for (int axis = 0; axis < model.axes; ++axis)
      for (const int end : {0, 1})
        if (model.ghosts_change(f,
                                2 * static_cast<std::size_t>(axis) + static_cast<std::size_t>(end)))
          sides_.push_back({f, axis, end});
}

void TileWalk::run(const Pass& pass, const Box& tile, const WalkShape& shape, const Kernel& kernel,
                   Stores stores, std::span<double> norms) {
  pass_ = &pass;
  kernel_ = &kernel;
  stores_ = stores;
  norms_ = norms;
  tile_ = tile;
  counted_ = intersect(tile, pass.out[0].shape().owned);
  step_ = shape.step;
  begin();
  while (stages_.back().front < tile.upper[axis_])
    for (std::int64_t sweep = 1; sweep <= pass.sweeps; ++sweep) advance(sweep);
}

void TileWalk::begin() {
  changing_ = changing_cells(model_);
  choose_cells();
  make_buffers();
  for (std::int64_t sweep = 1; sweep < pass_->sweeps; ++sweep) {
    const Stage& stage = stages_[static_cast<std::size_t>(sweep)];
    if (stage.front == changing_.lower[axis_]) fill_ghosts(sweep, stage.first, stage.front);
  }
}

/// Chooses the cells that each sweep computes, and those that are stored of a level. Rows begin and
/// end with lines where they may: a row's single cells take as long as some lines. What is computed
/// beyond the cells that count comes from cells that do not count, or have no meaning.
void TileWalk::choose_cells() {
  const HaloWidths reach = model_.reach();
  const std::int64_t sweeps = pass_->sweeps, line = bytes_of_line / model_.element_bytes();
  Box held = pass_->in[0].shape().held();
  for (const FieldStorage& coefficient : pass_->coefficients)
    held = intersect(held, coefficient.shape().held());
  const auto in_lines = [&](std::int64_t cells) { return (cells + line - 1) / line * line; };
  const std::int64_t below = in_lines(sweeps * reach.lower[0]) + reach.lower[0];
  const std::int64_t above = in_lines(sweeps * reach.upper[0]) + reach.upper[0];
  const bool begins_line = axis_ > 0 && tile_.lower.x - below >= held.lower.x;
  const bool ends_line = axis_ > 0 && tile_.upper.x + above <= held.upper.x;

  stored_ = grown(tile_, reach, sweeps);
  if (begins_line) stored_.lower.x = tile_.lower.x - below;
  if (ends_line) stored_.upper.x = tile_.upper.x + above;
  stored_ = intersect(stored_, grown(changing_, reach, 1));
  stages_.resize(static_cast<std::size_t>(sweeps) + 1);
  for (std::int64_t sweep = 1; sweep <= sweeps; ++sweep) {
    Stage& stage = stages_[static_cast<std::size_t>(sweep)];
    Box cells = grown(tile_, reach, sweeps - sweep);
    if (begins_line) cells.lower.x = tile_.lower.x - in_lines(tile_.lower.x - cells.lower.x);
    if (ends_line) cells.upper.x = tile_.upper.x + in_lines(cells.upper.x - tile_.upper.x);
    stage.computed = intersect(cells, changing_);
    stage.front = stage.computed.lower[axis_];
    stage.first = stage.front - reach.lower[axis_];
  }
}

/// Makes room for the levels in between. The tile's first cells begin a line, as those of fields
/// mostly do, and rows are an odd number of lines apart, so that they are in different sets of a
/// cache.
void TileWalk::make_buffers() {
  const std::int64_t element = model_.element_bytes(), line = bytes_of_line / element;
  capacity_ = layers_in_buffer(model_, step_);
  lead_ = axis_ == 0 ? 0 : (line - (tile_.lower.x - stored_.lower.x) % line) % line;
  Int3 cells = stored_.extent();
  cells[axis_] = capacity_;
  const std::int64_t lines = (lead_ + cells.x + line - 1) / line;
  const std::int64_t row = (lines + 1 - lines % 2) * line;
  strides_ = {1, row, axis_ == 2 ? row * cells.y : row};
  buffer_cells_ = row * cells.y * cells.z;
  const std::int64_t buffers = (pass_->sweeps - 1) * static_cast<std::int64_t>(buffers_);
  const auto bytes = static_cast<std::size_t>(buffers * buffer_cells_ * element);
  if (bytes <= bytes_) return;
  memory_.reset(static_cast<std::byte*>(operator new (bytes, std::align_val_t{128})));
  std::memset(memory_.get(), 0, bytes);  // some is read that nothing has computed, if for nothing
  bytes_ = bytes;
}

/// Returns the layer at which a sweep must stop for now.
std::int64_t TileWalk::end_of(std::int64_t sweep) const {
  const Stage& own = stages_[static_cast<std::size_t>(sweep)];
  const std::int64_t all = own.computed.upper[axis_];
  if (sweep == 1) return std::min(own.front + step_, all);
  const Stage& before = stages_[static_cast<std::size_t>(sweep) - 1];
  if (before.computed.lower[axis_] == changing_.lower[axis_] &&
      before.front < mirrored_by_lower_ghosts())
    return own.front;
  const std::int64_t after = model_.reach().upper[axis_];
  if (before.front == before.computed.upper[axis_]) return std::min(own.front + step_ + after, all);
  return std::min(before.front - after, all);
}

/// Returns the layer at which all have been computed that ghosts below the first layer depend on.
std::int64_t TileWalk::mirrored_by_lower_ghosts() const {
  return std::min(changing_.lower[axis_] + model_.reach().lower[axis_], changing_.upper[axis_]);
}

void TileWalk::advance(std::int64_t sweep) {
  Stage& own = stages_[static_cast<std::size_t>(sweep)];
  const std::int64_t end = end_of(sweep);
  if (end <= own.front) return;
  const bool is_last = sweep == pass_->sweeps;
  const bool ends = !is_last && end == changing_.upper[axis_];
  const std::int64_t with_ghosts = ends ? end + model_.reach().upper[axis_] : end;
  if (!is_last) make_room(sweep, with_ghosts);
  const Box layers = between(own.computed, axis_, own.front, end);
  update(sweep, layers);
  if (is_last)
    store_followers(layers);
  else
    fill_ghosts(sweep, own.front, with_ghosts);
  own.front = end;
}

/// Moves the layers of a level that are still read to the beginning of its buffers, unless there is
/// room for layers until `end`.
void TileWalk::make_room(std::int64_t level, std::int64_t end) {
  Stage& stage = stages_[static_cast<std::size_t>(level)];
  if (end - stage.first <= capacity_) return;
  const std::int64_t kept = std::max(stage.first, stage.front - behind_);
  const std::int64_t layers = stage.front - kept, cells = layers * strides_[axis_] - lead_;
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    if (model_.fields[f].follows || layers == 0) continue;
    Int3 at = stored_.lower;
    at[axis_] = stage.first;
    std::byte* const to = in_buffer(f, level, at).cell;
    at[axis_] = kept;
    std::memmove(to, in_buffer(f, level, at).cell,
                 static_cast<std::size_t>(cells * model_.element_bytes()));
  }
  stage.first = kept;
}

/// Fills the ghosts beside layers and in those beyond them: most never change.
void TileWalk::fill_ghosts(std::int64_t level, std::int64_t from, std::int64_t to) {
  const Box layers = between(stored_, axis_, from, to);
  for (const Box& box : subtract(layers, intersect(layers, changing_)))
    for (std::size_t f = 0; f < model_.fields.size(); ++f)
      if (!model_.fields[f].follows)
        copy(value_of(f, 0, box.lower), in_buffer(f, level, box.lower), box.extent(),
             model_.element_bytes());
  const std::int64_t lower = changing_.lower[axis_], mirrored = mirrored_by_lower_ghosts();
  for (const Side& side : sides_) {
    if (side.axis < axis_ || side.end == 1)
      fill_side(level, side, layers);
    else if (stages_[static_cast<std::size_t>(level)].computed.lower[axis_] == lower &&
             from < mirrored && to >= mirrored)
      fill_side(level, side, between(stored_, axis_, lower - model_.reach().lower[axis_], lower));
  }
}

/// Fills the ghosts beyond a side that are among these cells.
void TileWalk::fill_side(std::int64_t level, const Side& side, const Box& cells) {
  const Box ghosts = ghosts_in(cells, model_, side.field, side.axis, side.end);
  if (ghosts.empty()) return;
  const Corner first = in_buffer(side.field, level, stored_.lower);
  stencil::fill_ghosts(model_, side.field, side.axis, side.end, ghosts,
                       {first.cell,
                        stored_.lower,
                        {.shift = {}, .brick_step = strides_, .cell_step = {}},
                        model_.element_bytes()},
                       static_cast<double>(pass_->first_sweep + level) * pass_->clock.dt);
}

void TileWalk::update(std::int64_t sweep, const Box& layers) {
  const PassNorms& norms = pass_->norms;
  const std::int64_t since = sweep - 1 - norms.first;
  const bool has_norm = norms.kind != Norm::none &&
                        (sweep == pass_->sweeps || (since >= 0 && since % norms.every == 0));
  const Box counted = has_norm ? intersect(layers, counted_) : Box{};
  if (counted.empty()) return update_block(sweep, layers, false);
  update_block(sweep, counted, true);
  if (counted == layers) return;
  for (const Box& rest : subtract(layers, counted)) update_block(sweep, rest, false);
}

void TileWalk::update_block(std::int64_t sweep, const Box& cells, bool counts) {
  if (cells.empty()) return;
  block_.in.clear();
  block_.out.clear();
  block_.cells = cells;
  block_.time = static_cast<double>(pass_->first_sweep + sweep - 1) * pass_->clock.dt;
  for (std::size_t f = 0; f < model_.fields.size(); ++f) {
    block_.in.push_back(value_of(f, sweep - 1, cells.lower));
    // Of a field that follows nothing is written.
    block_.out.push_back(model_.fields[f].follows ? Corner{} : value_of(f, sweep, cells.lower));
  }
  for (const FieldStorage& coefficient : pass_->coefficients)
    block_.in.push_back(
        {field::address_of(coefficient, cells.lower), field::steps_of(coefficient)});
  BlockNorm norm{.kind = counts ? pass_->norms.kind : Norm::none};
  const Int3 extent = cells.extent();
  if (norm.kind == Norm::l2) {
    row_sums_.resize(static_cast<std::size_t>(extent.y * extent.z));
    norm.row_sums = row_sums_.data();
    norm.plane = extent.y;
  }
  kernel_->update(block_, sweep == pass_->sweeps ? stores_ : Stores::cached, norm);
  if (!counts) return;
  double& all = norms_[static_cast<std::size_t>(sweep) - 1];
  all = norm.kind == Norm::max ? larger(all, norm.max)
                               : std::accumulate(row_sums_.begin(), row_sums_.end(), all);
}

/// A field that follows gets what the other had one sweep before the last.
void TileWalk::store_followers(const Box& layers) {
  for (std::size_t f = 0; f < model_.fields.size(); ++f)
    if (model_.fields[f].follows)
      copy(value_of(f, pass_->sweeps, layers.lower),
           {field::address_of(pass_->out[f], layers.lower), field::steps_of(pass_->out[f])},
           layers.extent(), model_.element_bytes());
}

/// Returns where a field is after a number of sweeps: at first in what the pass reads, at last in
/// what it writes, else in a buffer.
Corner TileWalk::value_of(std::size_t field, std::int64_t level, Int3 cell) const {
  const auto& followed = model_.fields[field].follows;
  if (level > 0 && followed) return value_of(*followed, level - 1, cell);
  if (level > 0 && level < pass_->sweeps) return in_buffer(field, level, cell);
  const FieldStorage& storage = (level == 0 ? pass_->in : pass_->out)[field];
  return {field::address_of(storage, cell), field::steps_of(storage)};
}

Corner TileWalk::in_buffer(std::size_t field, std::int64_t level, Int3 cell) const {
  Int3 first = stored_.lower;
  first[axis_] = stages_[static_cast<std::size_t>(level)].first;
  const Int3 at = cell - first;
  const std::int64_t number = (level - 1) * static_cast<std::int64_t>(buffers_) +
                              static_cast<std::int64_t>(buffered_[field]);
  const std::int64_t place =
      number * buffer_cells_ + lead_ + at.x + at.y * strides_.y + at.z * strides_.z;
  return {memory_.get() + place * model_.element_bytes(), strides_};
}

}  // namespace halocline::stencil::cpu
