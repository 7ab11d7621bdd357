// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/checkpoints.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sys/file.h>

#include <halocline/error.hpp>

#include "base/files/small_files.hpp"
#include "base/files/temporary_file.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

namespace fs = std::filesystem;

constexpr double seconds_by_default = 1800, longest_interval = 1e8;
constexpr std::size_t kept = 2;

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    refuse("cannot use the folder '{}' for checkpoints: {}", folder,
           error ? error.message() : "it is a file");
}

/// A new run must not replace the checkpoints of another, nor be taken for it.
void require_own(const std::string& folder, const Case& the_case) {
  const std::vector<CheckpointFile> there = checkpoints_in(folder);
  if (there.empty()) return;
  const CheckpointFile& newest = there.front();
  const bool goes_on = the_case.restart && fs::path(the_case.restart->path).parent_path() ==
                                               fs::path(newest.path).parent_path();
  if (!goes_on)
    refuse(
        "'{}' has the checkpoint of another run, '{}', of {}; continue it with option "
        "'restart', or name another folder by option 'checkpoint'",
        folder, newest.path, counted(newest.sweeps, "sweep"));
}

/// Removes unfinished files of killed runs: no other run may write here now.
void remove_unfinished(const std::string& folder) {
  for (const fs::path& path : entries_of(folder)) {
    std::error_code ignored;
    if (is_temporary_name(path.filename().string())) fs::remove(path, ignored);
  }
}

bool is_from_array_or_file(const Case& the_case, std::size_t coefficient) {
  return the_case.coefficient_arrays.contains(coefficient) ||
         the_case.model->coefficients[coefficient].values.file.has_value();
}

}  // namespace

void check_checkpoint_options(const SolveOptions& options) {
  const auto& [every, seconds] = std::pair(options.checkpoint_every, options.checkpoint_seconds);
  if ((every || seconds) && !options.checkpoint && !options.restart)
    refuse("option 'checkpoint_every' needs a folder; name one by option 'checkpoint'");
  if (every && *every < 1)
    refuse("cannot write a checkpoint every {} sweeps; use 1 or more", *every);
  if (seconds && !(*seconds > 0 && *seconds <= longest_interval))
    refuse(
        "cannot write a checkpoint every {:g} seconds; use more than 0, and at most "
        "{:g}, three years",
        *seconds, longest_interval);
}

Checkpoints::Checkpoints(const Communicator& communicator, const Case& the_case,
                         const SolveOptions& options, const problem::ProblemText& problem)
    : communicator_(communicator),
      case_(the_case),
      options_(options),
      problem_(problem),
      so_far_{.folder = *options.checkpoint} {
  comm::on_first_rank(communicator, [this] {
    make_folder(so_far_.folder);
    hold_folder();
    require_own(so_far_.folder, case_);
    remove_unfinished(so_far_.folder);
    halocline::check_target(checkpoint_path(so_far_.folder, 0));
  });
}

/// A lock ends with its process, whatever becomes of that. File systems without locks have none.
void Checkpoints::hold_folder() {
  folder_ = std::make_unique<Descriptor>(
      ::open(so_far_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::flock(folder_->get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    refuse(
        "another run writes its checkpoints to '{}'; name another folder by option "
        "'checkpoint'",
        so_far_.folder);
}

bool Checkpoints::is_due_by_clock() const {
  if (options_.checkpoint_every && !options_.checkpoint_seconds) return false;
  return seconds_since(last_) >= options_.checkpoint_seconds.value_or(seconds_by_default);
}

bool Checkpoints::is_due_at(std::int64_t sweeps) const {
  return options_.checkpoint_every && sweeps % *options_.checkpoint_every == 0;
}

void Checkpoints::write(const State& state, Attempts& attempts) {
  if (so_far_.written > 0 && so_far_.last == state.sweeps) return;
  const auto begun = Clock::now();
  attempts = {};
  attempts.attempt([&] {
    try {
      write_file(state);
    } catch (const Error& error) {
      // The folder was right when the run began.
      throw error.kind() == ErrorKind::usage ? Error(ErrorKind::resource, error.what()) : error;
    }
    ++so_far_.written;
    so_far_.last = state.sweeps;
    newest_ = state.sweeps;
  });
  if (attempts.error() && failed_++ == 0)
    first_failure_ =
        fmt::format("after {}: {}", counted(state.sweeps, "sweep"), attempts.error()->what());
  last_ = Clock::now();
  so_far_.seconds += seconds_since(begun);
}

void Checkpoints::note(Notes& notes) const {
  if (failed_ > 0)
    notes.add(fmt::format("{} could not be written, the first {}", counted(failed_, "checkpoint"),
                          first_failure_));
}

std::optional<std::int64_t> Checkpoints::newest() const {
  const std::int64_t sweeps = newest_;
  return sweeps < 0 ? std::nullopt : std::optional(sweeps);
}

void Checkpoints::write_file(const State& state) {
  const problem::Model& model = *case_.model;
  const RunToSave run{.options = options_,
                      .the_case = case_,
                      .problem = problem_,
                      .sweeps = state.sweeps,
                      .norms = state.norms,
                      .rows = state.rows};
  files::CheckpointContent content{.image = {.cells = state.grid.cells(),
                                             .lower = model.lower,
                                             .spacing = model.spacing,
                                             .element_bytes = model.element_bytes(),
                                             .fields = {}},
                                   .fields = {},
                                   .run = json_of(run),
                                   .texts = texts_of(run)};
  content.fields.assign(state.level.begin(), state.level.end());
  for (const problem::ModelField& field : model.fields) content.image.fields.push_back(field.name);
  for (std::size_t i = 0; i < state.coefficients.size(); ++i) {
    if (!is_from_array_or_file(case_, i)) continue;
    content.image.fields.push_back(model.coefficients[i].name);
    content.fields.push_back(state.coefficients[i]);
  }
  files::write_checkpoint(communicator_, state.grid, content,
                          checkpoint_path(so_far_.folder, state.sweeps));
  written_.insert(state.sweeps);
  comm::on_first_rank(communicator_, [this] { remove_older(); });
}

/// If this run went back to an earlier checkpoint, those after it belong to the run that was
/// not continued, and may be damaged. Files that cannot be removed stay.
void Checkpoints::remove_older() const {
  const std::int64_t begun_at = case_.restart ? case_.restart->state.sweep : 0;
  std::size_t count = 0;
  for (const CheckpointFile& one : checkpoints_in(so_far_.folder)) {
    std::error_code ignored;
    const bool is_own = one.sweeps <= begun_at || written_.contains(one.sweeps);
    if (!is_own || ++count > kept) fs::remove(one.path, ignored);
  }
}

}  // namespace halocline::solver
