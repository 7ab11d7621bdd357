// SPDX-License-Identifier: Apache-2.0
#include "launch/job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sys/wait.h>

#include <halocline/error.hpp>

#include "launch/child.hpp"
#include "launch/interrupts.hpp"
#include "launch/nonblocking_output.hpp"
#include "launch/process_tree.hpp"
#include "launch/stale_files.hpp"

namespace halocline {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the signal that makes a launcher end its job in order. Launchers handle only these
/// three; others would kill them, and leave ranks and MPI's files behind.
int request_for(int signal) { return signal == SIGINT || signal == SIGHUP ? signal : SIGTERM; }

/// One of the job's output streams.
struct JobStream {
  Descriptor source;
  NonblockingOutput output;
  OutputFilter filter;
  std::string kept;

  /// Returns the descriptor to poll for output; -1 at its end, or while our own output is full.
  int descriptor_to_poll() const { return output.is_full() ? -1 : source.get(); }

  /// Reads available output; closes at its end.
  void drain(std::size_t kept_bytes) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0)
      source.close();
    else
      keep(filter.pass(std::string_view(buffer.data(), static_cast<std::size_t>(got))), kept_bytes);
  }

  void keep(const std::string& text, std::size_t kept_bytes) {
    output.put(text);
    kept += text;
    if (kept.size() > 2 * kept_bytes) kept.erase(0, kept.size() - kept_bytes);
  }

  std::string take(std::size_t kept_bytes) {
    if (kept.size() > kept_bytes) kept.erase(0, kept.size() - kept_bytes);
    return std::move(kept);
  }
};

/// Supervises a child from its start to its end.
class Job {
 public:
  Job(pid_t child, Pipe& events, std::array<JobStream, 2>& streams, const JobOptions& options)
      : child_(child), events_(events), streams_(streams), options_(options) {
    if (options.time_limit) time_limit_ = Clock::now() + *options.time_limit;
    if (options.on_slow_start) slow_start_ = Clock::now() + options.slow_start;
    restart_silence_limit();
    try {
      waiter_ = std::thread([child, descriptor = events.write.get()] {
        siginfo_t info;
        while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 &&
               errno == EINTR) {
        }
        while (::write(descriptor, "", 1) < 0 && errno == EINTR) {
        }
      });
    } catch (const std::system_error& error) {
      end_now();
      throw Error(ErrorKind::resource,
                  fmt::format("cannot start a thread to watch a job: {}", error.what()));
    }
  }

  ~Job() {
    if (!reaped_) end_now();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  JobEnd watch() {
    while (!ended_) {
      wait_for_news(next_deadline());
      const auto now = Clock::now();
      if (!has_begun_ && has_marked_line()) {
        has_begun_ = true;
        slow_start_.reset();
        remember_descendants();  // not identifiable any more if the launcher is killed
      }
      if (slow_start_ && !stopping_ && now >= *slow_start_) {
        slow_start_.reset();
        options_.on_slow_start();
      } else if (kill_at_ && now >= *kill_at_) {
        kill_at_.reset();
        kill_everything();
      } else if (!stopping_ && time_limit_ && now >= *time_limit_) {
        end_.how = JobEnd::How::timed_out;
        stop(SIGTERM);
      } else if (!stopping_ && silence_limit_ && now >= *silence_limit_) {
        end_.how = JobEnd::How::fell_silent;
        stop(SIGTERM);
      }
    }
    // The child is dead but not reaped, so no other process can have its id or group yet.
    const bool tidied_up = !stopping_ && ended_well();
    if (!tidied_up) note_stale_files(living(descendants_));
    ::kill(-child_, SIGKILL);
    kill_all(descendants_);
    pass_on_the_rest();
    if (!tidied_up) remove_stale_files();
    return conclude();
  }

 private:
  std::optional<Clock::time_point> next_deadline() const {
    if (stopping_) return kill_at_;
    std::optional<Clock::time_point> first;
    for (const auto& one : {time_limit_, silence_limit_, slow_start_})
      if (one && (!first || *one < *first)) first = one;
    return first;
  }

  bool has_marked_line() const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [](const JobStream& stream) { return !stream.filter.marked().empty(); });
  }

  void restart_silence_limit() {
    if (options_.silence_limit) silence_limit_ = Clock::now() + *options_.silence_limit;
  }

  static int milliseconds_until(std::optional<Clock::time_point> deadline) {
    if (!deadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  void wait_for_news(std::optional<Clock::time_point> deadline) {
    if (poll_all(milliseconds_until(deadline)) == News::of_streams) restart_silence_limit();
  }

  enum class News { none, of_readers, of_streams };
  /// Waits for any event, and handles it.
  News poll_all(int milliseconds) {
    // poll ignores negative descriptors.
    std::array<pollfd, 6> waited{{{events_.read.get(), POLLIN, 0},
                                  {Interrupts::descriptor(), POLLIN, 0},
                                  {streams_[0].descriptor_to_poll(), POLLIN, 0},
                                  {streams_[1].descriptor_to_poll(), POLLIN, 0},
                                  {streams_[0].output.descriptor_to_poll(), POLLOUT, 0},
                                  {streams_[1].output.descriptor_to_poll(), POLLOUT, 0}}};
    if (::poll(waited.data(), waited.size(), milliseconds) <= 0) return News::none;
    News news = News::none;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (waited[i + 4].revents != 0) {
        streams_[i].output.flush();
        news = std::max(news, News::of_readers);
      }
      if (waited[i + 2].revents != 0) {
        streams_[i].drain(options_.kept_bytes);
        news = News::of_streams;
      }
    }
    if (waited[1].revents != 0) take_signals();
    if (waited[0].revents != 0) take_event();
    return news;
  }

  /// Forwards the remaining output of the ended job. Waits for a slow reader unless the end was
  /// requested, but not for other processes that keep the streams open.
  void pass_on_the_rest() {
    constexpr int quiet_milliseconds = 100;
    auto enough = Clock::now() + std::chrono::seconds(1);
    const auto is_open = [](const JobStream& stream) { return stream.source.is_open(); };
    const auto is_waiting = [](const JobStream& stream) { return stream.output.is_waiting(); };
    while (std::any_of(streams_.begin(), streams_.end(), is_open) && Clock::now() < enough) {
      const News news = poll_all(quiet_milliseconds);
      const bool held_up = !stopping_ && std::any_of(streams_.begin(), streams_.end(), is_waiting);
      if (held_up) enough = Clock::now() + std::chrono::seconds(1);
      if (news == News::none && !held_up) break;
    }
    for (JobStream& stream : streams_) stream.keep(stream.filter.finish(), options_.kept_bytes);
    const auto last_moment = Clock::now() + std::chrono::milliseconds(quiet_milliseconds);
    while (std::any_of(streams_.begin(), streams_.end(), is_waiting)) {
      if (stopping_ && Clock::now() >= last_moment) break;
      poll_all(quiet_milliseconds);
    }
  }

  void take_event() {
    unsigned char event = 0;
    if (::read(events_.read.get(), &event, 1) == 1) ended_ = true;
  }

  void take_signals() {
    while (const std::optional<int> signal = Interrupts::next()) {
      if (*signal == SIGTSTP) {
        if (!stopping_ && !ended_) pause();
        continue;
      }
      const bool is_first = std::exchange(has_signal_, true) == false;
      if (is_first && options_.on_first_signal && options_.on_first_signal(*signal)) continue;
      if (end_.how != JobEnd::How::interrupted) {
        end_.how = JobEnd::How::interrupted;
        end_.signal = *signal;
      }
      // On a second request launchers would exit without cleaning up.
      if (!stopping_) stop(request_for(*signal));
    }
  }

  /// Stops the job and this process until SIGCONT. The terminal does not reach ranks, which are in
  /// groups of their own.
  void pause() {
    const auto since = Clock::now();
    std::vector<Process> job = descendants_of(child_);
    // The launcher first, so that it does not see its ranks stop.
    ::kill(child_, SIGSTOP);
    signal_all(job, SIGSTOP);
    ::raise(SIGSTOP);
    signal_all(job, SIGCONT);
    ::kill(child_, SIGCONT);
    const auto paused = Clock::now() - since;
    for (auto* limit : {&time_limit_, &silence_limit_, &slow_start_})
      if (*limit) **limit += paused;
  }

  /// Requests the job to end; processes that remain after the grace period are killed.
  void stop(int signal) {
    // While the launcher lives, as its orphans cannot be identified later.
    remember_descendants();
    if (!ended_) ::kill(-child_, signal);
    if (!stopping_) kill_at_ = Clock::now() + options_.grace;
    stopping_ = true;
  }

  void remember_descendants() {
    if (ended_) return;
    std::vector<Process> found = descendants_of(child_);
    descendants_.insert(descendants_.end(), found.begin(), found.end());
    note_stale_files(std::move(found));
  }

  void note_stale_files(std::vector<Process> processes) {
    processes.push_back({child_, 0});
    stale_files_.note(processes, current_variables());
  }

  void remove_stale_files() const {
    // Killed processes may run for a moment and create more files.
    for (int left = 100; left > 0 && !living(descendants_).empty(); --left)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    stale_files_.remove();
  }

  /// Returns whether the ended child returned 0.
  bool ended_well() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT) == 0 &&
           info.si_code == CLD_EXITED && info.si_status == 0;
  }

  void kill_everything() {
    remember_descendants();
    ::kill(-child_, SIGKILL);
    kill_all(descendants_);
  }

  void end_now() {
    kill_everything();
    reap();
  }

  int reap() {
    if (waiter_.joinable()) waiter_.join();
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    reaped_ = true;
    return status;
  }

  JobEnd conclude() {
    const int status = reap();
    for (const JobStream& stream : streams_) {
      const std::vector<std::string>& marked = stream.filter.marked();
      end_.marked.insert(end_.marked.end(), marked.begin(), marked.end());
      end_.withheld += stream.filter.withheld();
    }
    end_.relay_error = streams_[0].output.error();
    end_.out = streams_[0].take(options_.kept_bytes);
    end_.err = streams_[1].take(options_.kept_bytes);
    if (WIFEXITED(status)) end_.exit_code = WEXITSTATUS(status);
    if (end_.how == JobEnd::How::exited && WIFSIGNALED(status)) {
      end_.how = JobEnd::How::signalled;
      end_.signal = WTERMSIG(status);
    }
    return std::move(end_);
  }

  pid_t child_;
  Pipe& events_;
  std::array<JobStream, 2>& streams_;
  const JobOptions& options_;
  std::optional<Clock::time_point> time_limit_, silence_limit_, slow_start_;
  std::optional<Clock::time_point> kill_at_;
  std::vector<Process> descendants_;
  StaleFiles stale_files_;
  std::thread waiter_;
  bool has_begun_ = false;
  bool has_signal_ = false;
  bool stopping_ = false;
  bool ended_ = false;
  bool reaped_ = false;
  JobEnd end_;
};

std::string reason_of(const JobEnd& end, const std::string& program, const JobOptions& options) {
  switch (end.how) {
    case JobEnd::How::exited:
      if (end.exit_code == 0) return "";
      return fmt::format("'{}' ended with exit code {}", program, end.exit_code);
    case JobEnd::How::signalled:
      return fmt::format("'{}' was killed by {}", program, signal_in_words(end.signal));
    case JobEnd::How::timed_out:
      return fmt::format("'{}' did not end within {:g} s and was stopped", program,
                         static_cast<double>(options.time_limit->count()) / 1000);
    case JobEnd::How::fell_silent:
      return fmt::format("'{}' had no output for {:g} s and was stopped", program,
                         static_cast<double>(options.silence_limit->count()) / 1000);
    case JobEnd::How::interrupted:
      return fmt::format("'{}' was stopped by {}", program, signal_in_words(end.signal));
    case JobEnd::How::not_started:
      return fmt::format("cannot start '{}': {}", program,
                         std::generic_category().message(end.error));
  }
  return "";
}

std::vector<std::string> environment_of_job(const Variables& ours, const Variables& extra,
                                            const std::vector<std::string>& without) {
  Variables variables = ours;
  for (const std::string& name : without) variables.erase(name);
  for (const auto& [name, value] : extra) variables[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(name + "=" + value);
  return list;
}

JobEnd run(Program program, const JobOptions& options) {
  const Interrupts interrupts;
  // A signal before the start counts as one during the job.
  if (const auto signal = Interrupts::first();
      signal && (!options.on_first_signal || !options.on_first_signal(*signal)))
    return {.how = JobEnd::How::interrupted, .signal = *signal};
  Pipe events = make_pipe();
  std::array<JobStream, 2> streams;
  std::array<Descriptor, 2> sinks;
  if (options.output != JobOutput::inherit) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      Pipe pipe = make_pipe();
      streams[i].source = std::move(pipe.read);
      sinks[i] = std::move(pipe.write);
      if (options.output == JobOutput::relay)
        streams[i].output = NonblockingOutput(static_cast<int>(i) + 1);
      // Explanations come on standard error; dashes on standard output belong to reports.
      streams[i].filter =
          OutputFilter(options.mark, i == 1 ? options.explanations : Explanations::passed);
    }
  }
  program.out = sinks[0].get();
  program.err = sinks[1].get();

  program.default_signals = Interrupts::watched();
  const auto [child, error] = start(program);
  if (error != 0) return {.how = JobEnd::How::not_started, .error = error};
  for (Descriptor& sink : sinks) sink.close();
  return Job(child, events, streams, options).watch();
}

}  // namespace

JobEnd run_job(const std::vector<std::string>& command, const Variables& extra,
               const JobOptions& options) {
  static std::mutex turn;
  const std::lock_guard<std::mutex> lock(turn);

  if (command.empty()) throw Error(ErrorKind::internal, "a job needs a command");
  const Variables ours = current_variables();
  Program program;
  program.path = find_program(command[0], ours);
  program.arguments = command;
  program.environment = environment_of_job(ours, extra, options.without);
  // exec reports the errno of a path that is not a program.
  if (program.path.empty() && command[0].find('/') != std::string::npos) program.path = command[0];
  JobEnd end = program.path.empty() ? JobEnd{.how = JobEnd::How::not_started, .error = ENOENT}
                                    : run(std::move(program), options);
  end.reason = reason_of(end, command[0], options);
  return end;
}

}  // namespace halocline
