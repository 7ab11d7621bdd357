// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <fmt/core.h>

#include <halocline/error.hpp>

namespace halocline {

Table& Table::add(std::vector<Value> cells) {
  if (cells.size() != columns.size())
    throw Error(ErrorKind::internal, fmt::format("table '{}' has {} columns but a row has {} cells",
                                                 key, columns.size(), cells.size()));
  rows.push_back(std::move(cells));
  return *this;
}

Section::Section(std::string key, std::string title, Audience audience)
    : key_(std::move(key)), title_(std::move(title)), audience_(audience) {}
Section::~Section() = default;
Section::Section(Section&&) noexcept = default;
Section& Section::operator=(Section&&) noexcept = default;

Section& Section::add_row(Row row) {
  nodes_.push_back(std::make_unique<Node>(Node{std::move(row)}));
  return *this;
}

Section& Section::add(std::string key, std::string label, Value value, Format format) {
  return add_row(
      {std::move(key), std::move(label), std::move(value), std::move(format), {}, Audience::all});
}

Section& Section::add(std::string key, std::string label, Value value, std::string words) {
  return add_row(
      {std::move(key), std::move(label), std::move(value), {}, std::move(words), Audience::all});
}

Section& Section::add_json(std::string key, Value value) {
  return add_row({std::move(key), {}, std::move(value), {}, {}, Audience::json});
}

Section& Section::add_text(std::string label, std::string words) {
  return add_row({{}, std::move(label), {}, {}, std::move(words), Audience::text});
}

Section& Section::add_line(std::string words) {
  return add_row({{}, {}, std::string(), {}, std::move(words), Audience::text});
}

Section& Section::add_notes(std::string key, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) add_line("note: " + note);
  return add_json(std::move(key), notes);
}

Section& Section::add_section(std::string key, std::string title, Audience audience) {
  nodes_.push_back(
      std::make_unique<Node>(Node{Section(std::move(key), std::move(title), audience)}));
  return std::get<Section>(nodes_.back()->content);
}

Table& Section::add_table(Table table) {
  nodes_.push_back(std::make_unique<Node>(Node{std::move(table)}));
  return std::get<Table>(nodes_.back()->content);
}

Table json_table(std::string key, const std::vector<std::string>& columns, Table::Shape shape) {
  Table table{.key = std::move(key),
              .title = {},
              .columns = {},
              .shape = shape,
              .audience = Audience::json};
  for (const std::string& column : columns) table.columns.push_back({column, {}});
  return table;
}

}  // namespace halocline
