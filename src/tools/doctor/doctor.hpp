// SPDX-License-Identifier: Apache-2.0
#pragma once
// The whole examination of this machine.

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
  std::optional<int> ranks = {};  ///< of the probes; 2 on each node, as far as nodes are known
  /// Of silence; of a job, times its paths. limit_under(load) if it is left open.
  std::optional<std::chrono::milliseconds> time_limit = {};
  std::string program;                     ///< path of a halocline
  std::string launcher_hint = {};          ///< as find_launcher() takes it
  std::optional<std::string> proofs = {};  ///< as ExchangeOptions::proofs
  /// Told what comes next.
  std::function<void(const std::string&)> on_progress = [](const std::string&) {};
};

struct Diagnosis {
  Evidence evidence = {};
  std::vector<Finding> found = {};
  Start start = {};
  double seconds = 0;
};

/// Examines this node by jobs of its own: nothing that they do ends this process. Neither MPI nor a
/// GPU may have been used in it. Keeps what is proved of gpu_aware for later runs. Throws
/// communication if this process is told to stop meanwhile, resource.
Diagnosis examine(const DoctorOptions& options, const Variables& variables);

}  // namespace halocline::doctor
