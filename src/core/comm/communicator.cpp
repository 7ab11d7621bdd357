// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/communicator.hpp>
#include <halocline/error.hpp>
#include <halocline/mpi.hpp>

#include "base/process/allowed_cores.hpp"
#include "base/process/mapped_files.hpp"
#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/start.hpp"
#include "comm/state.hpp"

namespace halocline {
namespace comm {

namespace {

/// Returns a clause about the MPI libraries in this process if there are several: the one that is
/// initialised may be another than ours.
std::string other_mpi() {
  std::vector<std::string> libraries;
  // Not those for Fortran and C++ that come with them.
  for (const char* name : {"libmpi.so", "libmpi_abi.so", "libmpich.so"})
    for (const std::filesystem::path& path : mapped_files(name)) libraries.push_back(path.string());
  if (libraries.size() < 2) return "";
  return fmt::format(
      "; this process has several MPI libraries loaded, {}: if the program has called MPI_Init, "
      "Halocline uses another one; build or install both for the same",
      fmt::join(libraries, " and "));
}

}  // namespace

MpiPhase mpi_phase() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return finalized != 0 ? MpiPhase::over : initialized != 0 ? MpiPhase::running : MpiPhase::before;
}

void require_mpi() {
  switch (mpi_phase()) {
    case MpiPhase::running:
      return;
    case MpiPhase::before:
      throw Error(ErrorKind::usage,
                  "MPI is not initialised: create a halocline::Runtime first, or call MPI_Init" +
                      other_mpi());
    case MpiPhase::over:
      throw Error(ErrorKind::usage, "MPI is finalised; call Halocline before MPI_Finalize");
  }
}

void require_same_mpi() {
  const std::string running = library_version();
  const bool is_open = running.starts_with("Open MPI"),
             is_mpich = running.find("MPICH") != std::string::npos ||
                        running.find("Intel(R) MPI") != std::string::npos;
  // An MPI with a name of its own is taken for the right one.
  if (family() == MpiFamily::open_mpi ? !is_mpich : !is_open) return;
  throw Error(ErrorKind::unavailable,
              fmt::format("this program runs {}, but this Halocline was built with {}; build both "
                          "with the same MPI",
                          running, family() == MpiFamily::open_mpi ? "Open MPI" : "MPICH"));
}

State::State(MPI_Comm source, const Settings& settings) : settings_(settings) {
  check(MPI_Comm_dup(source, &all_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int size = 0;
  check(MPI_Comm_rank(all_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(all_, &size), "MPI_Comm_size");
  node_of_.resize(static_cast<std::size_t>(size));
  void* value = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(all_, MPI_TAG_UB, static_cast<void*>(&value), &found),
        "MPI_Comm_get_attr");
  if (found != 0) largest_tag_ = *static_cast<int*>(value);
  find_nodes();
  count_cores();
}

State::~State() {
  kept_.clear();
  if (others_may_be_gone()) return;
  MPI_Comm_free(&node_);
  MPI_Comm_free(&all_);
}

bool State::others_may_be_gone() const {
  return given_up_ || std::uncaught_exceptions() > 0 || mpi_phase() != MpiPhase::running;
}

void State::find_nodes() {
  if (settings_.ranks_per_node > 0) {
    check(MPI_Comm_split(all_, rank_ / settings_.ranks_per_node, rank_, &node_), "MPI_Comm_split");
  } else {
    check(MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_),
          "MPI_Comm_split_type");
  }
  check(MPI_Comm_set_errhandler(node_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_size(node_, &node_size_), "MPI_Comm_size");
  // A node is identified by its lowest rank; nodes are numbered in that order.
  int lowest = rank_;
  check(MPI_Bcast(&lowest, 1, MPI_INT, 0, node_), "MPI_Bcast");
  check(MPI_Allgather(&lowest, 1, MPI_INT, node_of_.data(), 1, MPI_INT, all_), "MPI_Allgather");
  std::vector<int> firsts(node_of_);
  std::sort(firsts.begin(), firsts.end());
  firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  for (int& node : node_of_)
    node = static_cast<int>(std::lower_bound(firsts.begin(), firsts.end(), node) - firsts.begin());
  node_count_ = static_cast<int>(firsts.size());
}

void State::count_cores() {
  // More cores than this type can count are enough.
  constexpr std::size_t bits = 64;
  std::array<std::uint64_t, 16> together{};
  for (const int core : allowed_cores()) {
    const auto bit = static_cast<std::size_t>(core);
    if (bit < together.size() * bits) together[bit / bits] |= std::uint64_t{1} << bit % bits;
  }
  // Simulated nodes share one machine's cores.
  const MPI_Comm sharing = settings_.ranks_per_node > 0 ? all_ : node_;
  check(MPI_Allreduce(MPI_IN_PLACE, together.data(), static_cast<int>(together.size()),
                      MPI_UINT64_T, MPI_BOR, sharing),
        "MPI_Allreduce");
  int count = 0, ranks = 0;
  for (const std::uint64_t word : together) count += std::popcount(word);
  check(MPI_Comm_size(sharing, &ranks), "MPI_Comm_size");
  crowded_ = count > 0 && ranks > count;
}

int State::next_tag() {
  constexpr int first_tag = 1000;  // below: the collectives' own messages
  last_tag_ = last_tag_ < first_tag || last_tag_ >= largest_tag_ ? first_tag : last_tag_ + 1;
  return last_tag_;
}

namespace {

Communicator make_communicator(MPI_Comm source, const Settings& settings) {
  require_mpi();
  require_same_mpi();
  if (source == MPI_COMM_NULL)
    throw Error(ErrorKind::usage,
                "the communicator is null: pass one that this rank belongs to; C passes "
                "MPI_Comm_c2f of it");
  if (!settings.may_be_alone)
    if (const std::optional<std::string> why = why_alone())
      throw Error(ErrorKind::unavailable, *why);
  if (settings.piece_bytes < 1 || settings.piece_bytes > std::numeric_limits<int>::max())
    throw Error(ErrorKind::usage,
                fmt::format("messages cannot be cut into pieces of {} bytes; give 1 to {}",
                            settings.piece_bytes, std::numeric_limits<int>::max()));
  return Communicator(std::make_shared<State>(source, settings));
}

}  // namespace

Communicator world(const Settings& settings) { return make_communicator(MPI_COMM_WORLD, settings); }

const Settings& settings_of(const Communicator& communicator) {
  return communicator.state().settings();
}

}  // namespace comm

Runtime::Runtime() {
  if (comm::mpi_phase() != comm::MpiPhase::before) {
    comm::require_mpi();
    return;
  }
  const int provided = comm::start_mpi(MPI_THREAD_FUNNELED);
  started_ = true;
  if (provided < MPI_THREAD_FUNNELED)
    throw Error(ErrorKind::unavailable,
                "this MPI does not support programs with several threads (MPI_THREAD_FUNNELED); "
                "use an MPI built with thread support");
}

Runtime::~Runtime() {
  // The program may have finalised MPI itself.
  if (started_ && comm::mpi_phase() == comm::MpiPhase::running) MPI_Finalize();
}

Communicator Communicator::world(const CommunicatorOptions& options) {
  return from_mpi(MPI_COMM_WORLD, options);
}

Communicator Communicator::self(const CommunicatorOptions& options) {
  return from_mpi(MPI_COMM_SELF, options);
}

Communicator from_mpi(MPI_Comm source, const CommunicatorOptions& options) {
  return comm::make_communicator(source, {.wait_limit = options.wait_limit});
}

int Communicator::rank() const { return state_->rank(); }
int Communicator::size() const { return state_->size(); }
int Communicator::node_of(int rank) const { return state_->node_of(rank); }
int Communicator::node_count() const { return state_->node_count(); }
int Communicator::node_size() const { return state_->node_size(); }
CommunicatorOptions Communicator::options() const {
  return {.wait_limit = state_->settings().wait_limit};
}

}  // namespace halocline
