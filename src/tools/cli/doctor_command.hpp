// SPDX-License-Identifier: Apache-2.0
#pragma once
// `halocline doctor`.

#include <chrono>
#include <optional>
#include <string>

#include "doctor/report.hpp"

namespace halocline::cli {

class Syntax;

struct DoctorCommand {
  std::optional<std::string> launcher, proofs, json, save, compare;
  std::optional<int> ranks = {};
  std::optional<std::chrono::milliseconds> time_limit = {};
  doctor::Strictness strictness = doctor::Strictness::lenient;
  doctor::ReportOptions report = {};
};

/// Adds `doctor` and its options to a command line, and reads them.
class DoctorLine {
 public:
  explicit DoctorLine(Syntax& syntax);
  DoctorLine(const DoctorLine&) = delete;
  DoctorLine& operator=(const DoctorLine&) = delete;

  /// True once the command line has selected it.
  bool parsed() const;
  /// Throws usage.
  DoctorCommand finish() const;

 private:
  Syntax& syntax_;
  // Option values that become members of the command.
  std::optional<std::string> batch_;
  std::optional<double> time_limit_seconds_;
  bool strict_ = false, verbose_ = false;
  DoctorCommand command_;
};

/// Examines this machine and prints the report; returns the exit code.
int run_doctor(const DoctorCommand& command);

}  // namespace halocline::cli
