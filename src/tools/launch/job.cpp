// SPDX-License-Identifier: Apache-2.0
#include "launch/job.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/core.h>
#include <sys/wait.h>

#include <halocline/error.hpp>

#include "launch/child.hpp"
#include "launch/process_tree.hpp"

namespace halocline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int forwarded_signals[] = {SIGINT, SIGTERM, SIGHUP};
constexpr unsigned char child_ended = 0;  // among the signal numbers on the pipe of events

// A signal handler takes no arguments of ours; jobs take turns, so one place is enough.
std::atomic<int> event_pipe{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void post_event(int descriptor, unsigned char event) {
  while (::write(descriptor, &event, 1) < 0 && errno == EINTR) {
  }
}

extern "C" void halocline_note_signal(int signal) {
  const int saved = errno;
  const int descriptor = event_pipe.load();
  if (descriptor >= 0) post_event(descriptor, static_cast<unsigned char>(signal));
  errno = saved;
}

/// Sends signals to the pipe of events while it lives. What the user had ignored stays ignored.
class SignalWatch {
 public:
  explicit SignalWatch(int descriptor) {
    event_pipe = descriptor;
    struct sigaction action {};
    action.sa_handler = halocline_note_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < before_.size(); ++i) {
      ::sigaction(forwarded_signals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler == SIG_IGN) continue;
      ::sigaction(forwarded_signals[i], &action, nullptr);
      watched_.push_back(forwarded_signals[i]);
    }
  }
  ~SignalWatch() {
    for (std::size_t i = 0; i < before_.size(); ++i)
      ::sigaction(forwarded_signals[i], &before_[i], nullptr);
    event_pipe = -1;
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  const std::vector<int>& watched() const { return watched_; }

 private:
  std::array<struct sigaction, std::size(forwarded_signals)> before_{};
  std::vector<int> watched_;
};

/// One of the job's streams on its way to us.
struct Stream {
  Descriptor source;
  int relay_to = -1;
  int relay_error = 0;
  std::string kept;

  /// Reads what is there; closes at the end.
  void drain(std::size_t kept_bytes) {
    std::array<char, 65536> buffer;
    const ssize_t got = ::read(source.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
      source.close();
      return;
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    relay(text);
    kept += text;
    if (kept.size() > 2 * kept_bytes) kept.erase(0, kept.size() - kept_bytes);
  }

  void relay(std::string_view text) {
    while (relay_to >= 0 && !text.empty()) {
      const ssize_t written = ::write(relay_to, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {  // nobody listens any more; the job goes on
        relay_error = errno;
        relay_to = -1;
      }
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::string take(std::size_t kept_bytes) {
    if (kept.size() > kept_bytes) kept.erase(0, kept.size() - kept_bytes);
    return std::move(kept);
  }
};

/// Watches over a child from its start to its end.
class Job {
 public:
  Job(pid_t child, Pipe& events, std::array<Stream, 2>& streams, const JobOptions& options)
      : child_(child), events_(events), streams_(streams), options_(options) {
    if (options.time_limit) time_limit_ = Clock::now() + *options.time_limit;
    hear();
    try {
      waiter_ = std::thread([child, descriptor = events.write.get()] {
        siginfo_t info;
        while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 &&
               errno == EINTR) {
        }
        post_event(descriptor, child_ended);
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
      if (kill_at_ && now >= *kill_at_) {
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
    // The child is dead but not reaped: its number, the group's, cannot be anyone else's yet.
    ::kill(-child_, SIGKILL);
    kill_all(descendants_);
    const auto enough = Clock::now() + std::chrono::seconds(1);
    while (Clock::now() < enough && poll_streams(std::chrono::milliseconds(100))) {
    }
    return conclude();
  }

 private:
  std::optional<Clock::time_point> next_deadline() const {
    if (stopping_) return kill_at_;
    if (time_limit_ && silence_limit_) return std::min(*time_limit_, *silence_limit_);
    return time_limit_ ? time_limit_ : silence_limit_;
  }

  void hear() {
    if (options_.silence_limit) silence_limit_ = Clock::now() + *options_.silence_limit;
  }

  static int milliseconds_until(std::optional<Clock::time_point> deadline) {
    if (!deadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  void wait_for_news(std::optional<Clock::time_point> deadline) {
    // A closed stream has descriptor -1, which poll passes over.
    pollfd waited[] = {{events_.read.get(), POLLIN, 0},
                       {streams_[0].source.get(), POLLIN, 0},
                       {streams_[1].source.get(), POLLIN, 0}};
    if (::poll(waited, std::size(waited), milliseconds_until(deadline)) <= 0) return;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (waited[i + 1].revents == 0) continue;
      streams_[i].drain(options_.kept_bytes);
      hear();
    }
    if (waited[0].revents != 0) take_event();
  }

  /// Reads what the streams still hold; false if nothing came or all are closed.
  bool poll_streams(std::chrono::milliseconds patience) {
    pollfd waited[] = {{streams_[0].source.get(), POLLIN, 0},
                       {streams_[1].source.get(), POLLIN, 0}};
    if (waited[0].fd < 0 && waited[1].fd < 0) return false;
    if (::poll(waited, std::size(waited), static_cast<int>(patience.count())) <= 0) return false;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (waited[i].revents != 0) streams_[i].drain(options_.kept_bytes);
    return true;
  }

  void take_event() {
    unsigned char event = 0;
    if (::read(events_.read.get(), &event, 1) != 1) return;
    if (event == child_ended) {
      ended_ = true;
      return;
    }
    if (end_.how == JobEnd::How::exited) {
      end_.how = JobEnd::How::interrupted;
      end_.signal = event;
    }
    stop(event);
  }

  /// Asks the job to end; what is left after the grace is killed.
  void stop(int signal) {
    // Taken while the launcher lives: its orphans could not be told from other processes later.
    remember_descendants();
    ::kill(-child_, signal);
    if (!stopping_) kill_at_ = Clock::now() + options_.grace;
    stopping_ = true;
  }

  void remember_descendants() {
    const std::vector<Process> found = descendants_of(child_);
    descendants_.insert(descendants_.end(), found.begin(), found.end());
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
    end_.out = streams_[0].take(options_.kept_bytes);
    end_.relay_error = streams_[0].relay_error;
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
  std::array<Stream, 2>& streams_;
  const JobOptions& options_;
  std::optional<Clock::time_point> time_limit_, silence_limit_;
  std::optional<Clock::time_point> kill_at_;
  std::vector<Process> descendants_;
  std::thread waiter_;
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
      return fmt::format("'{}' was killed by signal {} ({})", program, end.signal,
                         ::strsignal(end.signal));
    case JobEnd::How::timed_out:
      return fmt::format("'{}' did not end within {:g} s and was stopped", program,
                         static_cast<double>(options.time_limit->count()) / 1000);
    case JobEnd::How::fell_silent:
      return fmt::format("'{}' had no output for {:g} s and was stopped", program,
                         static_cast<double>(options.silence_limit->count()) / 1000);
    case JobEnd::How::interrupted:
      return fmt::format("'{}' was stopped by signal {} ({})", program, end.signal,
                         ::strsignal(end.signal));
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

JobEnd not_started(int error) {
  JobEnd end;
  end.how = JobEnd::How::not_started;
  end.error = error;
  return end;
}

JobEnd run(Program program, const JobOptions& options) {
  Pipe events = make_pipe();
  std::array<Stream, 2> streams;
  std::array<Descriptor, 2> sinks;
  if (options.output != JobOutput::inherit) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      Pipe pipe = make_pipe();
      streams[i].source = std::move(pipe.read);
      sinks[i] = std::move(pipe.write);
      if (options.output == JobOutput::relay) streams[i].relay_to = static_cast<int>(i) + 1;
    }
  }
  program.out = sinks[0].get();
  program.err = sinks[1].get();

  const SignalWatch signals(events.write.get());
  program.default_signals = signals.watched();
  const auto [child, error] = start(program);
  if (error != 0) return not_started(error);
  for (Descriptor& sink : sinks) sink.close();
  return Job(child, events, streams, options).watch();
}

}  // namespace

std::string find_program(const std::string& command, const Variables& variables) {
  const auto is_program = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (command.find('/') != std::string::npos) return is_program(command) ? command : "";
  const auto path = variables.find("PATH");
  std::string_view folders = "/usr/bin:/bin";
  if (path != variables.end()) folders = path->second;
  while (!command.empty()) {
    const std::size_t colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, command);
    if (is_program(candidate)) return candidate;
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  return "";
}

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
  // A path that is no program goes to exec all the same, for its errno.
  if (program.path.empty() && command[0].find('/') != std::string::npos) program.path = command[0];
  JobEnd end = program.path.empty() ? not_started(ENOENT) : run(std::move(program), options);
  end.reason = reason_of(end, command[0], options);
  return end;
}

}  // namespace halocline
