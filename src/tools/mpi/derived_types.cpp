// SPDX-License-Identifier: Apache-2.0
#include "mpi/derived_types.hpp"

#include <iterator>

#include "base/checked.hpp"
#include "comm/collectives.hpp"
#include "comm/gate.hpp"

namespace halocline::mpi {
namespace {

/// A committed datatype.
class Type {
 public:
  explicit Type(const Subarray& of) {
    const MPI_Datatype element = element_of(of.element_bytes);
    const std::vector<int> sizes = ints(of.sizes), box = ints(of.box), starts = ints(of.starts);
    comm::check(MPI_Type_create_subarray(checked_cast<int>(std::ssize(sizes)), sizes.data(),
                                         box.data(), starts.data(), MPI_ORDER_C, element, &type_),
                "MPI_Type_create_subarray");
    comm::check(MPI_Type_commit(&type_), "MPI_Type_commit");
  }
  ~Type() {
    if (comm::mpi_phase() != comm::MpiPhase::running) return;
    for (MPI_Datatype* type : {&type_, &bytes_})
      if (*type != MPI_DATATYPE_NULL) MPI_Type_free(type);
  }
  Type(const Type&) = delete;
  Type& operator=(const Type&) = delete;

  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype element_of(std::int64_t bytes) {
    if (bytes == 4) return MPI_FLOAT;
    if (bytes == 8) return MPI_DOUBLE;
    comm::check(MPI_Type_contiguous(checked_cast<int>(bytes), MPI_BYTE, &bytes_),
                "MPI_Type_contiguous");
    return bytes_;
  }
  static std::vector<int> ints(const std::vector<std::int64_t>& numbers) {
    std::vector<int> result;
    for (const std::int64_t number : numbers) result.push_back(checked_cast<int>(number));
    return result;
  }

  MPI_Datatype type_ = MPI_DATATYPE_NULL, bytes_ = MPI_DATATYPE_NULL;
};

struct Message {
  std::byte* array;
  std::unique_ptr<Type> type;
  int peer, tag;
};

bool is_empty(const Subarray& subarray) { return subarray.box.empty(); }

}  // namespace

struct DerivedTypes::Inside {
  explicit Inside(const Communicator& whole) : communicator(whole) {}
  ~Inside() {
    if (own != MPI_COMM_NULL && !communicator.state().others_may_be_gone()) MPI_Comm_free(&own);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void add(const Swap& swap) {
    if (!is_empty(swap.in))
      received.push_back({swap.in.array, std::make_unique<Type>(swap.in), swap.peer, swap.tag_in});
    if (!is_empty(swap.out))
      sent.push_back({swap.out.array, std::make_unique<Type>(swap.out), swap.peer, swap.tag_out});
  }

  Communicator communicator;
  MPI_Comm own = MPI_COMM_NULL;  // keeps tags apart from other messages
  std::vector<Message> sent{}, received{};
  std::vector<MPI_Request> requests{};
};

DerivedTypes::DerivedTypes(const Communicator& communicator, const std::vector<Swap>& swaps)
    : inside_(std::make_unique<Inside>(communicator)) {
  Inside& p = *inside_;
  comm::block(communicator.state(), "MPI_Comm_dup",
              [&] { return MPI_Comm_dup(communicator.state().all(), &p.own); });
  comm::together(communicator, [&] {
    for (const Swap& swap : swaps) p.add(swap);
  });
  p.requests.resize(p.received.size() + p.sent.size(), MPI_REQUEST_NULL);
}

DerivedTypes::~DerivedTypes() = default;

void DerivedTypes::run() {
  Inside& p = *inside_;
  const comm::Watchdog::Guard guard(p.communicator.state().watchdog(),
                                    "an exchange by derived datatypes");
  MPI_Request* request = p.requests.data();
  for (const Message& each : p.received)
    comm::check(MPI_Irecv(each.array, 1, each.type->get(), each.peer, each.tag, p.own, request++),
                "MPI_Irecv");
  for (const Message& each : p.sent)
    comm::check(MPI_Isend(each.array, 1, each.type->get(), each.peer, each.tag, p.own, request++),
                "MPI_Isend");
  comm::check(MPI_Waitall(checked_cast<int>(std::ssize(p.requests)), p.requests.data(),
                          MPI_STATUSES_IGNORE),
              "MPI_Waitall");
}

}  // namespace halocline::mpi
