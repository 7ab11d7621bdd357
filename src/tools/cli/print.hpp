// SPDX-License-Identifier: Apache-2.0
#pragma once
// Output of the command. Option names in texts of the libraries are replaced by flags.

#include <optional>
#include <string>
#include <string_view>

#include "files/result_files.hpp"
#include "report/report.hpp"

namespace halocline::cli {

/// Prints the unchanged text and flushes. Throws resource on errors, such as a full disk behind a
/// redirection.
void print(const std::string& text);

/// Replaces control characters, which files and their names may contain, by \x1b and the like;
/// keeps newlines and tabs.
std::string printable(std::string_view text);

/// Prints an error on standard error, after the name of the command.
void print_error(const std::string& text);

/// The same in one piece with `before`, an unchanged line; prints only `before` if `text` is empty.
void print_error_after(const std::string& before, const std::string& text);

/// Prints a note on standard error.
void print_note(const std::string& text);

/// Adds the file of --json to the files that a run will write, unless it is "-".
void add_report(RunFiles& files, const std::optional<std::string>& json);

enum class Text { shown, quiet };
/// Writes a report to standard output: as JSON if `json` is "-", otherwise as text, unless quiet.
/// Another `json` is a file to which the report is written too, even if printing the text fails.
void write_report(const Report& report, const std::optional<std::string>& json, Text text);

}  // namespace halocline::cli
