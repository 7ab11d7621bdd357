// SPDX-License-Identifier: Apache-2.0
#include "comm/second_thread.hpp"

#include <mpi.h>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "comm/gate.hpp"
#include "comm/state.hpp"

namespace halocline::comm {
namespace {

int level() {
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&provided), "MPI_Query_thread");
  return provided;
}

}  // namespace

std::string thread_support() {
  switch (level()) {
    case MPI_THREAD_MULTIPLE:
      return "MPI_THREAD_MULTIPLE";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    default:
      return "MPI_THREAD_SINGLE";
  }
}

bool any_thread_may_call() { return level() == MPI_THREAD_MULTIPLE; }

std::string no_thread_because(const Communicator& communicator) {
  return first_text(communicator, any_thread_may_call()
                                      ? ""
                                      : fmt::format("MPI runs with {}, and a second thread needs "
                                                    "MPI_THREAD_MULTIPLE",
                                                    thread_support()));
}

Communicator for_thread(const Communicator& communicator) {
  Settings settings = settings_of(communicator);
  settings.is_for_thread = true;
  return Communicator(std::make_shared<State>(communicator.state().all(), settings));
}

void give_up(const Communicator& communicator) { communicator.state().give_up(); }

}  // namespace halocline::comm
