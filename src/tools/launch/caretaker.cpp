// SPDX-License-Identifier: Apache-2.0
#include "launch/caretaker.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <thread>

#include <sys/wait.h>

#include "base/small_files.hpp"
#include "launch/child.hpp"
#include "launch/leftovers.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

/// Open MPI 4's folders of jobs without a launcher, ompi.NODE.USER/jf.NUMBER.
std::set<fs::path> jobs_in(const std::set<fs::path>& temporary) {
  std::set<fs::path> jobs;
  for (const fs::path& folder : temporary)
    for (const fs::path& users : entries_of(folder))
      if (users.filename().string().starts_with("ompi."))
        for (const fs::path& job : entries_of(users))
          if (job.filename().string().starts_with("jf.")) jobs.insert(job);
  return jobs;
}

/// The daemon of the process that has died empties the folder of its job, and leaves it. A folder
/// that is in use is not empty.
void remove_what_stays(const std::set<fs::path>& temporary, const std::set<fs::path>& before) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(2);
  std::error_code ignored;
  for (bool removed = false; !removed && Clock::now() < end;
       std::this_thread::sleep_for(std::chrono::milliseconds(20)))
    for (const fs::path& job : jobs_in(temporary))
      if (!before.contains(job) && fs::remove(job, ignored)) {
        fs::remove(job.parent_path(), ignored);
        removed = true;
      }
}

/// Lets go of all that the process which is watched has open, but `kept`.
void close_all_but(int kept) {
  for (const fs::path& entry : entries_of("/proc/self/fd")) {
    const std::string name = entry.filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (descriptor >= 0 && descriptor != kept) ::close(descriptor);
  }
}

/// Waits for the end of the process that has the pipe's other end, or for its word that all is
/// well.
[[noreturn]] void watch_over(int alive, const std::set<fs::path>& temporary,
                             const std::set<fs::path>& before) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  close_all_but(alive);
  char word = 0;
  ssize_t got = 0;
  do got = ::read(alive, &word, 1);
  while (got < 0 && errno == EINTR);
  if (got == 0) remove_what_stays(temporary, before);
  ::_exit(0);
}

}  // namespace

Caretaker::Caretaker(const Variables& variables) {
  const std::set<fs::path> temporary = temporary_folders(variables);
  const std::set<fs::path> before = jobs_in(temporary);
  Pipe pipe = make_pipe();
  process_ = ::fork();
  if (process_ == 0) {
    pipe.write.close();
    watch_over(pipe.read.get(), temporary, before);
  }
  while_alive_ = std::move(pipe.write);
}

Caretaker::~Caretaker() {
  if (process_ < 0) return;
  while (::write(while_alive_.get(), "", 1) < 0 && errno == EINTR) {
  }
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace halocline
