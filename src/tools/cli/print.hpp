// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command prints. Options that texts of the libraries name become flags here.

#include <optional>
#include <string>

#include "report/report.hpp"

namespace halocline::cli {

/// Prints as it is, and flushes. Throws resource if nobody takes it: a full disk behind a
/// redirection.
void print(const std::string& text);

/// Prints what went wrong on standard error, behind the name of the command.
void complain(const std::string& text);

/// The same, in one piece with `before`, a whole line as it is. Nothing of its own for an empty
/// `text`.
void complain_after(const std::string& before, const std::string& text);

/// Prints a remark on standard error.
void remark(const std::string& text);

enum class Text { shown, quiet };
/// Writes a report to standard output: as JSON if `json` is "-", else as text, if that is shown.
/// Another `json` names a file that the report is written to as well.
void write_report(const Report& report, const std::optional<std::string>& json, Text text);

}  // namespace halocline::cli
