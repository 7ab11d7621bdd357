// SPDX-License-Identifier: Apache-2.0
#include "probe/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <fmt/format.h>

#include "comm/collectives.hpp"
#include "device/queue.hpp"
#include "mpi/mpi_messages.hpp"
#include "proof/pattern.hpp"

namespace halocline::probe {
namespace {

constexpr auto allreduce = collectives[0], broadcast = collectives[1], allgather = collectives[2];

}  // namespace

Collective::Collective(const Communicator& communicator, const Path& path, std::int64_t bytes)
    : communicator_(communicator),
      name_(path.transport),
      bytes_(bytes),
      result_bytes_(name_ == allgather ? bytes * communicator.size() : bytes) {
  comm::together(communicator, [&] {
    mine_ = device::allocate(path.memory, bytes_, path.allocator);
    result_ = device::allocate(path.memory, result_bytes_, path.allocator);
  });
}

void Collective::call() {
  if (name_ == allreduce)
    mpi::mpi_allreduce(communicator_, static_cast<const double*>(mine_.get()),
                       static_cast<double*>(result_.get()), bytes_ / std::int64_t{sizeof(double)});
  else if (name_ == broadcast)
    mpi::mpi_broadcast(communicator_, result_.get(), bytes_, root_);
  else
    mpi::mpi_allgather(communicator_, mine_.get(), result_.get(), bytes_);
}

std::string Collective::prove() {
  for (int round = 0; round < 2; ++round)
    if (const std::string wrong = comm::first_text(communicator_, prove_round(round));
        !wrong.empty())
      return wrong;
  return "";
}

Collective::Bytes Collective::given_by(int rank, int round) const {
  Bytes bytes(static_cast<std::size_t>(bytes_));
  if (name_ != allreduce) {
    proof::fill(bytes.data(), bytes_, proof::seed_of(rank, rank, round));
    return bytes;
  }
  // Small whole numbers, whose sum is exact in any order.
  std::vector<double> numbers(bytes.size() / sizeof(double));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<double>(i % 1021 + static_cast<std::size_t>(rank + round + 1));
  std::memcpy(bytes.data(), numbers.data(), numbers.size() * sizeof(double));
  return bytes;
}

Collective::Bytes Collective::expected(int round) const {
  if (name_ == broadcast) return given_by(root_, round);
  Bytes all;
  std::vector<double> sums(static_cast<std::size_t>(bytes_) / sizeof(double));
  for (int rank = 0; rank < communicator_.size(); ++rank) {
    const Bytes given = given_by(rank, round);
    if (name_ == allgather) {
      all.insert(all.end(), given.begin(), given.end());
      continue;
    }
    std::vector<double> numbers(sums.size());
    std::memcpy(numbers.data(), given.data(), given.size());
    std::transform(sums.begin(), sums.end(), numbers.begin(), sums.begin(), std::plus<>());
    all.resize(given.size());
  }
  if (name_ == allreduce) std::memcpy(all.data(), sums.data(), all.size());
  return all;
}

std::string Collective::prove_round(int round) {
  const int me = communicator_.rank();
  root_ = round == 0 ? 0 : communicator_.size() - 1;
  const Bytes mine = given_by(me, round);
  device::copy(mine_.get(), mine.data(), bytes_, Stream::host());
  // The root's result buffer holds the data of a broadcast; all other buffers are overwritten.
  device::copy(result_.get(), mine.data(), bytes_, Stream::host());
  call();
  Bytes result(static_cast<std::size_t>(result_bytes_));
  device::copy(result.data(), result_.get(), result_bytes_, Stream::host());
  const Bytes due = expected(round);
  const auto differs = std::mismatch(due.begin(), due.end(), result.begin()).first;
  if (differs == due.end()) return "";
  return fmt::format("byte {} of {} that rank {} received is wrong", differs - due.begin(),
                     result_bytes_, me);
}

}  // namespace halocline::probe
