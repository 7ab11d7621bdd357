// SPDX-License-Identifier: Apache-2.0
#pragma once
// The complete examination of this machine.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doctor/advice.hpp"
#include "doctor/findings.hpp"

namespace halocline::doctor {

struct DoctorOptions {
  std::optional<std::string> launcher;  ///< "srun -n {ranks}"
  std::optional<int> ranks = {};        ///< of the probes; default: 2 on each known node
  /// Limit on silence of a probe, multiplied by its paths as limit on the job. Default:
  /// limit_under(load).
  std::optional<std::chrono::milliseconds> time_limit = {};
  std::string program;                     ///< path of a halocline
  std::string launcher_hint = {};          ///< see find_launcher()
  std::optional<std::string> proofs = {};  ///< as ExchangeOptions::proofs
  /// Called before each step, with its description.
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
};

struct Diagnosis {
  Evidence evidence = {};
  std::vector<Finding> found = {};
  Start start = {};
  double seconds = 0;
};

/// Examines this node in separate jobs, so that their crashes do not end this process, which must
/// not have used MPI or a GPU. Keeps proofs for later runs. Throws communication if a signal stops
/// this process, and resource.
Diagnosis examine(const DoctorOptions& options, const Variables& variables);

}  // namespace halocline::doctor
