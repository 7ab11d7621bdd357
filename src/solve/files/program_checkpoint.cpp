// SPDX-License-Identifier: Apache-2.0
// Files with fields of a program.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/checkpoint.hpp>
#include <halocline/error.hpp>
#include <halocline/npy.hpp>

#include "comm/collectives.hpp"
#include "files/checkpoint.hpp"
#include "files/field_array.hpp"
#include "files/npy.hpp"
#include "grid/text.hpp"
#include "text/refuse.hpp"

namespace halocline {
namespace {

constexpr auto part_with_text = "text";
constexpr std::size_t longest_text = std::size_t{16} << 20;

/// Programs have fields of any type; files have numbers. The rest is checked with the file.
void require_real(const FieldStorage& field) {
  if (!field.shape().may_be_real)
    refuse(
        "the elements of field '{}' are of another type than float and double; files "
        "need one float or double per cell",
        field.name());
}

void require_name(const std::string& name) {
  constexpr std::size_t longest = 64;
  const auto is_allowed = [](unsigned char letter) {
    return letter < 128 &&
           (std::isalnum(letter) != 0 || letter == '_' || letter == '-' || letter == '.');
  };
  if (name.empty() || name.size() > longest || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), is_allowed))
    refuse(
        "'{}' cannot name a field in a checkpoint; use 1 to {} letters, digits, '_', "
        "'-' and '.', not '.' first",
        name, longest);
}

const char* precision_of(std::int64_t element_bytes) {
  return element_bytes == sizeof(float) ? "float" : "double";
}

void require_fields(const Communicator& communicator, const Grid& grid,
                    const std::vector<NamedField>& fields) {
  std::vector<std::string> lines;
  comm::together(communicator, [&] {
    if (fields.empty()) refuse("a checkpoint needs a field; the list has none");
    std::set<std::string> names;
    const std::int64_t element_bytes = fields.front().field.shape().element_bytes;
    for (const auto& [name, field] : fields) {
      require_name(name);
      require_real(field);
      files::require_scalar(grid, field);
      if (!names.insert(name).second) refuse("two fields have the name '{}'", name);
      if (field.shape().element_bytes != element_bytes)
        refuse("field '{}' is {} and field '{}' is {}; write them to two files",
               fields.front().name, precision_of(element_bytes), name,
               precision_of(field.shape().element_bytes));
      lines.push_back(fmt::format("field '{}', {}", name, precision_of(element_bytes)));
    }
  });
  comm::require_same(communicator, "fields of checkpoints", lines);
}

void check(const CheckpointOptions& options) {
  if (options.text.size() > longest_text)
    refuse("the text of a checkpoint has {} bytes; it may have {}", options.text.size(),
           longest_text);
  for (const double size : options.spacing)
    if (!(size > 0 && std::isfinite(size)))
      refuse("the spacing of a checkpoint is {}; use more than 0", size);
  for (const double place : options.origin)
    if (!std::isfinite(place)) refuse("the origin of a checkpoint is {}", place);
}

/// Throws usage unless the file has the fields of the program.
void require_match(const files::CheckpointHead& head, const Grid& grid,
                   const std::vector<NamedField>& fields, const std::string& path) {
  if (!(head.cells == grid.cells()))
    refuse("'{}' has {}, the grid has {}", path, grid::cells_text(head.cells),
           grid::text_of(grid.cells()));
  std::vector<std::string> names;
  for (const files::CheckpointPart& part : head.fields) names.push_back(part.name);
  for (const auto& [name, field] : fields) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse("'{}' has no field '{}'; it has: {}", path, name, fmt::join(names, ", "));
    if (head.element_bytes != field.shape().element_bytes)
      refuse("the fields of '{}' are {}, field '{}' is {}", path, precision_of(head.element_bytes),
             name, precision_of(field.shape().element_bytes));
  }
}

bool has_text(const files::CheckpointHead& head) {
  return std::any_of(head.texts.begin(), head.texts.end(),
                     [](const files::CheckpointPart& part) { return part.name == part_with_text; });
}

}  // namespace

void write_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
               const std::string& path) {
  comm::together(communicator, [&] { require_real(field); });
  files::write_npy(communicator, grid, field, path);
}

void read_npy(const Communicator& communicator, const Grid& grid, const FieldStorage& field,
              const std::string& path) {
  comm::together(communicator, [&] { require_real(field); });
  files::read_npy(communicator, grid, field, path);
}

void write_checkpoint(const Communicator& communicator, const Grid& grid,
                      const std::vector<NamedField>& fields, const std::string& path,
                      const CheckpointOptions& options) {
  require_fields(communicator, grid, fields);
  comm::together(communicator, [&] { check(options); });
  files::CheckpointContent content{
      .image = {.cells = grid.cells(),
                .lower = options.origin,
                .spacing = options.spacing,
                .element_bytes = fields.front().field.shape().element_bytes,
                .fields = {}},
      .fields = {},
      .run = {{"made_by", "program"}},
      .texts = {{part_with_text, options.text}}};
  for (const auto& [name, field] : fields) {
    content.image.fields.push_back(name);
    content.fields.push_back(field);
  }
  files::write_checkpoint(communicator, grid, content, path);
}

std::string read_checkpoint(const Communicator& communicator, const Grid& grid,
                            const std::vector<NamedField>& fields, const std::string& path) {
  require_fields(communicator, grid, fields);
  std::string head_text, text;
  comm::on_first_rank(communicator, [&] {
    const files::CheckpointHead head = files::read_checkpoint_head(path);
    require_match(head, grid, fields, path);
    if (has_text(head)) text = files::read_checkpoint_text(path, head, part_with_text);
    head_text = files::text_of(head);
  });
  const files::CheckpointHead head =
      files::head_of(comm::broadcast(communicator, head_text, 0), path);
  for (const auto& [name, field] : fields)
    files::read_checkpoint_field(communicator, grid, field, path, head, name);
  return comm::broadcast(communicator, text, 0);
}

}  // namespace halocline
