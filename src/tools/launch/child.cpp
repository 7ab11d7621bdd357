// SPDX-License-Identifier: Apache-2.0
#include "launch/child.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <halocline/error.hpp>

#include "base/process/allowed_cores.hpp"

namespace halocline {
namespace {

constexpr int lowest_descriptor = 3;

[[noreturn]] void fail_pipe(int error) {
  throw Error(ErrorKind::resource, fmt::format("cannot create a pipe for a job: {}",
                                               std::generic_category().message(error)));
}

/// Moves a descriptor above 0, 1 and 2, which it may have if this process was started with a closed
/// stream.
Descriptor above_standard_streams(Descriptor descriptor) {
  if (descriptor.get() >= lowest_descriptor) return descriptor;
  const int moved = ::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, lowest_descriptor);
  if (moved < 0) fail_pipe(errno);
  return Descriptor(moved);
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Data of the child between fork and exec.
struct ChildSetup {
  const Program& program;
  char* const* arguments;
  char* const* environment;
  pid_t parent;
  int failure_pipe;
  const sigset_t& mask;
  const std::vector<unsigned long>& cores;  ///< bits; empty: inherited
};

/// Turns the child into the program, or reports the errno. Async-signal-safe calls only.
[[noreturn]] void become(const ChildSetup& setup) {
  const Program& program = setup.program;
  ::setpgid(0, 0);
  if (!setup.cores.empty())
    ::syscall(SYS_sched_setaffinity, 0, setup.cores.size() * sizeof setup.cores[0],
              setup.cores.data());
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != setup.parent) ::_exit(127);  // the parent died before prctl
  const int nothing = ::open("/dev/null", O_RDONLY);
  const bool wired = nothing >= 0 && ::dup2(nothing, 0) >= 0 &&
                     (program.out < 0 || ::dup2(program.out, 1) >= 0) &&
                     (program.err < 0 || ::dup2(program.err, 2) >= 0);
  if (wired) {
    if (nothing > 2) ::close(nothing);
    for (const int signal : program.default_signals) ::signal(signal, SIG_DFL);
    ::sigprocmask(SIG_SETMASK, &setup.mask, nullptr);
    ::execve(program.path.c_str(), setup.arguments, setup.environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(setup.failure_pipe, &error, sizeof error);
  ::_exit(127);
}

/// Waits for exec, which closes the pipe; returns its errno, or 0.
int read_failure(int descriptor) {
  int error = 0;
  ssize_t got = 0;
  do got = ::read(descriptor, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_pipe(errno);
  Descriptor read(ends[0]);
  Descriptor write(ends[1]);
  return {above_standard_streams(std::move(read)), above_standard_streams(std::move(write))};
}

std::pair<pid_t, int> start(const Program& program) {
  Pipe failure = make_pipe();
  const std::vector<char*> arguments = pointers_to(program.arguments);
  const std::vector<char*> environment = pointers_to(program.environment);
  // OpenMP may have bound this thread to one core, which the child would inherit.
  const std::vector<unsigned long> cores = core_bits(cores_of_places());
  const pid_t parent = ::getpid();

  // Our signal handlers must not run in the child.
  sigset_t all, mask;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask);
  const pid_t child = ::fork();
  if (child == 0)
    become(
        {program, arguments.data(), environment.data(), parent, failure.write.get(), mask, cores});
  const int fork_error = child < 0 ? errno : 0;
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (child < 0) return {child, fork_error};

  ::setpgid(child, child);  // in both processes, whichever runs first
  failure.write.close();
  const int exec_error = read_failure(failure.read.get());
  if (exec_error != 0) reap(child);
  return {child, exec_error};
}

}  // namespace halocline
