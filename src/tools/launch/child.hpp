// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pipes, and child processes that lead a process group.

#include <signal.h>

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/files/descriptor.hpp"

namespace halocline {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Makes a pipe that other programs do not inherit, with descriptors above the standard streams.
/// Throws resource if there are no descriptors left.
Pipe make_pipe();

/// A program to execute. Prepared before the fork, since the child of a multithreaded process must
/// not allocate before exec.
struct Program {
  std::string path;
  std::vector<std::string> arguments;    ///< the first one is the name
  std::vector<std::string> environment;  ///< NAME=value
  int out = -1;                          ///< -1: inherited
  int err = -1;
  std::vector<int> default_signals;  ///< reset to their default action
};

/// Starts `program` as leader of a new process group, with /dev/null as standard input. It is
/// terminated if the calling thread dies. Returns its id and 0, or an undefined id and an errno.
std::pair<pid_t, int> start(const Program& program);

}  // namespace halocline
