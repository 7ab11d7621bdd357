// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much of a transfer is hidden behind work: whether messages move while nobody waits for them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/run_result.hpp>

#include "report/report.hpp"
#include "timing/harness.hpp"

namespace halocline::bench {

/// What the host does between start() and finish() of an exchange.
enum class ProgressMode {
  busy,   ///< works, and calls nobody
  tests,  ///< works in parts, with a call of progress() (MPI_Test) after each
  thread  ///< works, while another thread calls progress() all the time
};
inline constexpr ProgressMode progress_modes[] = {ProgressMode::busy, ProgressMode::tests,
                                                  ProgressMode::thread};
std::string_view name_of(ProgressMode mode);
/// Throws usage, naming the modes there are.
ProgressMode progress_mode_named(std::string_view name);

struct ProgressBenchOptions {
  std::vector<std::int64_t> sizes{4 << 10, 64 << 10, 1 << 20, 16 << 20};  ///< bytes of a message
  std::vector<std::string> memories{"auto", "host"};                      ///< as solve --memory
  std::vector<std::string> transports;  ///< empty: all that can be used, proved
  std::vector<ProgressMode> modes{std::begin(progress_modes), std::end(progress_modes)};
  std::int64_t parts = 16;                   ///< of the work, with ProgressMode::tests
  timing::LoopOptions loop{.seconds = 0.1};  ///< of each measurement
  std::optional<std::string> proofs;         ///< as ExchangeOptions::proofs
};

/// One message each way between two ranks; the same on both.
struct ProgressTiming {
  struct Mode {
    ProgressMode mode = ProgressMode::busy;
    timing::TimeSummary time{};  ///< of transfer and work together
    /// The share of the transfer that took no time: (alone + work - together) / alone, by medians.
    /// Below 0 where the two hinder each other.
    double overlap = 0;
  };
  std::string memory, transport;
  std::int64_t bytes = 0;
  std::optional<std::string> wrong{};  ///< the first wrong byte
  timing::TimeSummary alone{};         ///< the transfer without work
  timing::TimeSummary work{};          ///< the work without transfer, about as long
  std::vector<Mode> modes{};
};

struct ProgressBenchResult {
  std::string mpi, threads;  ///< what MPI allows threads to do: "MPI_THREAD_MULTIPLE"
  int ranks = 2, nodes = 0, cores = 0;
  std::int64_t parts = 0;
  std::vector<RunDevice> devices{};
  std::vector<ProgressTiming> timings{};
  std::vector<std::string> notes{};
};

double overlap_of(double alone_seconds, double work_seconds, double together_seconds);

/// Exchanges messages between two ranks with and without work, checking every byte before and
/// after. What cannot be had here is left out with a note. Collective over two ranks. Throws
/// usage, unavailable, resource or communication, the same on both.
ProgressBenchResult run_progress_bench(const Communicator& communicator,
                                       const ProgressBenchOptions& options);

/// Throws what run_progress_bench() would throw of usage errors, without MPI.
void check(const ProgressBenchOptions& options, int ranks);

Report report_of(const ProgressBenchResult& result);
/// The first measurement that moved a wrong byte, in words; nothing if none did.
std::optional<std::string> wrong_of(const ProgressBenchResult& result);

/// "64 KiB by mpi with host memory".
std::string name_of(const ProgressTiming& timing);

}  // namespace halocline::bench
