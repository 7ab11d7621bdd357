// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include <halocline/mpi.hpp>
#include <halocline/mpi_fortran.hpp>

#include "comm/gate.hpp"
#include "comm/running.hpp"
#include "comm/state.hpp"

namespace halocline {
namespace {

/// The ABI that MPIs share has numbers of handles, but no type of Fortran.
MPI_Comm communicator_of(int number) {
#ifdef MPI_ABI_VERSION
  return MPI_Comm_fromint(number);
#else
  // NOLINTNEXTLINE(misc-redundant-expression): another type in other MPIs
  static_assert(sizeof(MPI_Fint) == sizeof(int), "bindings hold communicators as int");
  return MPI_Comm_f2c(number);
#endif
}

using Duplicates = std::vector<Communicator>;

/// MPI_Comm_free deletes a communicator's attributes, while all ranks are there.
int forget(MPI_Comm, int, void* duplicates, void*) {
  const std::unique_ptr<Duplicates> gone(static_cast<Duplicates*>(duplicates));
  return MPI_SUCCESS;
}

int key_of_duplicates() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    comm::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr),
                "MPI_Comm_create_keyval");
    return made;
  }();
  return key;
}

/// Returns what the attribute of a communicator lists.
Duplicates& duplicates_of(MPI_Comm source) {
  void* there = nullptr;
  int found = 0;
  comm::check(MPI_Comm_get_attr(source, key_of_duplicates(), static_cast<void*>(&there), &found),
              "MPI_Comm_get_attr");
  if (found != 0) return *static_cast<Duplicates*>(there);
  auto made = std::make_unique<Duplicates>();
  comm::check(MPI_Comm_set_attr(source, key_of_duplicates(), made.get()), "MPI_Comm_set_attr");
  return *made.release();
}

bool is_on_all_ranks(MPI_Comm source, bool is_here) {
  int here = is_here ? 1 : 0, everywhere = 0;
  comm::check(MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, source), "MPI_Allreduce");
  return everywhere != 0;
}

}  // namespace

Communicator from_mpi_fortran(int communicator, const CommunicatorOptions& options) {
  comm::require_mpi();
  comm::require_same_mpi();
  const MPI_Comm source = communicator_of(communicator);
  if (source == MPI_COMM_NULL) return from_mpi(source, options);  // which refuses it
  Duplicates& duplicates = duplicates_of(source);
  const auto is_like_it = [&](const Communicator& one) {
    return one.options().wait_limit == options.wait_limit;
  };
  const auto known = std::find_if(duplicates.begin(), duplicates.end(), is_like_it);
  const bool is_here = known != duplicates.end() && !known->state().has_given_up();
  if (is_on_all_ranks(source, is_here)) return *known;
  std::erase_if(duplicates, is_like_it);
  return duplicates.emplace_back(from_mpi(source, options));
}

}  // namespace halocline
