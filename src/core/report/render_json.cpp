// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <halocline/error.hpp>
#include <halocline/version.hpp>

#include "base/text/json_text.hpp"
#include "report/render.hpp"

namespace halocline {
namespace {

constexpr std::size_t columns_of_line = 100;

Json to_json(const Value& value) {
  return std::visit(
      [](const auto& data) -> Json {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, MinMeanMax>) {
          return {{"min", data.min}, {"mean", data.mean}, {"max", data.max}};
        } else if constexpr (std::is_same_v<T, Value::List>) {
          Json list = Json::array();
          for (const Value& element : data) list.push_back(to_json(element));
          return list;
        } else {
          return data;
        }
      },
      value.data());
}

void insert(Json& object, const std::string& key, Json value) {
  if (key.empty()) throw Error(ErrorKind::internal, "a value in the report has no JSON key");
  if (object.contains(key))
    throw Error(ErrorKind::internal, fmt::format("the report has the JSON key '{}' twice", key));
  object[key] = std::move(value);
}

Json cells_to_object(const Table& table, const std::vector<Value>& cells, std::size_t first) {
  Json object = Json::object();
  for (std::size_t c = first; c < cells.size(); ++c)
    insert(object, table.columns[c].key, to_json(cells[c]));
  return object;
}

Json to_json(const Table& table) {
  const bool keyed = table.shape == Table::Shape::keyed;
  Json json = keyed ? Json::object() : Json::array();
  for (const std::vector<Value>& cells : table.rows) {
    if (keyed)
      insert(json, to_json(cells.front()).get<std::string>(), cells_to_object(table, cells, 1));
    else if (table.shape == Table::Shape::objects)
      json.push_back(cells_to_object(table, cells, 0));
    else
      json.push_back(to_json(Value(cells)));
  }
  return json;
}

void fill(Json& object, const Section& section) {
  for (const auto& node : section.nodes()) {
    if (const Row* row = std::get_if<Row>(&node->content)) {
      if (row->audience != Audience::text) insert(object, row->key, to_json(row->value));
    } else if (const Table* table = std::get_if<Table>(&node->content)) {
      if (table->audience != Audience::text) insert(object, table->key, to_json(*table));
    } else {
      const Section& child = std::get<Section>(node->content);
      if (child.audience() == Audience::text) continue;
      if (child.key().empty()) {
        fill(object, child);
      } else {
        Json nested = Json::object();
        fill(nested, child);
        insert(object, child.key(), std::move(nested));
      }
    }
  }
}

/// Joins plain values on one line: `write_json` alone puts no space after commas and colons.
std::string one_line(const Json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    if (!text.empty()) text += ", ";
    if (json.is_object()) text += write_json(key) + ": ";
    text += write_json(value);
  }
  return json.is_object() ? "{" + text + "}" : "[" + text + "]";
}

bool holds_plain_values(const Json& json) {
  for (const Json& value : json)
    if (value.is_structured() && !value.empty()) return false;
  return true;
}

/// Appends `json`; its first line starts at `column`, further ones are indented by `indent`.
void print(const Json& json, std::size_t indent, std::size_t column, std::string& text) {
  if (!json.is_structured()) {
    text += write_json(json);
    return;
  }
  if (json.empty() || (indent > 0 && holds_plain_values(json))) {
    const std::string line = one_line(json);
    if (column + line.size() < columns_of_line) {
      text += line;
      return;
    }
  }
  const std::string margin(indent + 2, ' ');
  text += json.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_object() ? write_json(key) + ": " : "";
    text += separator + margin + name;
    print(value, indent + 2, margin.size() + name.size(), text);
    separator = ",\n";
  }
  text += "\n" + std::string(indent, ' ') + (json.is_object() ? "}" : "]");
}

}  // namespace

std::string render_json(const Report& report) {
  Json root = Json::object();
  if (!report.key().empty()) {
    root["report"] = report.key();
    root["halocline"] = HALOCLINE_VERSION;
  }
  fill(root, report);
  std::string text;
  print(root, 0, 0, text);
  return text + "\n";
}

}  // namespace halocline
