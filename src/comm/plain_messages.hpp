#pragma once
// MPI_Send and MPI_Recv as ordinary programs call them: to show that they work. Whatever is sent
// in earnest goes through collectives.hpp or a transport.

#include <cstddef>
#include <span>

#include <halocline/communicator.hpp>

namespace halocline::comm {

/// Both block inside MPI; only a stall handler (set_stall_handler()) ends a wait that takes too
/// long. At most 2 GiB.
void plain_send(const Communicator& communicator, int to, std::span<const std::byte> bytes);
void plain_receive(const Communicator& communicator, int from, std::span<std::byte> bytes);

}  // namespace halocline::comm
