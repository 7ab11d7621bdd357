// SPDX-License-Identifier: Apache-2.0
#include "cli/compared.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/result_files.hpp"
#include "bench/comparison.hpp"
#include "cli/exit_code.hpp"
#include "cli/print.hpp"
#include "launch/interrupts.hpp"
#include "launch/job.hpp"
#include "launch/launched.hpp"

namespace halocline::cli {
namespace {

constexpr int rounds = 2;

/// A folder for the reports of the runs, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "halocline-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(ErrorKind::resource,
                  fmt::format("cannot create a folder such as '{}'; set TMPDIR to a writable "
                              "folder",
                              name));
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file() const { return (path_ / "report.json").string(); }

 private:
  std::filesystem::path path_;
};

/// The words without --ab and what becomes of the report, and with where it shall go instead: not
/// to standard output, where UCX writes its warnings.
std::vector<std::string> words_of_a_run(const std::vector<std::string>& words,
                                        const std::string& report) {
  std::vector<std::string> result{std::filesystem::read_symlink("/proc/self/exe")};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--ab" || words[i] == "--json")
      ++i;
    else if (words[i].rfind("--ab=", 0) != 0 && words[i].rfind("--json=", 0) != 0)
      result.push_back(words[i]);
  }
  result.insert(result.end(), {"--json", report});
  return result;
}

}  // namespace

int run_compared(const CommonOptions& options, const std::vector<std::string>& words) {
  const bench::Setting setting = bench::setting_named(*options.ab);
  if (const auto launched = launched_by(current_variables()))
    throw Error(ErrorKind::usage,
                fmt::format("--ab starts its own jobs with other settings; run it without {} and "
                            "give --ranks",
                            launched->launcher));
  if (options.trace)
    throw Error(ErrorKind::usage,
                fmt::format("--ab makes several runs, and each would write '{}'; leave --trace out",
                            *options.trace));
  RunFiles files;
  add_report(files, options.json);
  check(files);
  const Interrupts interrupts;  // for the folder's sake
  const Folder folder;
  const std::vector<std::string> run = words_of_a_run(words, folder.file());
  bench::Runs runs;
  const auto add = [&](std::vector<Json>& side, const Variables& extra,
                       const std::vector<std::string>& without) {
    const JobEnd end = run_job(run, extra, {.output = JobOutput::capture, .without = without});
    if (end.how == JobEnd::How::interrupted)
      throw Error(ErrorKind::communication, "stopped by " + signal_in_words(end.signal));
    fmt::print(stderr, "{}", end.err);
    if (end.how != JobEnd::How::exited) throw Error(ErrorKind::communication, end.reason);
    if (end.exit_code == exit_ok) side.push_back(Json::parse(std::ifstream(folder.file())));
    return end.exit_code;
  };
  const bool sets = setting.kind == bench::Setting::Kind::set;
  for (int round = 0; round < rounds; ++round) {
    if (const int code = add(runs.a, {}, {}); code != exit_ok) return code;
    const int code =
        sets ? add(runs.b, {{setting.name, setting.value}}, {}) : add(runs.b, {}, {setting.name});
    if (code == exit_ok) continue;
    complain("the run that failed is B, " + bench::words_for(setting));
    return code;
  }
  write_results(options, bench::compare(setting, runs));
  return exit_ok;
}

}  // namespace halocline::cli
