// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_head.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "files/framed_text.hpp"

namespace halocline::files {
namespace {

constexpr Frame frame_of_checkpoint{
    .magic = "halocline checkpoint", .version = 1, .kind = "a checkpoint"};

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

}  // namespace

CheckpointHead read_checkpoint_head(const std::string& path) {
  const Descriptor file = open_framed(frame_of_checkpoint, path);
  const std::string text = read_framed(frame_of_checkpoint, file, path);
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
    std::string text =
        bytes_at(open_framed(frame_of_checkpoint, path), part.offset, part.bytes, path);
    if (hash_of_text(text) != part.hash || std::ssize(text) != part.bytes)
      refuse_damaged(path, fmt::format("its part '{}' is not as it was written", name));
    return text;
  }
  refuse_damaged(path, fmt::format("it has no part '{}'", name));
}

std::string begin_of_file(const std::string& head) { return framed(frame_of_checkpoint, head); }

std::string text_of(const CheckpointHead& head) {
  Json cells = Json::array();
  for (int axis = 0; axis < head.cells.axes(); ++axis) cells.push_back(head.cells[axis]);
  const Json all{{"run", head.run},
                 {"cells", cells},
                 {"element_bytes", head.element_bytes},
                 {"fields", json_of(head.fields)},
                 {"texts", json_of(head.texts)},
                 {"end", head.end}};
  return write_json(all);
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
