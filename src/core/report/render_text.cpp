// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "report/render.hpp"

namespace halocline {
namespace {

constexpr std::size_t line_columns = 100;
constexpr std::size_t gap_columns = 2;
constexpr std::size_t narrowest_columns =
    20;  // in fewer, wrapped text is harder to read than a long line

std::string with_unit(const std::string& text, const Scale& scale) {
  return scale.unit.empty() ? text : text + " " + scale.unit;
}

/// Visits every number in `value` as a double.
template <class Visitor>
void visit_numbers(const Value& value, const Visitor& visitor) {
  std::visit(
      [&](const auto& data) {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, MinMeanMax>) {
          visitor(data.min), visitor(data.mean), visitor(data.max);
        } else if constexpr (std::is_same_v<T, Value::List>) {
          for (const Value& element : data) visit_numbers(element, visitor);
        } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          visitor(static_cast<double>(data));
        }
      },
      value.data());
}

double largest_in(const Value& value) {
  double largest = 0;
  visit_numbers(value, [&](double x) {
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  });
  return largest;
}

/// Writes the value without its unit.
std::string bare(const Value& value, const Format& format, const Scale& scale) {
  return std::visit(
      [&](const auto& data) -> std::string {
        using T = std::decay_t<decltype(data)>;
        if constexpr (std::is_same_v<T, std::nullptr_t>) {
          return "-";
        } else if constexpr (std::is_same_v<T, bool>) {
          return data ? "yes" : "no";
        } else if constexpr (std::is_same_v<T, std::string>) {
          return data;
        } else if constexpr (std::is_same_v<T, MinMeanMax>) {
          return fmt::format("{} / {} / {}", write_digits(data.min, format, scale),
                             write_digits(data.mean, format, scale),
                             write_digits(data.max, format, scale));
        } else if constexpr (std::is_same_v<T, Value::List>) {
          std::string text;
          for (const Value& element : data)
            text += (text.empty() ? "" : ", ") + bare(element, format, scale);
          return text;
        } else if constexpr (std::is_same_v<T, double>) {
          return write_digits(data, format, scale);
        } else {
          // A count is exact: rounding it to significant digits would hide differences.
          const bool exact = scale.factor == 1 && format.style != Format::Style::scientific;
          return exact ? fmt::format("{}", data)
                       : write_digits(static_cast<double>(data), format, scale);
        }
      },
      value.data());
}

std::string value_in_words(const Value& value, const Format& format) {
  const Scale scale = choose_scale(largest_in(value), format);
  std::string text = bare(value, format, scale);
  if (std::holds_alternative<std::nullptr_t>(value.data())) return text;
  text = with_unit(text, scale);
  if (std::holds_alternative<MinMeanMax>(value.data())) text += " (min / mean / max)";
  return text;
}

/// Appends `text` to the current line, breaking between words; further lines start at `indent`.
void append_wrapped(std::string& out, const std::string& text, std::size_t column,
                    std::size_t indent) {
  std::size_t begin = 0;
  while (column + narrowest_columns <= line_columns &&
         text.size() - begin + column > line_columns) {
    const std::size_t room = line_columns - column;
    std::size_t end = text.rfind(' ', begin + room);
    if (end == std::string::npos || end <= begin) end = text.find(' ', begin + 1);
    if (end == std::string::npos) break;
    out += text.substr(begin, end - begin) + "\n" + std::string(indent, ' ');
    begin = end + 1;
    column = indent;
  }
  out += text.substr(begin) + "\n";
}

bool hidden(Audience audience) { return audience == Audience::json; }

bool continues_block(const Section& section) { return section.title().empty(); }

std::size_t label_width(const Section& section) {
  std::size_t width = 0;
  for (const auto& node : section.nodes()) {
    if (const Row* row = std::get_if<Row>(&node->content)) {
      if (!hidden(row->audience)) width = std::max(width, row->label.size());
    } else if (const Section* child = std::get_if<Section>(&node->content)) {
      if (!hidden(child->audience()) && continues_block(*child))
        width = std::max(width, label_width(*child));
    }
  }
  return width;
}

void append_row(std::string& out, const Row& row, std::size_t indent, std::size_t width) {
  const std::string words = row.words.empty() ? value_in_words(row.value, row.format) : row.words;
  if (row.label.empty()) {
    if (words.empty()) {
      out += "\n";
      return;
    }
    out += std::string(indent, ' ');
    append_wrapped(out, words, indent, indent + gap_columns);
    return;
  }
  const std::size_t column = indent + width + gap_columns;
  out += fmt::format("{:{}}{:{}}", "", indent, row.label, width + gap_columns);
  append_wrapped(out, words, column, column);
}

struct TextColumn {
  std::vector<std::string> cells;  ///< the first is the header
  std::size_t width = 0;
  bool numeric = false;
};

TextColumn lay_out(const Table& table, std::size_t c) {
  const Column& column = table.columns[c];
  TextColumn text;
  double largest = 0;
  for (const auto& row : table.rows) {
    visit_numbers(row[c], [&](double) { text.numeric = true; });
    largest = std::max(largest, largest_in(row[c]));
  }
  const Scale scale = choose_scale(largest, column.format);
  text.cells.push_back(with_unit(column.label, scale));
  for (const auto& row : table.rows) text.cells.push_back(bare(row[c], column.format, scale));
  for (const std::string& cell : text.cells) text.width = std::max(text.width, cell.size());
  return text;
}

void append_table(std::string& out, const Table& table, std::size_t indent) {
  if (!table.title.empty()) {
    out += std::string(indent, ' ') + table.title + "\n";
    indent += gap_columns;
  }
  std::vector<TextColumn> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) columns.push_back(lay_out(table, c));
  for (std::size_t line = 0; line <= table.rows.size(); ++line) {
    std::size_t column = indent;
    std::string text(indent, ' ');
    for (const TextColumn& each : columns) {
      column = text.size();
      const std::string padding(each.width - each.cells[line].size(), ' ');
      text += each.numeric ? padding + each.cells[line] : each.cells[line] + padding;
      text += std::string(gap_columns, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text.substr(0, std::min(column, text.size()));
    append_wrapped(out, column < text.size() ? text.substr(column) : "", column, column);
  }
}

void append_section(std::string& out, const Section& section, std::size_t indent,
                    std::size_t width) {
  for (const auto& node : section.nodes()) {
    if (const Row* row = std::get_if<Row>(&node->content)) {
      if (!hidden(row->audience)) append_row(out, *row, indent, width);
    } else if (const Table* table = std::get_if<Table>(&node->content)) {
      if (!hidden(table->audience)) append_table(out, *table, indent);
    } else {
      const Section& child = std::get<Section>(node->content);
      if (hidden(child.audience())) continue;
      if (continues_block(child)) {
        append_section(out, child, indent, width);
      } else {
        out += std::string(indent, ' ') + child.title() + "\n";
        append_section(out, child, indent + gap_columns, label_width(child));
      }
    }
  }
}

}  // namespace

std::string render_text(const Report& report) {
  std::string out;
  if (!report.title().empty()) append_wrapped(out, report.title(), 0, gap_columns);
  append_section(out, report, report.title().empty() ? 0 : gap_columns, label_width(report));
  return out;
}

}  // namespace halocline
