// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a probe says while it runs, line by line: the lines that came are all that is left of one
// that crashed.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proof/records.hpp"

namespace halocline::proof {

/// The messages of one size and one kind of memory, both ways at once.
struct Step {
  enum class State {
    trying,  ///< begun; the last one when the probe crashed or hung
    proved,  ///< every byte arrived
    wrong,   ///< a byte did not: see text
    failed   ///< MPI gave an error, or a peer did not answer: see text
  };
  Memory memory = Memory::device;
  std::int64_t bytes = 0;
  State state = State::trying;
  std::string text = {};

  friend bool operator==(const Step&, const Step&) = default;
};

struct ProbeReport {
  bool began = false, ended = false;
  std::vector<GpuPair> pairs;                               ///< that messages went between
  std::vector<Step> steps;                                  ///< in order
  std::vector<std::pair<Memory, std::string>> unavailable;  ///< memory that is not there, and why
};

/// What such a line begins with.
inline constexpr std::string_view probe_mark = "halocline-probe: ";

/// Lines for a probe to print, without the end of the line.
std::string begin_line();
std::string pair_line(GpuPair pair);
std::string step_line(const Step& step);
std::string unavailable_line(Memory memory, std::string_view why);
std::string end_line();

/// Reads what came, however it ended. Lines of others, and what launchers put in front of lines,
/// are passed over; so is a last line that is not whole.
ProbeReport read_probe(std::string_view output);

}  // namespace halocline::proof
