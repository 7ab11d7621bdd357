#pragma once
// Options that several commands have, told in the same words.

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace halocline::cli {

/// Each adds an option to a group of the help.
void add_ranks(CLI::App& app, const std::string& group, std::optional<int>& ranks);
void add_proofs(CLI::App& app, const std::string& group, std::optional<std::string>& file);
void add_wait_limit(CLI::App& app, const std::string& group, double& seconds);
void add_json(CLI::App& app, const std::string& group, std::optional<std::string>& file);
void add_quiet(CLI::App& app, const std::string& group, bool& quiet);

}  // namespace halocline::cli
