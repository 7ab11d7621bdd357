// SPDX-License-Identifier: Apache-2.0
#pragma once
// Pipes and a child process that leads a process group.

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

/// Makes a pipe that no other program inherits, with numbers above those of the standard streams.
/// Throws resource if there are no more descriptors.
Pipe make_pipe();

/// What to execute. All of it is made before the fork: between fork and exec a child of a process
/// with threads may not allocate.
struct Program {
  std::string path;
  std::vector<std::string> arguments;    ///< the first is the name
  std::vector<std::string> environment;  ///< NAME=value
  int out = -1;                          ///< -1: ours
  int err = -1;
  std::vector<int> default_signals;  ///< get their default action back
};

/// Starts `program` as leader of a new process group, with /dev/null as standard input; it is
/// terminated if the calling thread dies. Returns its id and 0, or anything and an errno.
std::pair<pid_t, int> start(const Program& program);

}  // namespace halocline
