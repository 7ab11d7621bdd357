// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command prints. Options that texts of the libraries name become flags here.

#include <optional>
#include <string>
#include <string_view>

#include "files/result_files.hpp"
#include "report/report.hpp"

namespace halocline::cli {

/// Prints as it is, and flushes. Throws resource if nobody takes it: a full disk behind a
/// redirection.
void print(const std::string& text);

/// Replaces control characters, which a file or its name may hold, by \x1b and the like; lines and
/// tabs stay.
std::string printable(std::string_view text);

/// Prints what went wrong on standard error, behind the name of the command.
void print_error(const std::string& text);

/// The same, in one piece with `before`, a whole line as it is. Nothing of its own for an empty
/// `text`.
void print_error_after(const std::string& before, const std::string& text);

/// Prints a remark on standard error.
void print_note(const std::string& text);

/// Adds the file of --json to those that a run will write; "-" is none.
void add_report(RunFiles& files, const std::optional<std::string>& json);

enum class Text { shown, quiet };
/// Writes a report to standard output: as JSON if `json` is "-", else as text, if that is shown.
/// Another `json` names a file that the report is written to as well, also if the text cannot be
/// printed.
void write_report(const Report& report, const std::optional<std::string>& json, Text text);

}  // namespace halocline::cli
