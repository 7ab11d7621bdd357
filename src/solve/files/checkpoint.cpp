// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/files/temporary_file.hpp"
#include "comm/collectives.hpp"
#include "files/field_array.hpp"
#include "files/framed_text.hpp"
#include "files/hdf5.hpp"
#include "files/parallel/collective_file.hpp"

namespace halocline::files {
namespace {

constexpr std::int64_t alignment = 4096;

/// The layout of a file that rank 0 is about to write.
struct Plan {
  std::int64_t head_bytes = 0;
  std::vector<FilePiece> frame = {};  ///< all but the head and the fields
  std::vector<CheckpointPart> fields = {}, texts = {};
  std::int64_t end = 0;
};

/// Room for a head of such parts, a size that HDF5 leaves at the begin of a file.
std::int64_t room_for_head(const CheckpointContent& content) {
  constexpr std::int64_t of_part = 160, besides = 1024;
  std::int64_t names = 0;
  for (const std::string& name : content.image.fields)
    names += static_cast<std::int64_t>(name.size());
  const auto parts = static_cast<std::int64_t>(content.image.fields.size() + content.texts.size());
  const auto run = static_cast<std::int64_t>(write_json(content.run).size());
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(besides + of_part * parts + names + run)));
}

/// Places the arrays one after the other, for files without HDF5's structure.
ImageLayout layout_in_turn(std::int64_t begin, std::int64_t field_bytes,
                           const CheckpointContent& content) {
  ImageLayout layout;
  std::int64_t end = begin;
  const auto take = [&](std::int64_t bytes) {
    const std::int64_t place = (end + alignment - 1) / alignment * alignment;
    end = place + bytes;
    return place;
  };
  for (const CheckpointText& text : content.texts)
    layout.extra.push_back(take(std::ssize(text.bytes)));
  for (std::size_t f = 0; f < content.image.fields.size(); ++f)
    layout.fields.push_back(take(field_bytes));
  return layout;
}

ImageLayout layout_of(std::int64_t head_bytes, std::int64_t field_bytes,
                      const CheckpointContent& content) {
  if (hdf5::unavailable()) return layout_in_turn(head_bytes, field_bytes, content);
  std::vector<ExtraData> texts;
  for (const CheckpointText& text : content.texts)
    // HDF5 has no place for nothing.
    texts.push_back(
        {text.name, std::max<std::int64_t>(1, std::ssize(text.bytes)), ExtraData::Kind::bytes});
  return vtkhdf_layout(content.image, head_bytes, texts);
}

Plan make_plan(const CheckpointContent& content) {
  const Int3 cells = content.image.cells.values();
  const std::int64_t field_bytes = cells.x * cells.y * cells.z * content.image.element_bytes;
  Plan plan{.head_bytes = room_for_head(content)};
  ImageLayout layout = layout_of(plan.head_bytes, field_bytes, content);
  plan.frame = std::move(layout.frame);
  for (std::size_t t = 0; t < content.texts.size(); ++t) {
    const auto& [name, bytes] = content.texts[t];
    plan.texts.push_back({name, layout.extra[t], std::ssize(bytes), hash_of_text(bytes)});
    plan.frame.push_back({layout.extra[t], bytes});
  }
  for (std::size_t f = 0; f < content.image.fields.size(); ++f)
    plan.fields.push_back({content.image.fields[f], layout.fields[f], field_bytes, 0});
  for (const auto* parts : {&plan.fields, &plan.texts})
    for (const CheckpointPart& part : *parts)
      plan.end = std::max(plan.end, part.offset + part.bytes);
  return plan;
}

/// The first line and what follows it, once all hashes are known.
std::string head_of(const Plan& plan, const CheckpointContent& content, const std::string& path) {
  const std::string text = text_of({.run = content.run,
                                    .cells = content.image.cells,
                                    .element_bytes = content.image.element_bytes,
                                    .fields = plan.fields,
                                    .texts = plan.texts,
                                    .end = plan.end});
  std::string head = begin_of_file(text);
  if (std::ssize(head) > plan.head_bytes)
    throw Error(ErrorKind::internal, fmt::format("the head of '{}' has {} bytes, more than {}",
                                                 path, head.size(), plan.head_bytes));
  return head;
}

}  // namespace

void write_checkpoint(const Communicator& communicator, const Grid& grid,
                      const CheckpointContent& content, const std::string& path) {
  std::optional<TemporaryFile> temporary;  // on rank 0
  Plan plan;
  comm::on_first_rank(communicator, [&] {
    temporary.emplace(path);
    plan = make_plan(content);
  });
  CollectiveFile file(communicator, {.path = temporary ? temporary->path() : "",
                                     .access = FileToOpen::Access::write,
                                     .name_in_errors = path});
  file.write_on_first(plan.frame);
  for (std::size_t f = 0; f < content.fields.size(); ++f) {
    const std::int64_t offset =
        comm::max_over_ranks(communicator, temporary ? plan.fields[f].offset : std::int64_t{0});
    const std::uint64_t hash =
        FieldArray(communicator, grid, content.fields[f]).write(file, offset);
    if (temporary) plan.fields[f].hash = hash;
  }
  std::string head;
  comm::on_first_rank(communicator, [&] { head = head_of(plan, content, path); });
  file.write_on_first({{0, head}});
  file.close();
  comm::on_first_rank(communicator, [&] { temporary->commit(); });
}

void read_checkpoint_field(const Communicator& communicator, const Grid& grid,
                           const FieldStorage& field, const std::string& path,
                           const CheckpointHead& head, const std::string& name) {
  const auto part = std::find_if(head.fields.begin(), head.fields.end(),
                                 [&](const CheckpointPart& one) { return one.name == name; });
  if (part == head.fields.end()) refuse_damaged(path, fmt::format("it has no field '{}'", name));
  CollectiveFile file(communicator, {.path = path});
  const std::uint64_t hash = FieldArray(communicator, grid, field).read(file, part->offset);
  file.close();
  if (hash != part->hash)
    refuse_damaged(path, fmt::format("its field '{}' is not as it was written", name));
}

}  // namespace halocline::files
