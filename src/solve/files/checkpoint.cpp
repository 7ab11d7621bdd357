// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/temporary_file.hpp"
#include "comm/collective_file.hpp"
#include "comm/collectives.hpp"
#include "files/field_array.hpp"
#include "files/framed_text.hpp"
#include "files/hdf5.hpp"

namespace halocline::files {
namespace {

constexpr Frame frame{
    .magic = "halocline checkpoint", .version = 1, .kind = "a checkpoint"};
constexpr std::int64_t alignment = 4096;

Json json_of(const std::vector<CheckpointPart>& parts) {
  Json all = Json::array();
  for (const CheckpointPart& part : parts)
    all.push_back({{"name", part.name},
                   {"offset", part.offset},
                   {"bytes", part.bytes},
                   {"hash", fmt::format("{:016x}", part.hash)}});
  return all;
}

std::uint64_t number_in_hex(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 16)
    throw std::invalid_argument("not a hash");
  return number;
}

std::vector<CheckpointPart> parts_of(const Json& json) {
  std::vector<CheckpointPart> parts;
  for (const Json& one : json)
    parts.push_back({.name = one.at("name").get<std::string>(),
                     .offset = one.at("offset").get<std::int64_t>(),
                     .bytes = one.at("bytes").get<std::int64_t>(),
                     .hash = number_in_hex(one.at("hash").get<std::string>())});
  return parts;
}

/// Every part lies behind the head and before the end, so that no number makes a reader take more
/// memory than the file has bytes.
void check(const CheckpointHead& head, std::int64_t head_end, const std::string& path) {
  const Int3 cells = head.cells.values();
  double bytes_of_field = static_cast<double>(head.element_bytes);
  for (int axis = 0; axis < head.cells.axes(); ++axis)
    bytes_of_field *= static_cast<double>(cells[axis]);
  const auto lies_within = [&](const CheckpointPart& part) {
    return part.offset >= head_end && part.bytes >= 0 && part.bytes <= head.end &&
           part.offset <= head.end - part.bytes;
  };
  const auto is_field = [&](const CheckpointPart& part) {
    return lies_within(part) && static_cast<double>(part.bytes) == bytes_of_field;
  };
  const bool has_cells = cells.x > 0 && cells.y > 0 && cells.z > 0;
  const bool is_right = has_cells && (head.element_bytes == 4 || head.element_bytes == 8) &&
                        std::all_of(head.fields.begin(), head.fields.end(), is_field) &&
                        std::all_of(head.texts.begin(), head.texts.end(), lies_within);
  if (!is_right) refuse_damaged(path, "its head names parts that it cannot have");
}

/// What rank 0 knows of a file that it is about to write.
struct Plan {
  std::int64_t head_bytes = 0;
  std::vector<comm::FilePiece> frame = {};  ///< all but the head and the fields
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
  const auto run = static_cast<std::int64_t>(content.run.dump().size());
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(besides + of_part * parts + names + run)));
}

/// One after the other, for files without HDF5's structure.
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
  comm::CollectiveFile file(communicator, {.path = temporary ? temporary->path() : "",
                                           .access = comm::FileToOpen::Access::write,
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

CheckpointHead read_checkpoint_head(const std::string& path) {
  const Descriptor file = open_framed(frame, path);
  const std::string text = read_framed(frame, file, path);
  CheckpointHead head = head_of(text, path);
  check(head, frame_bytes + std::ssize(text), path);
  const off_t there = ::lseek(file.get(), 0, SEEK_END);
  if (there < head.end) refuse_damaged(path, fmt::format("it has {} bytes of {}", there, head.end));
  return head;
}

std::string read_checkpoint_text(const std::string& path, const CheckpointHead& head,
                                 const std::string& name) {
  for (const CheckpointPart& part : head.texts) {
    if (part.name != name) continue;
    std::string text = bytes_at(open_framed(frame, path), part.offset, part.bytes, path);
    if (hash_of_text(text) != part.hash || std::ssize(text) != part.bytes)
      refuse_damaged(path, fmt::format("its part '{}' is not as it was written", name));
    return text;
  }
  refuse_damaged(path, fmt::format("it has no part '{}'", name));
}

void read_checkpoint_field(const Communicator& communicator, const Grid& grid,
                           const FieldStorage& field, const std::string& path,
                           const CheckpointHead& head, const std::string& name) {
  const auto part = std::find_if(head.fields.begin(), head.fields.end(),
                                 [&](const CheckpointPart& one) { return one.name == name; });
  if (part == head.fields.end()) refuse_damaged(path, fmt::format("it has no field '{}'", name));
  comm::CollectiveFile file(communicator, {.path = path});
  const std::uint64_t hash = FieldArray(communicator, grid, field).read(file, part->offset);
  file.close();
  if (hash != part->hash)
    refuse_damaged(path, fmt::format("its field '{}' is not as it was written", name));
}

std::string begin_of_file(const std::string& head) { return framed(frame, head); }

std::string text_of(const CheckpointHead& head) {
  Json cells = Json::array();
  for (int axis = 0; axis < head.cells.axes(); ++axis) cells.push_back(head.cells[axis]);
  const Json all{{"run", head.run},
                 {"cells", cells},
                 {"element_bytes", head.element_bytes},
                 {"fields", json_of(head.fields)},
                 {"texts", json_of(head.texts)},
                 {"end", head.end}};
  return all.dump();
}

CheckpointHead head_of(const std::string& text, const std::string& path) {
  try {
    const Json json = parse_json(text);
    if (json.is_discarded()) refuse_damaged(path, "its head");
    std::vector<std::int64_t> cells = json.at("cells").get<std::vector<std::int64_t>>();
    const auto axes = static_cast<int>(cells.size());
    if (axes < 1 || axes > 3) refuse_damaged(path, "the number of its axes");
    cells.resize(3, 1);
    return {.run = json.at("run"),
            .cells = Extents({cells[0], cells[1], cells[2]}, axes),
            .element_bytes = json.at("element_bytes").get<std::int64_t>(),
            .fields = parts_of(json.at("fields")),
            .texts = parts_of(json.at("texts")),
            .end = json.at("end").get<std::int64_t>()};
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // of the JSON library
    refuse_damaged(path, fmt::format("its head ({})", error.what()));
  }
}

}  // namespace halocline::files
