// SPDX-License-Identifier: Apache-2.0
#pragma once
// Syntax of command lines: commands, and options that set variables.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace halocline::cli {

template <class... Types>
using ReferenceToOneOf = std::variant<std::reference_wrapper<Types>...>;

/// The variable that an option sets. Its type determines the words: none for bool (a flag), one for
/// each occurrence or a list for a vector.
using Target =
    ReferenceToOneOf<bool, std::string, int, std::int64_t, std::uint64_t, double,
                     std::optional<std::string>, std::optional<int>, std::optional<std::int64_t>,
                     std::optional<std::uint64_t>, std::optional<double>, std::vector<std::string>,
                     std::vector<std::int64_t>>;

/// An option, a flag, or a positional word. Numbers are read by base/text/numbers.hpp.
struct Option {
  std::string name;  ///< "--ranks"; without dashes: a positional word
  std::string type;  ///< its word in help: "N"; "FILE": the path of a file
  Target target;     ///< must live until the command line is parsed
  std::string help, group;
  enum class Given { maybe, always };
  Given given = Given::maybe;
  enum class Lists { none, commas };
  Lists lists = Lists::none;              ///< commas: a vector is given once, as a list
  std::vector<std::string> choices = {};  ///< empty: any word
  enum class Range { all, not_negative, positive };
  Range range = Range::all;  ///< of numbers
  enum class Dash { refused, standard_output };
  Dash dash = Dash::refused;              ///< meaning of "-" as a FILE
  std::string needs = {}, excludes = {};  ///< names of other options

  bool is_flag() const { return std::holds_alternative<std::reference_wrapper<bool>>(target); }
  bool is_word() const { return name[0] != '-'; }
  /// True for a vector without lists, to which every occurrence adds a value.
  bool may_be_repeated() const;
};

/// Options under one title of the help. The Syntax must outlive it.
class OptionGroup {
 public:
  OptionGroup(std::deque<Option>& options, std::string title);

  /// Each adds an option. The result, which lives as long as the Syntax, can be modified.
  Option& option(const std::string& name, const std::string& type, Target target,
                 const std::string& help = {}) const;
  Option& flag(const std::string& name, bool& target, const std::string& help = {}) const;

 private:
  std::deque<Option>& options_;
  std::string title_;
};

/// Syntax of a command: its options and subcommands. Options are "--name VALUE" or "--name=VALUE",
/// each at most once unless it may be repeated. Values must not be empty; values that begin with
/// "--" need the form with "=".
class Syntax {
 public:
  Syntax(std::string command, std::string summary);
  Syntax(const Syntax&) = delete;
  Syntax& operator=(const Syntax&) = delete;

  /// Adds a subcommand; at most one may be given.
  Syntax& subcommand(const std::string& command, const std::string& summary);
  /// Adds a required word, which may precede or follow options.
  void word(const std::string& name, const std::string& type, std::string& target,
            const std::string& help);
  /// Adds an optional word.
  void optional_word(const std::string& name, const std::string& type,
                     std::optional<std::string>& target, const std::string& help);
  OptionGroup group(const std::string& title) { return {options_, title}; }
  /// Set the beginning and the end of help. The functions are called only for help, since
  /// describing problems takes longer than reading a command line.
  void header(std::function<std::string()> text) { header_ = std::move(text); }
  void footer(std::function<std::string()> text) { footer_ = std::move(text); }
  void footer(std::string text) {
    footer([text = std::move(text)] { return text; });
  }
  /// Adds --help to this command and its subcommands, and a hint at it to errors. For the command
  /// whose parse() is called.
  void offer_help() { help_ = Help::offered; }

  /// Sets the variables of given options. Returns the text of help if it is requested, regardless
  /// of errors. Throws usage, with unknown words in their order.
  std::optional<std::string> parse(const std::vector<std::string>& words);

  const std::string& command() const { return command_; }
  /// True once the command was found among the words, even if parse() threw afterwards.
  bool parsed() const { return parsed_; }
  /// Returns the text of help for the command itself.
  std::string help();

 private:
  class Reader;
  enum class Help { none, offered };

  std::string command_, summary_;
  std::function<std::string()> header_, footer_;
  std::deque<Option> options_;
  std::list<Syntax> subcommands_;
  Help help_ = Help::none;
  bool parsed_ = false;
};

}  // namespace halocline::cli
