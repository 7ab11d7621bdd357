// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may be written on a command line: commands, and options that set variables.

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

/// The variable that an option sets. Its type says which words the option takes: a flag has none,
/// a vector takes one each time that the option is given, or lists of them.
using Target =
    ReferenceToOneOf<bool, std::string, int, std::int64_t, std::uint64_t, double,
                     std::optional<std::string>, std::optional<int>, std::optional<std::int64_t>,
                     std::optional<std::uint64_t>, std::optional<double>, std::vector<std::string>,
                     std::vector<std::int64_t>>;

/// An option, a flag, or a word without a name of its own. Numbers are those of
/// base/text/numbers.hpp.
struct Option {
  std::string name;  ///< "--ranks"; without dashes: a word without a name
  std::string type;  ///< what help calls its word: "N"; "FILE": the path of a file
  Target target;     ///< has to live until the command line is parsed
  std::string help, group;
  enum class Given { maybe, always };
  Given given = Given::maybe;
  enum class Lists { none, commas };
  Lists lists = Lists::none;              ///< commas: a vector is given once, as a list
  std::vector<std::string> choices = {};  ///< empty: any word
  enum class Range { all, not_negative, positive };
  Range range = Range::all;  ///< of numbers
  enum class Dash { refused, standard_output };
  Dash dash = Dash::refused;              ///< what "-" means as a FILE
  std::string needs = {}, excludes = {};  ///< names of other options

  bool is_flag() const { return std::holds_alternative<std::reference_wrapper<bool>>(target); }
  bool is_word() const { return name[0] != '-'; }
  /// True for a vector without lists, to which every time adds one.
  bool may_be_repeated() const;
};

/// Options that help tells of under one title. A handle of a Syntax, which has to outlive it.
class OptionGroup {
 public:
  OptionGroup(std::deque<Option>& options, std::string title);

  /// Each adds an option; what is returned can be told more, and lives as long as the Syntax.
  Option& option(const std::string& name, const std::string& type, Target target,
                 const std::string& help = {}) const;
  Option& flag(const std::string& name, bool& target, const std::string& help = {}) const;

 private:
  std::deque<Option>& options_;
  std::string title_;
};

/// What may be written behind a command: its options, or a subcommand with options of its own.
/// Options are "--name VALUE" or "--name=VALUE", each once unless it may be repeated. No value is
/// empty; one that begins with "--" has to be written behind "=".
class Syntax {
 public:
  Syntax(std::string command, std::string summary);
  Syntax(const Syntax&) = delete;
  Syntax& operator=(const Syntax&) = delete;

  /// Adds a subcommand, of which one at most may be given.
  Syntax& subcommand(const std::string& command, const std::string& summary);
  /// Adds a word that has to be given, before, between or behind options.
  void word(const std::string& name, const std::string& type, std::string& target,
            const std::string& help);
  /// Adds one that may be left out.
  void optional_word(const std::string& name, const std::string& type,
                     std::optional<std::string>& target, const std::string& help);
  OptionGroup group(const std::string& title) { return {options_, title}; }
  /// Set what help begins and ends with. The functions are called only for help: the texts about
  /// problems take longer to write than everything else of a command line takes to read.
  void header(std::function<std::string()> text) { header_ = std::move(text); }
  void footer(std::function<std::string()> text) { footer_ = std::move(text); }
  void footer(std::string text) {
    footer([text = std::move(text)] { return text; });
  }
  /// Adds --help to this command and all its subcommands, and word of it to errors. For the
  /// command that parse() is called of.
  void offer_help() { help_ = Help::offered; }

  /// Sets the variables of the options that are given. Returns the text of help if that is asked
  /// for, whatever else is wrong. Throws usage, for unknown words in the order in which they stand.
  std::optional<std::string> parse(const std::vector<std::string>& words);

  const std::string& command() const { return command_; }
  /// True once the command was found among the words, also if parse() then threw.
  bool parsed() const { return parsed_; }
  /// Returns the text of help for the command itself, whatever was parsed.
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
