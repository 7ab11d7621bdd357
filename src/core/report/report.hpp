// SPDX-License-Identifier: Apache-2.0
#pragma once
// One tree of a command's results; render.hpp writes it as text or JSON.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text/format.hpp"

namespace halocline {

/// The range of a quantity over ranks or repetitions. JSON: an object with these three keys.
struct MinMeanMax {
  double min = 0;
  double mean = 0;
  double max = 0;
};

/// A value in a report; converts implicitly from the plain type. Pairs and vectors become lists,
/// nullptr means "not known" ("-" in text).
class Value {
 public:
  using List = std::vector<Value>;
  using Data = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
                            MinMeanMax, List>;

  Value(std::nullptr_t = nullptr) : data_(nullptr) {}
  template <std::same_as<bool> T>  // a template, so that no pointer turns into a bool
  Value(T value) : data_(value) {}
  template <std::signed_integral T>
  Value(T value) : data_(static_cast<std::int64_t>(value)) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Value(T value) : data_(static_cast<std::uint64_t>(value)) {}
  template <std::floating_point T>
  Value(T value) : data_(static_cast<double>(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(MinMeanMax value) : data_(value) {}
  Value(List value) : data_(std::move(value)) {}
  template <class T>
  Value(const std::vector<T>& values) : data_(List(values.begin(), values.end())) {}
  template <class A, class B>
  Value(const std::pair<A, B>& pair) : data_(List{pair.first, pair.second}) {}
  template <class T>
  Value(const std::optional<T>& value) : data_(nullptr) {
    if (value) data_ = Value(*value).data_;
  }

  const Data& data() const { return data_; }

 private:
  Data data_;
};

/// Which rendering shows a node.
enum class Audience { all, text, json };

struct Row {
  std::string key;    ///< in JSON
  std::string label;  ///< in text; empty: a line with the words only
  Value value;
  Format format;
  std::string words;  ///< the text instead of the value, if not empty
  Audience audience;
};

struct Column {
  std::string key;
  std::string label;
  Format format = {};
};

struct Table {
  /// The form of a table in JSON.
  enum class Shape {
    objects,  ///< [{column: cell, ...}, ...]
    arrays,   ///< [[cell, ...], ...]
    keyed     ///< {first cell: {column: cell, ...}, ...}
  };

  /// Adds a row of cells, one for each column; throws internal for any other number.
  Table& add(std::vector<Value> cells);

  std::string key;
  std::string title;  ///< line above the table in text; may be empty
  std::vector<Column> columns;
  Shape shape = Shape::objects;
  Audience audience = Audience::all;
  std::vector<std::vector<Value>> rows = {};
};

/// Returns a table that only JSON shows, with these column keys.
Table json_table(std::string key, const std::vector<std::string>& columns,
                 Table::Shape shape = Table::Shape::objects);

/// A report, or a part of one: rows, tables and sections in the order they were added. References
/// to tables and sections stay valid as long as the section exists.
class Section {
 public:
  struct Node;

  /// An empty `key` puts the content into the enclosing JSON object; an empty `title` puts it into
  /// the enclosing block of text, aligned with that block's rows.
  explicit Section(std::string key = {}, std::string title = {}, Audience audience = Audience::all);
  ~Section();
  Section(Section&&) noexcept;
  Section& operator=(Section&&) noexcept;

  /// Adds a value to both renderings; `words` replace it in text.
  Section& add(std::string key, std::string label, Value value, Format format = {});
  Section& add(std::string key, std::string label, Value value, std::string words);
  /// Adds a value to JSON only.
  Section& add_json(std::string key, Value value);
  /// Adds a labelled line to the text only.
  Section& add_text(std::string label, std::string words);
  /// Adds a sentence to the text only; an empty one is a blank line.
  Section& add_line(std::string words);
  /// Adds a JSON list of strings, and in text one wrapped "note:" paragraph for each.
  Section& add_notes(std::string key, const std::vector<std::string>& notes);

  Section& add_section(std::string key, std::string title, Audience audience = Audience::all);
  Table& add_table(Table table);

  const std::string& key() const { return key_; }
  const std::string& title() const { return title_; }
  Audience audience() const { return audience_; }
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }

 private:
  Section& add_row(Row row);

  std::string key_;
  std::string title_;
  Audience audience_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

struct Section::Node {
  std::variant<Row, Table, Section> content;
};

/// A whole report is its outermost section. Its key says what it is a report of; its title is the
/// first line of the text.
using Report = Section;

}  // namespace halocline
