// SPDX-License-Identifier: Apache-2.0
#include "problem/file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "problem/meaning.hpp"
#include "problem/other_languages.hpp"
#include "problem/toml.hpp"
#include "problem/toml_mistakes.hpp"
#include "text/near_miss.hpp"

namespace halocline::problem {
namespace {

/// A key with its value, and where they are.
struct Entry {
  std::string key;
  std::size_t at;  ///< of the key
  const toml::node* value;
};

class Reader {
 public:
  explicit Reader(File& file) : file_(file) {}

  void read() {
    const toml::table all = parsed();
    read_top(all);
    const auto section = [&](std::string_view name, auto read) {
      if (const toml::node* const node = all.get(name))
        for (const Entry& entry : entries(table(*node, name))) read(entry);
    };
    section("parameters", [this](const Entry& entry) { read_parameter(entry); });
    section("require", [this](const Entry& entry) { read_requirement(entry); });
    section("fields", [this](const Entry& entry) { read_field(entry); });
    section("coefficients", [this](const Entry& entry) { read_coefficient(entry); });
    section("locals", [this](const Entry& entry) {
      declare(entry);
      file_.locals.push_back(named(entry));
    });
    section("update", [this](const Entry& entry) { file_.updates.push_back(named(entry)); });
    if (const toml::node* const node = all.get("stop")) read_stop(table(*node, "stop"));
    check_limits();
  }

 private:
  // ---- errors ----

  [[noreturn]] void refuse(std::size_t at, std::size_t length, const std::string& what) const {
    throw Error(ErrorKind::usage, file_.source.shown(at, length, what));
  }
  [[noreturn]] void refuse(const Entry& entry, const std::string& what) const {
    refuse(entry.at, entry.key.size(), what);
  }

  std::size_t place_of(const toml::source_position& position) const {
    return file_.source.offset_of(position.line, position.column);
  }
  std::size_t place_of(const toml::node& node) const { return place_of(node.source().begin); }

  /// The bytes of a value on its first line.
  std::size_t length_of(const toml::node& node) const {
    const toml::source_region& region = node.source();
    if (region.end.line != region.begin.line) return 1;
    return std::max<std::size_t>(1, place_of(region.end) - place_of(region.begin));
  }
  [[noreturn]] void refuse(const toml::node& node, const std::string& what) const {
    refuse(place_of(node), length_of(node), what);
  }
  /// The same with values for the text.
  template <class At, class First, class... Rest>
  [[noreturn]] void refuse(const At& at, fmt::format_string<First, Rest...> what, First&& first,
                           Rest&&... rest) const {
    refuse(at, fmt::format(what, std::forward<First>(first), std::forward<Rest>(rest)...));
  }

  toml::table parsed() const {
    if (const auto at = find_long_key(file_.source.text()))
      refuse(*at, 1, fmt::format("a key has at most {} parts", most_parts));
    try {
      return toml::parse(std::string_view(file_.source.text()));
    } catch (const toml::parse_error& error) {
      const std::size_t at = place_of(error.source().begin);
      if (const auto mistake = find_toml_mistake(file_.source.text(), at))
        refuse(mistake->at, mistake->length, mistake->what);
      refuse(at, 1, std::string(error.description()));
    }
  }

  // ---- tables ----

  const toml::table& table(const toml::node& node, std::string_view name) const {
    if (const toml::table* const found = node.as_table()) return *found;
    refuse(node, "'{}' must be a table", name);
  }

  /// Lists the entries of a table in the order of the file.
  std::vector<Entry> entries(const toml::table& table) const {
    std::vector<Entry> all;
    for (const auto& [key, value] : table)
      all.push_back({std::string(key.str()), place_of(key.source().begin), &value});
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
    return all;
  }

  /// Refuses a key that is none of those known.
  [[noreturn]] void refuse_key(const Entry& entry, const std::string& where,
                               const std::vector<std::string>& known) const {
    const std::string question = do_you_mean(entry.key, known);
    refuse(entry, "{} has no key '{}'{}", where, entry.key,
           question.empty() ? fmt::format("; it has: {}", fmt::join(known, ", ")) : question);
  }

  // ---- values ----

  std::string text(const toml::node& node, std::string_view what) const {
    if (const auto* const found = node.as_string()) return found->get();
    refuse(node, "{} must be a text in quotes", what);
  }

  /// The path of a file, which errors name.
  std::string path(const toml::node& node) const {
    const std::string found = text(node, "the file");
    if (printable(found) != found)
      refuse(node, "a file's name is at most 1000 bytes, without control characters");
    return found;
  }

  std::int64_t whole(const toml::node& node, std::string_view what, std::int64_t least) const {
    const auto* const found = node.as_integer();
    if (found == nullptr || found->get() < least)
      refuse(node, "{} must be a whole number from {}", what, least);
    return found->get();
  }

  const toml::array& array(const toml::node& node, std::string_view what) const {
    if (const toml::array* const found = node.as_array(); found != nullptr && !found->empty())
      return *found;
    refuse(node, "{} must be a list", what);
  }

  /// The file's own spelling of a number, so that it is read as an expression reads it.
  std::string spelling(const toml::node& node) const {
    const std::size_t begin = place_of(node);
    return file_.source.text().substr(begin, length_of(node));
  }

  /// An expression in quotes, or a number.
  Written written(const toml::node& node, std::string_view what) const {
    const std::size_t begin = place_of(node);
    if (node.is_number()) {
      std::string digits = spelling(node);
      std::erase(digits, '_');
      if (digits.starts_with('+')) digits.erase(0, 1);
      return {digits, begin, digits.size() == length_of(node)};
    }
    const auto* const found = node.as_string();
    if (found == nullptr) refuse(node, "{} must be a number, or an expression in quotes", what);
    return located(found->get(), begin);
  }

  /// Returns the text of a string with its place in the file, behind the quotes.
  Written located(const std::string& text, std::size_t begin) const {
    const std::string_view all = file_.source.text();
    std::size_t at = begin;
    const std::string_view quotes = all.substr(at, 3);
    const bool is_long = quotes == "\"\"\"" || quotes == "'''";
    at += is_long ? 3 : 1;
    if (is_long && all.substr(at).starts_with("\r\n")) at += 2;
    if (is_long && all.substr(at).starts_with("\n")) at += 1;
    const bool is_verbatim = all.substr(std::min(at, all.size())).starts_with(text);
    return {text, is_verbatim ? at : begin, is_verbatim};
  }

  /// One value, or a table { 2 = ..., 3 = ... } of values by the number of axes.
  template <class Read>
  auto by_axes(const toml::node& node, Read read) const {
    ByAxes<decltype(read(node))> all;
    const toml::table* const found = node.as_table();
    const bool is_by_axes = found != nullptr && !found->empty() &&
                            std::all_of(found->begin(), found->end(), [](const auto& entry) {
                              const std::string_view key = entry.first.str();
                              return key.size() == 1 && key[0] >= '0' && key[0] <= '9';
                            });
    if (!is_by_axes) {
      all.emplace(0, read(node));
      return all;
    }
    for (const Entry& entry : entries(*found)) {
      const int axes = entry.key[0] - '0';
      if (axes < 1 || axes > 3) refuse(entry, "a problem has 1, 2 or 3 axes");
      all.emplace(axes, read(*entry.value));
    }
    return all;
  }

  // ---- names ----

  /// Notes a name that the file gives to something, once. A spacing may be set by a parameter.
  enum class Spacing { refused, allowed };
  void declare(const Entry& entry, Spacing spacing = Spacing::refused) {
    const std::string& name = entry.key;
    if (name.empty() || !begins_name(name[0]) || !std::all_of(name.begin(), name.end(), is_of_name))
      refuse(entry, "'{}' is no name: use letters, digits and _, a letter first", name);
    const bool is_spacing = name == "dx" || name == "dy" || name == "dz";
    if (name.size() > most_letters)
      refuse(entry, "a name has at most {} letters, not {}", most_letters, name.size());
    if (is_reserved(name) || (is_spacing && spacing == Spacing::refused))
      refuse(entry, "'{}' has a meaning already", name);
    if (!declared_.insert(name).second)
      refuse(entry, "'{}' is the name of something else in this file", name);
  }

  // ---- keys ----

  void read_top(const toml::table& all) {
    static const std::vector<std::string> known{
        "title",      "axes",    "cells",  "lower",        "upper",  "precision", "seed",
        "parameters", "require", "fields", "coefficients", "locals", "update",    "stop"};
    for (const Entry& entry : entries(all)) {
      const toml::node& value = *entry.value;
      if (entry.key == "title")
        file_.title = printable(text(value, "the title"), Lines::kept);
      else if (entry.key == "axes")
        file_.axes = read_axes(value);
      else if (entry.key == "cells")
        file_.cells = read_cells(value);
      else if (entry.key == "lower")
        file_.lower = read_corner(value, "'lower'");
      else if (entry.key == "upper")
        file_.upper = read_corner(value, "'upper'");
      else if (entry.key == "precision")
        file_.precision = read_precision(value);
      else if (entry.key == "seed")
        file_.seed = static_cast<std::uint64_t>(whole(value, "the seed", 0));
      else if (std::find(known.begin(), known.end(), entry.key) == known.end())
        refuse_key(entry, "a problem file", known);
    }
  }

  std::vector<int> read_axes(const toml::node& node) const {
    std::vector<int> axes;
    const auto one = [&](const toml::node& value) {
      const std::int64_t count = whole(value, "the number of axes", 1);
      if (count > 3) refuse(value, "a problem has 1, 2 or 3 axes");
      if (std::find(axes.begin(), axes.end(), count) != axes.end())
        refuse(value, "{} stands here twice", count);
      axes.push_back(static_cast<int>(count));
    };
    if (node.is_array())
      for (const toml::node& value : array(node, "'axes'")) one(value);
    else
      one(node);
    return axes;
  }

  /// A list of values, or a single one; for all numbers of axes, or for each.
  template <class Read>
  auto along_axes(const toml::node& node, std::string_view what, Read read) const {
    return by_axes(node, [&](const toml::node& value) {
      AlongAxes<decltype(read(value))> all{.at = place_of(value), .length = length_of(value)};
      all.is_list = value.is_array();
      if (!all.is_list) {
        all.values.push_back(read(value));
        return all;
      }
      const toml::array& list = array(value, what);
      if (list.size() > 3) refuse(value, "a problem has at most 3 axes");
      for (const toml::node& one : list) all.values.push_back(read(one));
      return all;
    });
  }

  ByAxes<AlongAxes<std::int64_t>> read_cells(const toml::node& node) const {
    return along_axes(node, "'cells'", [this](const toml::node& value) {
      return whole(value, "the number of cells", 1);
    });
  }

  ByAxes<AlongAxes<Written>> read_corner(const toml::node& node, std::string_view what) const {
    return along_axes(node, what,
                      [this, what](const toml::node& value) { return written(value, what); });
  }

  Precision read_precision(const toml::node& node) const {
    const std::string word = text(node, "'precision'");
    if (word == name_of(Precision::f32)) return Precision::f32;
    if (word == name_of(Precision::f64)) return Precision::f64;
    refuse(node, "there is no precision '{}'; there are: f32, f64", word);
  }

  void read_parameter(const Entry& entry) {
    // A spacing may be set, where there is no 'upper'.
    declare(entry, Spacing::allowed);
    ParameterText parameter{.name = entry.key, .help = {}, .value = {}};
    if (const toml::table* const facts = entry.value->as_table()) {
      bool has_value = false;
      for (const Entry& fact : entries(*facts)) {
        if (fact.key == "value") {
          parameter.value = written(*fact.value, "a parameter");
          has_value = true;
        } else if (fact.key == "help") {
          parameter.help = printable(text(*fact.value, "'help'"), Lines::kept);
        } else {
          refuse_key(fact, "a parameter", {"value", "help"});
        }
      }
      if (!has_value) refuse(entry, "parameter '{}' has no value", entry.key);
    } else {
      parameter.value = written(*entry.value, "a parameter");
    }
    file_.parameters.push_back(std::move(parameter));
  }

  /// "CONDITION" = "MESSAGE".
  void read_requirement(const Entry& entry) {
    const char first = file_.source.text()[std::min(entry.at, file_.source.text().size() - 1)];
    const bool is_quoted = first == '"' || first == '\'';
    file_.requirements.push_back(
        {.condition = is_quoted ? located(entry.key, entry.at) : Written{entry.key, entry.at, true},
         .message = text(*entry.value, "the message")});
  }

  void read_field(const Entry& entry) {
    declare(entry);
    FieldText field{.name = entry.key, .at = entry.at};
    for (const Entry& fact : entries(table(*entry.value, entry.key))) {
      if (fact.key == "initial")
        field.initial =
            by_axes(*fact.value, [this](const toml::node& node) { return read_start(node); });
      else if (fact.key == "boundary")
        read_boundary(*fact.value, field);
      else
        refuse_key(fact, fmt::format("field '{}'", entry.key), {"initial", "boundary"});
    }
    file_.fields.push_back(std::move(field));
  }

  StartText read_start(const toml::node& node) const {
    const toml::table* const facts = node.as_table();
    if (facts == nullptr) return {.expression = written(node, "this value")};
    StartText start;
    for (const Entry& fact : entries(*facts)) {
      if (fact.key != "file") refuse_key(fact, "this value", {"file"});
      start.file = path(*fact.value);
    }
    if (!start.file) refuse(node, "a value is missing: an expression, or { file = \"name.npy\" }");
    return start;
  }

  void read_coefficient(const Entry& entry) {
    declare(entry);
    CoefficientText coefficient{.name = entry.key, .at = entry.at};
    bool has_value = false;
    for (const Entry& fact : entries(table(*entry.value, entry.key))) {
      if (fact.key == "value") {
        coefficient.value.expression = written(*fact.value, "a coefficient");
      } else if (fact.key == "file") {
        coefficient.value.file = path(*fact.value);
      } else {
        refuse_key(fact, fmt::format("coefficient '{}'", entry.key), {"value", "file"});
      }
      if (std::exchange(has_value, true))
        refuse(fact, "a coefficient has a value or a file, not both");
    }
    if (!has_value) refuse(entry, "coefficient '{}' has no value", entry.key);
    file_.coefficients.push_back(std::move(coefficient));
  }

  NamedText named(const Entry& entry) const {
    return {.name = entry.key,
            .at = entry.at,
            .value = by_axes(*entry.value, [this](const toml::node& node) {
              return written(node, "this value");
            })};
  }

  // ---- boundaries ----

  static constexpr std::array<std::pair<std::string_view, BoundaryKind>, 3> of_one_value{
      {{"outside", BoundaryKind::outside},
       {"value", BoundaryKind::value},
       {"derivative", BoundaryKind::derivative}}};

  void read_boundary(const toml::node& node, FieldText& field) const {
    const toml::table* const sides = node.as_table();
    if (sides == nullptr || is_condition(*sides)) {
      field.boundary.fill(condition(node));
      return;
    }
    static const std::vector<std::string> known{"*",  "x",  "y",  "z",  "x-",
                                                "x+", "y-", "y+", "z-", "z+"};
    std::optional<BoundaryText> others;
    for (const Entry& entry : entries(*sides)) {
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        refuse_boundary_key(entry, known);
      const BoundaryText one = condition(*entry.value);
      if (entry.key == "*") {
        others = one;
        continue;
      }
      const std::size_t axis = axis_names.find(entry.key[0]);
      const auto& counts = file_.axes;  // none: any number
      if (!counts.empty() &&
          static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end())) <= axis)
        refuse(entry, "there is no side along {}: 'axes' is {}", axis_names[axis],
               fmt::join(counts, ", "));
      for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
        if (entry.key.size() == 2 && entry.key[1] != "-+"[side]) continue;
        if (field.boundary[2 * axis + side])
          refuse(entry, "side {}{} stands here twice", axis_names[axis], "-+"[side]);
        field.boundary[2 * axis + side] = one;
      }
    }
    for (auto& side : field.boundary)
      if (!side) side = others;
  }

  static bool is_condition(const toml::table& table) {
    return table.contains("mixed") ||
           std::any_of(of_one_value.begin(), of_one_value.end(),
                       [&](const auto& one) { return table.contains(one.first); });
  }

  [[noreturn]] void refuse_boundary_word(const toml::node& node, const std::string& word) const {
    std::string advice = advice_on_boundary(word);
    const std::string near = near_miss(word, {"periodic", "reflect"});
    if (advice.empty() && !near.empty()) advice = fmt::format("do you mean \"{}\"?", near);
    if (advice.empty())
      advice =
          "there are: \"periodic\", \"reflect\", { outside = v }, { value = v }, "
          "{ derivative = g } and { mixed = { a = ..., b = ..., c = ... } }";
    refuse(node, "there is no boundary '{}'; {}", word, advice);
  }

  /// `sides` are keys that may also be meant.
  [[noreturn]] void refuse_boundary_key(const Entry& entry, std::vector<std::string> sides) const {
    if (const std::string advice = advice_on_boundary(entry.key); !advice.empty())
      refuse(entry, "a boundary has no key '{}'; {}", entry.key, advice);
    sides.insert(sides.end(), {"outside", "value", "derivative", "mixed"});
    refuse_key(entry, "a boundary", sides);
  }

  BoundaryText condition(const toml::node& node) const {
    BoundaryText boundary{.at = place_of(node)};
    if (const auto* const word = node.as_string()) {
      if (word->get() == "periodic")
        boundary.kind = BoundaryKind::periodic;
      else if (word->get() == "reflect")
        boundary.kind = BoundaryKind::reflect;
      else
        refuse_boundary_word(node, word->get());
      return boundary;
    }
    const toml::table* const facts = node.as_table();
    if (facts == nullptr)
      refuse(node,
             "a boundary is a word in quotes or a table: write {{ value = {} }} "
             "for a value at the wall",
             node.is_number() ? spelling(node) : "v");
    const std::vector<Entry> all = entries(*facts);
    if (all.size() != 1)
      refuse(node, "a boundary is one of periodic, reflect, outside, value, derivative, mixed");
    const Entry& fact = all.front();
    for (const auto& [word, kind] : of_one_value)
      if (fact.key == word) {
        boundary.kind = kind;
        boundary.values.push_back(written(*fact.value, "the boundary's value"));
        return boundary;
      }
    if (fact.key != "mixed") refuse_boundary_key(fact, {});
    boundary.kind = BoundaryKind::mixed;
    const toml::table& weights = table(*fact.value, "mixed");
    for (const Entry& entry : entries(weights))
      if (entry.key != "a" && entry.key != "b" && entry.key != "c")
        refuse_key(entry, "mixed", {"a", "b", "c"});
    for (const std::string_view name : {"a", "b", "c"}) {
      const toml::node* const weight = weights.get(name);
      if (weight == nullptr) refuse(node, "mixed needs a, b and c; '{}' is missing", name);
      boundary.values.push_back(written(*weight, name));
    }
    return boundary;
  }

  // ---- stop ----

  void read_stop(const toml::table& facts) {
    StopText& stop = file_.stop;
    for (const Entry& fact : entries(facts)) {
      const toml::node& value = *fact.value;
      if (stop.at == 0) stop.at = fact.at;
      if (fact.key == "sweeps")
        stop.sweeps = whole(value, "the number of sweeps", 0);
      else if (fact.key == "time")
        stop.time = written(value, "the time");
      else if (fact.key == "tolerance")
        stop.tolerance = written(value, "the tolerance");
      else if (fact.key == "norm")
        read_norm(value);
      else
        refuse_key(fact, "[stop]", {"sweeps", "time", "tolerance", "norm"});
    }
    if (stop.sweeps && stop.time)
      refuse(stop.at, 1, "a run ends after 'sweeps' or at a 'time', not both");
  }

  void read_norm(const toml::node& node) {
    const toml::table* const facts = node.as_table();
    if (facts == nullptr) {
      file_.stop.norm = norm_named(node);
      return;
    }
    for (const Entry& fact : entries(*facts)) {
      if (fact.key == "of")
        read_fields_of_norm(*fact.value);
      else if (fact.key == "kind")
        file_.stop.norm = norm_named(*fact.value);
      else
        refuse_key(fact, "a norm", {"of", "kind"});
    }
  }

  void read_fields_of_norm(const toml::node& node) {
    std::vector<std::string>& fields = file_.stop.norm_of;
    if (!node.is_array()) fields.push_back(text(node, "the norm's field"));
    if (!node.is_array()) return;
    for (const toml::node& one : array(node, "'of'")) {
      const std::string field = text(one, "a field of the norm");
      if (std::find(fields.begin(), fields.end(), field) != fields.end())
        refuse(one, "'{}' stands here twice", field);
      fields.push_back(field);
    }
  }

  Norm norm_named(const toml::node& node) const {
    const std::string word = text(node, "a norm");
    for (const Norm norm : {Norm::none, Norm::max, Norm::l2})
      if (word == name_of(norm)) return norm;
    refuse(node, "there is no norm '{}'; there are: max, l2, none", word);
  }

  void check_limits() const {
    if (file_.fields.size() > most_fields)
      refuse(file_.fields[most_fields].at, 1,
             fmt::format("a problem has at most {} fields", most_fields));
    if (file_.coefficients.size() > most_coefficients)
      refuse(file_.coefficients[most_coefficients].at, 1,
             fmt::format("a problem has at most {} coefficients", most_coefficients));
    if (file_.parameters.size() > most_parameters)
      refuse(file_.parameters[most_parameters].value.begin, 1,
             fmt::format("a problem has at most {} parameters", most_parameters));
  }

  File& file_;
  std::set<std::string> declared_;
};

}  // namespace

std::string_view name_of(BoundaryKind kind) {
  constexpr std::array<std::string_view, 6> names{"periodic",   "outside", "value",
                                                  "derivative", "reflect", "mixed"};
  return names[static_cast<std::size_t>(kind)];
}

File read_text(const std::string& name, std::string text) {
  if (text.size() > most_text)
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} bytes are more than the {} that a problem file may have", name,
                            text.size(), most_text));
  // A mark, or half of an ASCII character: no TOML has a zero.
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") ||
      text.substr(0, 2).find('\0') != text.npos)
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: the file is UTF-16, as PowerShell's > writes it; save it as UTF-8", name));
  // The byte order mark that some editors write; columns do not count it.
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  File file{.source = Source(name, std::move(text))};
  Reader(file).read();
  return file;
}

std::string text_of_file(const std::string& path) {
  // Opening one waits for a writer, and its text can be read only once.
  std::error_code ignored;
  if (std::filesystem::is_fifo(path, ignored))
    throw Error(ErrorKind::usage,
                fmt::format("cannot read '{}': it is a pipe; write the problem to a file", path));
  std::ifstream stream(path, std::ios::binary);
  std::string text(most_text + 1, '\0');
  if (stream) {
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
  }
  if (!stream.is_open() || stream.bad())
    throw Error(ErrorKind::usage,
                fmt::format("cannot read '{}': {}", path,
                            std::error_code(errno, std::generic_category()).message()));
  return text;
}

}  // namespace halocline::problem
