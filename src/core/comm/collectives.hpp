// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collective calls. Each wait has a limit unless its comment says otherwise, and nothing here
// includes mpi.h.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <halocline/box.hpp>
#include <halocline/communicator.hpp>
#include <halocline/error.hpp>

#include "base/process/mpi_family.hpp"
#include "base/recorder.hpp"

namespace halocline::comm {

Recorder& recorder(const Communicator& communicator);
/// The MPI that this library was built with.
MpiFamily family();
/// Returns "Open MPI 4.1.4", as far as the library reports it.
std::string library_version();

/// Ends every rank at once with this exit code; for commands, never for the library.
[[noreturn]] void abort(const Communicator& communicator, int exit_code);
/// Guards calls that block inside MPI: see Watchdog::set_handler.
void set_stall_handler(const Communicator& communicator,
                       std::function<void(const std::string&)> on_stall);

void barrier(const Communicator& communicator);
double max_over_ranks(const Communicator& communicator, double value);
std::int64_t max_over_ranks(const Communicator& communicator, std::int64_t value);
/// Modulo 2^64.
std::uint64_t sum_over_ranks(const Communicator& communicator, std::uint64_t value);
/// The same for each of several values; every rank passes the same number of them.
std::vector<std::uint64_t> sum_over_ranks(const Communicator& communicator,
                                          std::vector<std::uint64_t> values);
/// Returns every rank's value, in order of rank.
std::vector<double> gather_all(const Communicator& communicator, double value);
std::vector<Box> gather_all(const Communicator& communicator, const Box& value);
/// Adds in order of rank, so that the sum is the same each time.
double sum_in_rank_order(const Communicator& communicator, double value);
/// Returns rank `root`'s text on every rank.
std::string broadcast(const Communicator& communicator, std::string text, int root);
/// Returns every rank's text on rank 0, nothing on the others.
std::vector<std::string> gather_texts(const Communicator& communicator, const std::string& text);
/// Returns, on every rank, the first text in order of rank that is not empty; empty if all are.
std::string first_text(const Communicator& communicator, const std::string& text);

/// Blocks until sent; above 2 GiB in pieces. Has no wait limit, since the receiver may be
/// computing.
void send(const Communicator& communicator, int to, std::span<const std::byte> bytes);
void receive(const Communicator& communicator, int from, std::span<std::byte> bytes);

/// Runs `work` on every rank. If any rank fails, all ranks throw the error of the lowest one,
/// preceded by that rank if only some failed. So no rank is left waiting.
void together(const Communicator& communicator, const std::function<void()>& work);

/// Runs `work` on rank 0 while the others wait without a limit; throws its error on every rank.
void on_first_rank(const Communicator& communicator, const std::function<void()>& work);

/// Runs `work` on ranks 0 to `count` - 1, which must all throw the same errors. Throws
/// communication at once: the others may never receive it.
void on_first_ranks(const Communicator& communicator, int count, const std::function<void()>& work);
/// Returns a communicator of ranks 0 to `count` - 1, with the same options; nothing on the others.
/// Collective over all ranks.
std::optional<Communicator> first_ranks(const Communicator& communicator, int count);

/// Runs `work` on two ranks only, likewise.
void on_two_ranks(const Communicator& communicator, int first, int second,
                  const std::function<void()>& work);
/// Returns a communicator of two ranks, `first` as its rank 0, with the same options and on the
/// same nodes; nothing on the others. Collective over all ranks.
std::optional<Communicator> two_ranks(const Communicator& communicator, int first, int second);

/// Throws usage, on every rank, unless all ranks pass the same lines; the text shows the first line
/// that differs, in both versions. `what` names what the lines describe: "exchange plans".
void require_same(const Communicator& communicator, const std::string& what,
                  const std::vector<std::string>& lines);

/// An all-reduce of one number by the host: a norm or a vote, started after one sweep and needed
/// after the next.
class NonblockingAllReduce {
 public:
  enum class Kind { max, sum };
  explicit NonblockingAllReduce(const Communicator& communicator);
  ~NonblockingAllReduce();
  NonblockingAllReduce(const NonblockingAllReduce&) = delete;
  NonblockingAllReduce& operator=(const NonblockingAllReduce&) = delete;

  void start(Kind kind, double value) { start(kind, {&value, 1}); }
  /// Of several values each; as many on every rank.
  void start(Kind kind, std::span<const double> values);
  /// Returns the maxima, or the sums in order of rank. Blocks, at most for the wait limit.
  const std::vector<double>& finish_all();
  double finish() { return finish_all()[0]; }
  bool in_flight() const;

 private:
  struct Pending;
  std::unique_ptr<Pending> pending_;
};

}  // namespace halocline::comm
