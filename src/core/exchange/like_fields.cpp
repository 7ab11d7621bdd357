// SPDX-License-Identifier: Apache-2.0
#include "exchange/like_fields.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/words.hpp"
#include "exchange/messages.hpp"

namespace halocline::exchange {

namespace {

/// Cells lie as far from it in any array of the same layout.
std::byte* place_of(const FieldStorage& field) {
  return field.as_strided() || field.as_bricks() ? field.first_owned() : field.bytes();
}

std::vector<Run> runs_of(const FieldStorage& field) {
  if (field.as_strided() || field.as_bricks()) return {};
  return field.layout().runs(field.shape().held());
}

}  // namespace

LikeFields::LikeFields(const FieldList& fields) {
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const FieldStorage& field = fields[f];
    all_.push_back({title_of(field, f), field.shape(), field.as_strided(), field.as_bricks(),
                    runs_of(field), place_of(field)});
  }
}

void LikeFields::check_count(std::size_t arrays) const {
  if (arrays != all_.size())
    throw Error(ErrorKind::usage,
                fmt::format("{} for an exchange of {}; give it one for each",
                            counted(arrays, "array"), counted(all_.size(), "field")));
}

std::vector<void*> LikeFields::places_of(const FieldList& fields, const std::string& whose) const {
  check_count(fields.size());
  std::vector<void*> places;
  for (std::size_t f = 0; f < all_.size(); ++f) {
    const Like& like = all_[f];
    const FieldStorage& field = fields[f];
    const FieldShape &planned = like.shape, &given = field.shape();
    const auto require = [&](bool is_same, const char* what) {
      if (!is_same)
        throw Error(ErrorKind::usage,
                    fmt::format("field {}{} and the plan's field {} differ in {}; an exchange "
                                "takes arrays like those that it was planned for",
                                title_of(field, f), whose, like.title, what));
    };
    require(planned.owned == given.owned, "their cells");
    require(planned.memory == given.memory, "memory");
    require(planned.element_bytes == given.element_bytes && planned.components == given.components,
            "the bytes of a cell");
    require(planned.halo == given.halo, "halo");
    require(like.strides == field.as_strided() && like.bricks == field.as_bricks() &&
                like.runs == runs_of(field),
            "strides");
    shift_of(f, place_of(field));
    places.push_back(place_of(field));
  }
  return places;
}

std::int64_t LikeFields::shift_of(std::size_t field, const void* place) const {
  const Like& like = all_[field];
  if (place == nullptr)
    throw Error(ErrorKind::usage,
                fmt::format("the array for field {} is at a null pointer", like.title));
  const std::int64_t shift = static_cast<const std::byte*>(place) - like.place;
  if (word_ == 0 || shift == 0) return shift;
  const auto beyond = [&](const void* address) {
    return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(word_);
  };
  if (shift % word_ != 0)
    throw Error(
        ErrorKind::usage,
        fmt::format("the array for field {} begins {} beyond a multiple of {}, the plan's field "
                    "{}: GPUs copy words of so many bytes; plan an exchange for such arrays",
                    like.title, counted(beyond(place), "byte"), word_, beyond(like.place)));
  if (all_.size() > pack::most_moved_on_gpus)
    throw Error(ErrorKind::usage,
                fmt::format("an exchange of {} between GPUs takes only the arrays that it was "
                            "planned for; of others it takes {} at most",
                            counted(all_.size(), "field"), pack::most_moved_on_gpus));
  return shift;
}

bool LikeFields::move_to(std::span<void* const> places) {
  next_.clear();
  for (std::size_t f = 0; f < places.size(); ++f) next_.push_back(shift_of(f, places[f]));
  if (std::all_of(next_.begin(), next_.end(), [](std::int64_t bytes) { return bytes == 0; }))
    next_.clear();
  if (next_ == shifts_) return false;
  shifts_.swap(next_);
  return true;
}

}  // namespace halocline::exchange
