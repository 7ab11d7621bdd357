// SPDX-License-Identifier: Apache-2.0
#pragma once
// What may be written on a command line: commands, and options that set variables.

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
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
                     std::optional<double>, std::vector<std::string>, std::vector<std::int64_t>>;

/// An option, a flag, or a word without a name of its own.
struct Option {
  std::string name;  ///< "--ranks"; without dashes: a word that has to be given
  std::string type;  ///< what help calls its word: "N"
  Target target;     ///< has to live until the command line is parsed
  std::string help, group;
  std::optional<char> separator = {};     ///< of a vector that is given as lists
  std::vector<std::string> choices = {};  ///< empty: any word
  enum class Range { all, not_negative, positive };
  Range range = Range::all;               ///< of numbers
  std::string needs = {}, excludes = {};  ///< the name of an option that was added before
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
  OptionGroup group(const std::string& title) { return {options_, title}; }
  /// Sets what help ends with.
  void footer(const std::string& text) { footer_ = text; }
  /// Adds --help to this command and all its subcommands, and word of it to errors. For the
  /// command that parse() is called of.
  void offer_help() { help_ = Help::offered; }

  /// Sets the variables of the options that are given. Returns the text of help if that is asked
  /// for. Throws usage.
  std::optional<std::string> parse(const std::vector<std::string>& words);

  const std::string& command() const { return command_; }
  /// True once the command was found among the words, also if parse() then threw.
  bool parsed() const { return parsed_; }
  /// Returns the text of help for the command itself, whatever was parsed.
  std::string help() const;

 private:
  struct Reader;

  std::string command_, summary_, footer_;
  std::deque<Option> options_;
  std::list<Syntax> subcommands_;
  enum class Help { none, offered } help_ = Help::none;
  bool parsed_ = false;
};

}  // namespace halocline::cli
