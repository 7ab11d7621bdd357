// SPDX-License-Identifier: Apache-2.0
#include "files/image_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collectives.hpp"
#include "files/bytes_of.hpp"
#include "files/field_array.hpp"
#include "files/framed_text.hpp"
#include "files/parallel/collective_file.hpp"

namespace halocline::files {
namespace {

constexpr Frame frame_of_image{
    .magic = "halocline times", .version = 1, .kind = "a file of several times"};

/// A size that HDF5 leaves at the begin of a file.
std::int64_t room_for_head(const Image& image) {
  std::size_t bytes = 1024;
  for (const std::string& name : image.fields) bytes += name.size() + 32;
  return static_cast<std::int64_t>(std::bit_ceil(bytes));
}

/// Broadcasts the findings of rank 0.
std::vector<std::int64_t> shared(const Communicator& communicator,
                                 const std::vector<std::int64_t>& numbers) {
  const std::string bytes =
      comm::broadcast(communicator,
                      std::string(reinterpret_cast<const char*>(numbers.data()),
                                  numbers.size() * sizeof(std::int64_t)),
                      0);
  std::vector<std::int64_t> all(bytes.size() / sizeof(std::int64_t));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

CollectiveFile opened(const Communicator& communicator, const std::string& path,
                      const std::string& name) {
  return {communicator,
          {.path = path, .access = FileToOpen::Access::write, .name_in_errors = name}};
}

}  // namespace

void write_image(const Communicator& communicator, const Grid& grid, const Image& image,
                 const FieldList& fields, const std::string& path, Otherwise otherwise) {
  std::optional<TemporaryFile> temporary;  // on rank 0
  ImageLayout layout;
  comm::on_first_rank(communicator, [&] {
    temporary.emplace(path, otherwise);
    layout = path.ends_with(".vtkhdf") ? vtkhdf_layout(image) : vti_layout(image);
  });
  layout.fields = shared(communicator, layout.fields);
  CollectiveFile file = opened(communicator, temporary ? temporary->path() : "", path);
  file.write_on_first(layout.frame);
  for (std::size_t f = 0; f < fields.size(); ++f)
    FieldArray(communicator, grid, fields[f]).write(file, layout.fields[f]);
  file.close();
  comm::on_first_rank(communicator, [&] { temporary->commit(); });
}

ImageTimes::ImageTimes(const Communicator& communicator, const Grid& grid, Image image,
                       std::string path, std::int64_t most)
    : communicator_(communicator),
      grid_(grid),
      image_(std::move(image)),
      path_(std::move(path)),
      most_(most) {}

void ImageTimes::resume(const Times& times) {
  const std::int64_t most = most_;
  std::vector<double> kept;  // on rank 0
  comm::on_first_rank(communicator_, [&] {
    std::error_code ignored;
    if (times.before.empty() || !std::filesystem::exists(path_, ignored)) return;
    kept = read_earlier();
    count_ = times_to_keep(kept, times);
    kept.resize(static_cast<std::size_t>(count_));
    if (count_ == 0) most_ = most;
  });
  const std::vector<std::int64_t> found = shared(communicator_, {count_, most_});
  count_ = found[0];
  if (count_ == 0) return;
  layout_.first.fields = shared(communicator_, layout_.first.fields);
  most_ = found[1];
  if (count_ + times.more <= most_) return;
  most_ = most;
  make_room(kept);
}

/// Arrays lie where the lengths of those before them have put them: the times are copied to a file
/// with longer ones, which takes the place of the old one once it has them all.
void ImageTimes::make_room(const std::vector<double>& kept) {
  const ImageTimes old = *this;
  std::optional<FieldStorage> one;
  comm::together(communicator_, [&] {
    one.emplace(grid_, image_.element_bytes, FieldOptions{.name = path_, .halo = 0});
  });
  const FieldArray array(communicator_, grid_, *one);
  std::optional<TemporaryFile> temporary;
  const std::string path = begin(temporary, Otherwise::fail);
  CollectiveFile from(communicator_, {.path = path_});
  CollectiveFile to = opened(communicator_, path, path_);
  for (std::int64_t time = 0; time < count_; ++time)
    for (std::size_t f = 0; f < image_.fields.size(); ++f) {
      array.read(from, old.place(f, time));
      array.write(to, place(f, time));
    }
  std::string values;
  for (const double time : kept) values += bytes_of(time);
  to.write_on_first({{layout_.values, values}});
  to.close();
  from.close();
  count(count_, path);
  comm::on_first_rank(communicator_, [&] { temporary->commit(); });
}

void ImageTimes::refuse(const std::string& why) const {
  throw Error(ErrorKind::usage,
              fmt::format("cannot continue the times in '{}': {}; name another file by option "
                          "'output'",
                          path_, why));
}

/// The places and kinds of the parts of the file.
Json ImageTimes::head() const {
  const Int3 cells = image_.cells.values();
  return {{"cells", {cells.x, cells.y, cells.z}},
          {"element_bytes", image_.element_bytes},
          {"fields", image_.fields},
          {"most", most_},
          {"places", layout_.first.fields},
          {"values", layout_.values},
          {"count", layout_.count},
          {"lengths", layout_.lengths}};
}

/// Takes the layout of a file that another run has written, and returns its times.
std::vector<double> ImageTimes::read_earlier() {
  const Descriptor file = open_framed(frame_of_image, path_);
  const Json found = parse_json(read_framed(frame_of_image, file, path_));
  try {
    most_ = found.at("most").get<std::int64_t>();
    layout_.first.fields = found.at("places").get<std::vector<std::int64_t>>();
    layout_.values = found.at("values").get<std::int64_t>();
    layout_.count = found.at("count").get<std::int64_t>();
    layout_.lengths = found.at("lengths").get<std::array<std::int64_t, 2>>();
  } catch (const std::exception& error) {  // of the JSON library
    refuse_damaged(path_, fmt::format("its head ({})", error.what()));
  }
  if (found != head()) refuse("it has other cells, fields or another precision");
  const auto numbers = [&]<class Number>(std::int64_t place, std::int64_t count, Number) {
    const std::string bytes =
        bytes_at(file, place, count * static_cast<std::int64_t>(sizeof(Number)), path_);
    std::vector<Number> all(bytes.size() / sizeof(Number));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Number));
    return all;
  };
  const std::vector<std::int64_t> count = numbers(layout_.count, 1, std::int64_t{});
  if (count.empty() || count[0] < 0 || count[0] > most_)
    refuse_damaged(path_, "the number of its times");
  std::vector<double> times = numbers(layout_.values, count[0], double{});
  if (std::ssize(times) < count[0]) refuse_damaged(path_, "it ends before its times do");
  return times;
}

/// An earlier run may itself be a restart, whose file begins later.
std::int64_t ImageTimes::times_to_keep(const std::vector<double>& there, const Times& times) const {
  const std::vector<double>& before = times.before;
  if (there.empty() || there.front() == times.next) return 0;
  const auto first = std::find(before.begin(), before.end(), there.front());
  const auto [kept_end, last] = std::mismatch(there.begin(), there.end(), first, before.end());
  if (first == before.end() || last != before.end())
    refuse(fmt::format("it has no time {}", first == before.end() ? before.back() : *last));
  return kept_end - there.begin();
}

void ImageTimes::add(const FieldList& fields, double time, Otherwise otherwise) {
  if (count_ == most_)
    throw Error(ErrorKind::internal, fmt::format("'{}' has room for {} times", path_, most_));
  std::optional<TemporaryFile> temporary;
  const bool is_first = count_ == 0;
  const std::string path = is_first ? begin(temporary, otherwise) : path_;
  write(fields, time, path);
  count(count_ + 1, path);
  if (is_first) comm::on_first_rank(communicator_, [&] { temporary->commit(); });
  ++count_;
}

/// Begins a file without times, and returns the path under which rank 0 has it.
std::string ImageTimes::begin(std::optional<TemporaryFile>& temporary, Otherwise otherwise) {
  comm::on_first_rank(communicator_, [&] {
    temporary.emplace(path_, otherwise);
    layout_ = vtkhdf_layout_with_times(image_, most_, room_for_head(image_));
    layout_.first.frame.push_back({0, framed(frame_of_image, write_json(head()))});
  });
  layout_.first.fields = shared(communicator_, layout_.first.fields);
  const std::string path = temporary ? temporary->path() : "";
  CollectiveFile file = opened(communicator_, path, path_);
  file.write_on_first(layout_.first.frame);
  file.close();
  return path;
}

/// Returns the offset of a field at a time.
std::int64_t ImageTimes::place(std::size_t field, std::int64_t time) const {
  const Int3 cells = grid_.cells().values();
  return layout_.first.fields[field] + time * cells.x * cells.y * cells.z * image_.element_bytes;
}

/// Writes a time beyond those that the file counts.
void ImageTimes::write(const FieldList& fields, double time, const std::string& path) {
  CollectiveFile file = opened(communicator_, path, path_);
  for (std::size_t f = 0; f < fields.size(); ++f)
    FieldArray(communicator_, grid_, fields[f]).write(file, place(f, count_));
  const std::int64_t value = layout_.values + count_ * static_cast<std::int64_t>(sizeof time);
  file.write_on_first({{value, bytes_of(time)}});
  file.close();
}

/// Sets the number of times, once their values are on the disk. Each number is written at once, so
/// the file never counts more times than it has.
void ImageTimes::count(std::int64_t times, const std::string& path) {
  const std::string count = bytes_of(times);
  CollectiveFile file = opened(communicator_, path, path_);
  file.write_on_first(
      {{layout_.count, count}, {layout_.lengths[0], count}, {layout_.lengths[1], count}});
  file.close();
}

}  // namespace halocline::files
