// SPDX-License-Identifier: Apache-2.0
#pragma once
// Proving in a probe job: a job of its own, with a limit in time, that may crash or hang in the
// place of ours.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/launcher.hpp"
#include "probe/probe.hpp"
#include "proof/environment_key.hpp"
#include "proof/records.hpp"

namespace halocline::proof {

/// The subcommand of the program that runs the probe.
inline constexpr const char* probe_command = "prove-gpu-aware";

struct ProbeJobRequest {
  Launcher launcher;
  std::string program;  ///< path of a halocline
  EnvironmentKey key;   ///< for the records
  std::vector<Memory> memories;
  std::vector<std::int64_t> bytes = sizes_to_probe();
  GpuChoice gpus = GpuChoice::in_turn;
  Variables with = {};                    ///< settings for the job alone; `key` must count them in
  std::vector<std::string> without = {};  ///< variables of this process that its ranks do not get
  int ranks = 2;
  int nodes = 1;  ///< over which they are spread evenly, where the launcher is told so by us
  /// Of each job: one if nothing crashes, one or two more for each kind of memory that does.
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);
};

struct ProbeJobAnswer {
  std::vector<Proof> proofs;
  /// Why there is no proof for some of what was wanted: "managed memory could not be tried: ...".
  std::vector<std::string> not_tried;
  /// How jobs ended that had said all they had to, and did not end well all the same.
  std::vector<std::string> bad_ends;
};

/// Runs the probe on some ranks of this node, if the launcher so wills, in this process's
/// environment without what a launcher has told it alone. Neither MPI nor a GPU may have been used
/// in this process. A crash, a hang and a wrong byte make proofs that something fails; a job
/// that does not get as far as sending makes none. Time: about that of starting the job, else
/// limited as above. Throws communication if this process is told to stop meanwhile, resource.
ProbeJobAnswer prove_in_probe_job(const ProbeJobRequest& request);

}  // namespace halocline::proof
