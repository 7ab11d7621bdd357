// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline doctor`, read.

#include <memory>

#include "cli/command_line.hpp"

namespace halocline::cli {

class Syntax;

/// Adds `doctor` and its options to a command line, and reads them.
class DoctorLine {
 public:
  explicit DoctorLine(Syntax& syntax);
  ~DoctorLine();

  /// True once the command line has asked for it.
  bool parsed() const;
  /// Throws usage.
  DoctorCommand finish() const;

 private:
  struct Words;
  std::unique_ptr<Words> words_;
};

}  // namespace halocline::cli
