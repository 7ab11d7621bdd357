// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <sstream>
#include <thread>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::comm {
namespace {

constexpr int bulk_tag = 1;

/// Starts a non-blocking collective and waits for it through the gate. `memory` owns the buffers
/// that it reads and writes.
template <class Start>
void collective(const Communicator& communicator, const char* site,
                std::shared_ptr<const void> memory, Start&& start,
                Wait::Limit limit = Wait::Limit::as_set) {
  State& state = communicator.state();
  MPI_Request request = MPI_REQUEST_NULL;
  check(start(state.all(), &request), site);
  wait_all(state, {&request, 1},
           {.site = site, .phase = Phase::other, .missing = {}, .limit = limit}, std::move(memory));
}

/// Runs `work` and returns its error, if any.
std::optional<Error> error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorKind::resource, "out of host memory");
  } catch (const std::exception& error) {
    return Error(ErrorKind::internal, error.what());
  }
  return std::nullopt;
}

template <class T>
T all_reduce(const Communicator& communicator, T value, MPI_Datatype type, MPI_Op op) {
  struct Values {
    T mine, result;
  };
  const auto values = std::make_shared<Values>(Values{value, T{}});
  collective(communicator, "MPI_Iallreduce", values, [&](MPI_Comm comm, MPI_Request* request) {
    return MPI_Iallreduce(&values->mine, &values->result, 1, type, op, comm, request);
  });
  return values->result;
}

template <class T>
std::vector<T> values_of_all(const Communicator& communicator, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  struct Values {
    T mine;
    std::vector<T> all;
  };
  const auto values = std::make_shared<Values>(
      Values{value, std::vector<T>(static_cast<std::size_t>(communicator.size()))});
  collective(communicator, "MPI_Iallgather", values, [&](MPI_Comm comm, MPI_Request* request) {
    return MPI_Iallgather(&values->mine, sizeof(T), MPI_BYTE, values->all.data(), sizeof(T),
                          MPI_BYTE, comm, request);
  });
  return values->all;
}

/// NaN if any value is NaN.
double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) {
    if (std::isnan(value)) return value;
    most = std::max(most, value);
  }
  return most;
}

double in_order(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Ranks that work while the others wait.
struct Workers {
  int root;  ///< one of them
  int count;
};

/// Runs `work` where `is_mine`, while the others wait without a limit; throws its error on every
/// rank.
void on_some(const Communicator& communicator, const Workers& workers, bool is_mine,
             const std::function<void()>& work) {
  std::optional<Error> error;
  if (is_mine) error = error_of(work);
  if (error && error->kind() == ErrorKind::communication && workers.count > 1) throw Error(*error);
  int kind = error ? static_cast<int>(error->kind()) : -1;
  collective(
      communicator, "MPI_Ibcast", nullptr,
      [&](MPI_Comm comm, MPI_Request* request) {
        return MPI_Ibcast(&kind, 1, MPI_INT, workers.root, comm, request);
      },
      Wait::Limit::none);
  if (kind < 0) return;
  throw Error(static_cast<ErrorKind>(kind),
              broadcast(communicator, error ? error->what() : "", workers.root));
}

constexpr int nowhere = -1;

/// Returns a communicator of the ranks that pass a place in it; nothing on the others.
std::optional<Communicator> part_of(const Communicator& communicator, int place,
                                    const Settings& settings) {
  State& state = communicator.state();
  MPI_Comm part = MPI_COMM_NULL;
  block(state, "MPI_Comm_split", [&] {
    return MPI_Comm_split(state.all(), place == nowhere ? MPI_UNDEFINED : 0, std::max(place, 0),
                          &part);
  });
  if (part == MPI_COMM_NULL) return std::nullopt;
  const Communicator result(std::make_shared<State>(part, settings));
  check(MPI_Comm_free(&part), "MPI_Comm_free");
  return result;
}

}  // namespace

Recorder& recorder(const Communicator& communicator) { return communicator.state().recorder(); }

MpiFamily family() {
#ifdef OPEN_MPI
  return MpiFamily::open_mpi;
#elif defined(MPI_ABI_VERSION)  // in both families: the library tells
  return library_version().starts_with("Open MPI") ? MpiFamily::open_mpi : MpiFamily::mpich;
#else
  return MpiFamily::mpich;
#endif
}

std::string library_version() {
  // Of any MPI, also of one with longer texts than the one that this was compiled with.
  std::array<char, std::max(MPI_MAX_LIBRARY_VERSION_STRING, 8192)> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  // "Open MPI v4.1.4, package: …"; "MPICH Version:\t4.0.2\nMPICH Release date: …"
  std::istringstream words{std::string(all.substr(0, all.find_first_of(",\n")))};
  std::string version;
  for (std::string word; words >> word;) {
    if (word == "Version:") continue;
    if (!version.empty()) version += ' ';
    version += word[0] == 'v' ? word.substr(1) : word;
  }
  return version;
}

void abort(const Communicator& communicator, int exit_code) {
  // MPICH 4.0 over UCX first waits for ranks that may be waiting for a GPU, and so make no call of
  // MPI. Launchers end a job of which a rank has ended.
  std::thread([exit_code] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    std::_Exit(exit_code);
  }).detach();
  MPI_Abort(communicator.state().all(), exit_code);
  std::_Exit(exit_code);
}

void set_stall_handler(const Communicator& communicator,
                       std::function<void(const std::string&)> on_stall) {
  State& state = communicator.state();
  state.watchdog().set_handler(std::move(on_stall), state.settings().wait_limit);
}

void barrier(const Communicator& communicator) {
  collective(communicator, "MPI_Ibarrier", nullptr,
             [](MPI_Comm comm, MPI_Request* request) { return MPI_Ibarrier(comm, request); });
}

double max_over_ranks(const Communicator& communicator, double value) {
  return all_reduce(communicator, value, MPI_DOUBLE, MPI_MAX);
}

std::int64_t max_over_ranks(const Communicator& communicator, std::int64_t value) {
  return all_reduce(communicator, value, MPI_INT64_T, MPI_MAX);
}

std::uint64_t sum_over_ranks(const Communicator& communicator, std::uint64_t value) {
  return all_reduce(communicator, value, MPI_UINT64_T, MPI_SUM);
}

std::vector<std::uint64_t> sum_over_ranks(const Communicator& communicator,
                                          std::vector<std::uint64_t> values) {
  struct Values {
    std::vector<std::uint64_t> mine, all;
  };
  const std::size_t count = values.size();
  const auto kept =
      std::make_shared<Values>(Values{std::move(values), std::vector<std::uint64_t>(count)});
  collective(communicator, "MPI_Iallreduce", kept, [&](MPI_Comm comm, MPI_Request* request) {
    return MPI_Iallreduce(kept->mine.data(), kept->all.data(), checked_cast<int>(count),
                          MPI_UINT64_T, MPI_SUM, comm, request);
  });
  return std::move(kept->all);
}

std::vector<double> gather_all(const Communicator& communicator, double value) {
  return values_of_all(communicator, value);
}

std::vector<Box> gather_all(const Communicator& communicator, const Box& value) {
  return values_of_all(communicator, value);
}

double sum_in_rank_order(const Communicator& communicator, double value) {
  return in_order(gather_all(communicator, value));
}

std::string broadcast(const Communicator& communicator, std::string text, int root) {
  struct Values {
    std::int64_t length;
    std::string text;
  };
  const auto values =
      std::make_shared<Values>(Values{static_cast<std::int64_t>(text.size()), std::move(text)});
  collective(communicator, "MPI_Ibcast", values, [&](MPI_Comm comm, MPI_Request* request) {
    return MPI_Ibcast(&values->length, 1, MPI_INT64_T, root, comm, request);
  });
  values->text.resize(static_cast<std::size_t>(values->length));
  collective(communicator, "MPI_Ibcast", values, [&](MPI_Comm comm, MPI_Request* request) {
    return MPI_Ibcast(values->text.data(), checked_cast<int>(values->length), MPI_CHAR, root, comm,
                      request);
  });
  return values->text;
}

std::vector<std::string> gather_texts(const Communicator& communicator, const std::string& text) {
  std::vector<std::string> texts;
  const std::vector<double> lengths = gather_all(communicator, static_cast<double>(text.size()));
  if (communicator.rank() != 0) {
    send(communicator, 0, std::as_bytes(std::span(text)));
    return texts;
  }
  texts.push_back(text);
  for (int rank = 1; rank < communicator.size(); ++rank) {
    std::string other(static_cast<std::size_t>(lengths[static_cast<std::size_t>(rank)]), ' ');
    receive(communicator, rank, std::as_writable_bytes(std::span(other)));
    texts.push_back(std::move(other));
  }
  return texts;
}

std::string first_text(const Communicator& communicator, const std::string& text) {
  std::string first;
  for (const std::string& one : gather_texts(communicator, text))
    if (first.empty()) first = one;
  return broadcast(communicator, first, 0);
}

void send(const Communicator& communicator, int to, std::span<const std::byte> bytes) {
  State& state = communicator.state();
  const auto piece = static_cast<std::size_t>(state.settings().piece_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto count = static_cast<int>(std::min(piece, bytes.size() - at));
    check(MPI_Isend(bytes.data() + at, count, MPI_BYTE, to, bulk_tag, state.all(), &request),
          "MPI_Isend");
    wait_all(
        state, {&request, 1},
        {.site = "MPI_Isend", .phase = Phase::other, .missing = {}, .limit = Wait::Limit::none});
  }
}

void receive(const Communicator& communicator, int from, std::span<std::byte> bytes) {
  State& state = communicator.state();
  const auto piece = static_cast<std::size_t>(state.settings().piece_bytes);
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto count = static_cast<int>(std::min(piece, bytes.size() - at));
    check(MPI_Irecv(bytes.data() + at, count, MPI_BYTE, from, bulk_tag, state.all(), &request),
          "MPI_Irecv");
    wait_all(
        state, {&request, 1},
        {.site = "MPI_Irecv", .phase = Phase::other, .missing = {}, .limit = Wait::Limit::none});
  }
}

void together(const Communicator& communicator, const std::function<void()>& work) {
  const std::optional<Error> mine = error_of(work);
  const int ranks = communicator.size();
  const std::vector<double> failed = gather_all(communicator, mine ? 1 : 0);
  const auto first = std::find(failed.begin(), failed.end(), 1.0);
  if (first == failed.end()) return;

  const int rank = static_cast<int>(first - failed.begin());
  const auto kind = static_cast<ErrorKind>(
      all_reduce(communicator, communicator.rank() == rank ? static_cast<int>(mine->kind()) : 0,
                 MPI_INT, MPI_MAX));
  const std::string text = broadcast(communicator, mine ? mine->what() : "", rank);
  const bool all_failed = std::count(failed.begin(), failed.end(), 1.0) == ranks;
  throw Error(kind, all_failed ? text : fmt::format("rank {}: {}", rank, text));
}

void on_first_rank(const Communicator& communicator, const std::function<void()>& work) {
  on_first_ranks(communicator, 1, work);
}

void on_first_ranks(const Communicator& communicator, int count,
                    const std::function<void()>& work) {
  on_some(communicator, {.root = 0, .count = count}, communicator.rank() < count, work);
}

std::optional<Communicator> first_ranks(const Communicator& communicator, int count) {
  return part_of(communicator, communicator.rank() < count ? communicator.rank() : nowhere,
                 settings_of(communicator));
}

void on_two_ranks(const Communicator& communicator, int first, int second,
                  const std::function<void()>& work) {
  on_some(communicator, {.root = first, .count = 2},
          communicator.rank() == first || communicator.rank() == second, work);
}

std::optional<Communicator> two_ranks(const Communicator& communicator, int first, int second) {
  Settings settings = settings_of(communicator);
  if (settings.ranks_per_node > 0)
    settings.ranks_per_node = communicator.node_of(first) == communicator.node_of(second) ? 2 : 1;
  const int me = communicator.rank();
  return part_of(communicator, me == first ? 0 : me == second ? 1 : nowhere, settings);
}

void require_same(const Communicator& communicator, const std::string& what,
                  const std::vector<std::string>& lines) {
  std::string mine;
  for (const std::string& line : lines) mine += line + '\n';
  const std::string first = broadcast(communicator, mine, 0);
  const std::vector<double> differs = gather_all(communicator, mine == first ? 0 : 1);
  const auto other = std::find(differs.begin(), differs.end(), 1.0);
  if (other == differs.end()) return;

  const int rank = static_cast<int>(other - differs.begin());
  const std::string second = broadcast(communicator, mine, rank);
  const auto line_of = [](const std::string& text, std::size_t at) {
    const std::size_t end = text.find('\n', at);
    return end == std::string::npos ? std::string("nothing") : text.substr(at, end - at);
  };
  std::size_t start = 0;  // of the first line that differs
  for (std::size_t i = 0; i < std::min(first.size(), second.size()) && first[i] == second[i]; ++i)
    if (first[i] == '\n') start = i + 1;
  throw Error(ErrorKind::usage,
              fmt::format("the ranks' {} differ: rank 0 has «{}», rank {} has «{}»; every rank "
                          "must make the same calls with the same arguments",
                          what, line_of(first, start), rank, line_of(second, start)));
}

// Gathered, not reduced: MPI_SUM may add in another order each time, and the norm must not depend
// on it. 8 bytes from each rank.
struct NonblockingAllReduce::Pending {
  explicit Pending(const Communicator& c) : communicator(c) {}
  Communicator communicator;
  std::vector<double> mine, all, reduced;  // all: rank by rank
  Kind kind = Kind::max;
  MPI_Request request = MPI_REQUEST_NULL;
  bool in_flight = false;
};

NonblockingAllReduce::NonblockingAllReduce(const Communicator& communicator)
    : pending_(std::make_unique<Pending>(communicator)) {}

NonblockingAllReduce::~NonblockingAllReduce() {
  // In flight only after an error, when the other ranks may have none.
  if (pending_->in_flight) keep_for_mpi(std::move(pending_));
}

void NonblockingAllReduce::start(Kind kind, std::span<const double> values) {
  Pending& p = *pending_;
  p.kind = kind;
  p.mine.assign(values.begin(), values.end());
  p.all.resize(values.size() * static_cast<std::size_t>(p.communicator.size()));
  const int count = checked_cast<int>(values.size());
  State& state = p.communicator.state();
  const Span span(state.recorder(), Phase::reduce, "norm, start");
  check(MPI_Iallgather(p.mine.data(), count, MPI_DOUBLE, p.all.data(), count, MPI_DOUBLE,
                       state.all(), &p.request),
        "MPI_Iallgather");
  p.in_flight = true;
}

const std::vector<double>& NonblockingAllReduce::finish_all() {
  Pending& p = *pending_;
  wait_all(p.communicator.state(), {&p.request, 1},
           {.site = "norm, wait", .phase = Phase::reduce, .missing = [] {
              return std::string("every rank's norm");
            }});
  p.in_flight = false;
  const std::size_t count = p.mine.size();
  p.reduced.resize(count);
  std::vector<double> of_ranks(p.all.size() / count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank)
      of_ranks[rank] = p.all[rank * count + i];
    p.reduced[i] = p.kind == Kind::max ? largest(of_ranks) : in_order(of_ranks);
  }
  return p.reduced;
}

bool NonblockingAllReduce::in_flight() const { return pending_->in_flight; }

}  // namespace halocline::comm
