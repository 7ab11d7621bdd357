#include "comm/plain_messages.hpp"

#include "base/checked.hpp"
#include "comm/gate.hpp"

namespace halocline::comm {
namespace {

constexpr int tag = 2;  // 1 is that of bulk messages, those of channels begin at 1000

}  // namespace

void plain_send(const Communicator& communicator, int to, std::span<const std::byte> bytes) {
  State& state = communicator.state();
  block(state, "MPI_Send", [&] {
    return MPI_Send(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, to, tag, state.all());
  });
}

void plain_receive(const Communicator& communicator, int from, std::span<std::byte> bytes) {
  State& state = communicator.state();
  block(state, "MPI_Recv", [&] {
    return MPI_Recv(bytes.data(), checked_cast<int>(bytes.size()), MPI_BYTE, from, tag, state.all(),
                    MPI_STATUS_IGNORE);
  });
}

}  // namespace halocline::comm
