// SPDX-License-Identifier: Apache-2.0
#include "files/image_file.hpp"

#include <cstring>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "comm/collective_file.hpp"
#include "comm/collectives.hpp"
#include "files/field_array.hpp"

namespace halocline::files {
namespace {

template <class Number>
std::string bytes_of(const Number& number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

/// What rank 0 finds out, for all ranks.
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

void write_fields(const Communicator& communicator, const Grid& grid, comm::CollectiveFile& file,
                  const FieldList& fields, const std::vector<std::int64_t>& places) {
  for (std::size_t f = 0; f < fields.size(); ++f)
    FieldArray(communicator, grid, fields[f]).write(file, places[f]);
}

comm::CollectiveFile opened(const Communicator& communicator, const std::string& path,
                            const std::string& name) {
  return {communicator,
          {.path = path, .access = comm::FileToOpen::Access::write, .name_in_errors = name}};
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
  comm::CollectiveFile file = opened(communicator, temporary ? temporary->path() : "", path);
  file.write_on_first(layout.frame);
  write_fields(communicator, grid, file, fields, layout.fields);
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

void ImageTimes::add(const FieldList& fields, double time, Otherwise otherwise) {
  if (count_ == 0) return begin(fields, time, otherwise);
  if (count_ == most_)
    throw Error(ErrorKind::internal, fmt::format("'{}' has room for {} times", path_, most_));
  write(fields, time, path_);
  count_one_more(path_);
}

void ImageTimes::begin(const FieldList& fields, double time, Otherwise otherwise) {
  std::optional<TemporaryFile> temporary;  // on rank 0
  comm::on_first_rank(communicator_, [&] {
    temporary.emplace(path_, otherwise);
    layout_ = vtkhdf_layout_with_times(image_, most_);
  });
  layout_.first.fields = shared(communicator_, layout_.first.fields);
  const std::string path = temporary ? temporary->path() : "";
  comm::CollectiveFile file = opened(communicator_, path, path_);
  file.write_on_first(layout_.first.frame);
  file.close();
  write(fields, time, path);
  count_one_more(path);
  comm::on_first_rank(communicator_, [&] { temporary->commit(); });
}

/// Beyond the times that the file counts.
void ImageTimes::write(const FieldList& fields, double time, const std::string& path) {
  const Int3 cells = grid_.cells().values();
  std::vector<std::int64_t> places = layout_.first.fields;
  for (std::int64_t& place : places)
    place += count_ * cells.x * cells.y * cells.z * image_.element_bytes;
  comm::CollectiveFile file = opened(communicator_, path, path_);
  write_fields(communicator_, grid_, file, fields, places);
  const std::int64_t place = layout_.values + count_ * static_cast<std::int64_t>(sizeof time);
  file.write_on_first({{place, bytes_of(time)}});
  file.close();
}

/// Once its values are on the disk. Each number is written at once, and never are there more times
/// than the file counts.
void ImageTimes::count_one_more(const std::string& path) {
  ++count_;
  const std::string count = bytes_of(count_);
  comm::CollectiveFile file = opened(communicator_, path, path_);
  file.write_on_first(
      {{layout_.count, count}, {layout_.lengths[0], count}, {layout_.lengths[1], count}});
  file.close();
}

}  // namespace halocline::files
