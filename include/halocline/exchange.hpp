// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exchange: fills the halos of fields with the neighbours' values.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/stream.hpp>

namespace halocline {

struct ExchangeOptions {
  Neighbours neighbours = Neighbours::all;
  /// Widths to fill, in cells; by default each field's halo.
  std::optional<HaloWidths> widths{};
  /// "auto", the name of one transport for every peer, or one per kind of pair:
  /// "self=self,same-node=shared,other-node=mpi". nccl and nvshmem need `same_order`, whether it is
  /// set or not.
  std::string transport = "auto";
  /// File of proofs that MPI accepts GPU memory; by default the one in the user's cache. Without a
  /// proof, "auto" does not use gpu_aware, which might crash.
  std::optional<std::string> proofs{};
  /// Promises that every rank starts all exchanges of this communicator in the same order, as a
  /// loop over time steps does. Then "auto" may use nccl, which matches messages by their order:
  /// with another order halos would be wrong, or a wait would never end.
  bool same_order = false;
};

/// The messages of one exchange of this rank, and the transports that carry them.
struct ExchangeInfo {
  std::int64_t messages = 0;  ///< sent to other ranks, one per peer
  std::int64_t bytes = 0;     ///< sent to other ranks, in all messages
  /// (kind of pair, transport), for the kinds that occur on any rank.
  std::vector<std::pair<std::string, std::string>> transports;
  /// A transport that "auto" timed with messages of these sizes.
  struct Race {
    std::string pair, transport;
    double microseconds;  ///< per exchange, on the slowest rank
  };
  std::vector<Race> races;
  std::vector<std::string> notes;  ///< fallbacks, as sentences

  /// Returns the value of ExchangeOptions::transport that selects the same transports again:
  /// "self=self,same-node=peer".
  std::string transport() const;
};

using FieldList = std::vector<std::reference_wrapper<const FieldStorage>>;

/// A plan to fill the halos of some fields, made once and run many times: all fields, faces, edges
/// and corners in one stage, with one message per peer. Between start() and finish() the program
/// may read, but not write, owned cells within a halo's width of the boundary, and may neither read
/// nor write the halo. Call finish() before the next start(). Several exchanges may be in flight
/// and finish in any order. Threads: see halocline.hpp.
///
/// An exchange writes the halo cells, within its widths, that lie in the domain or, along periodic
/// axes, in the domain once wrapped around. Each gets the value of the cell that a rank
/// owns there. Halo cells beyond an edge of the domain along an axis that is not periodic keep
/// their values, which the program sets; also those in the corner between such an edge and a
/// neighbour's side. With Neighbours::faces so do all cells that lie outside the owned box along
/// more than one axis. Owned cells and what lies between the values of a wrapped array are never
/// written.
class Exchange {
 public:
  /// Plans the exchange, opens transports and, where "auto" has a choice, times them. Collective.
  /// The exchange owns its buffers; the fields' memory must outlive it, unless each call names the
  /// arrays. Throws, on every rank, usage if the ranks' plans differ (the message names the
  /// difference), a field is listed twice, or a width exceeds a field's halo or a neighbour's cells
  /// (the message names a process grid that fits, if there is one); unavailable if the named
  /// transport cannot reach a peer.
  Exchange(const Communicator& communicator, const Grid& grid, const FieldList& fields,
           const ExchangeOptions& options = {});
  /// Waits, within the wait limit, for an exchange still in flight. Collective: all ranks destroy
  /// their exchanges in the same order.
  ~Exchange();
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;

  /// Sends the values that earlier work on `stream` has written. On the host stream, that work must
  /// be done. Waits for no rank. Throws usage if the exchange is in flight, and while a CUDA graph
  /// records the stream if a transport needs the host in every exchange (staged, gpu_aware, mpi).
  void start(Stream stream = Stream::host());
  /// Advances transports that need the host; returns true once finish() would not wait.
  bool progress();
  /// Makes the halos visible to later work on `stream`. Blocks on the host stream, and where a
  /// transport needs the host. Throws usage if the exchange is not in flight, communication if a
  /// peer does not answer within the wait limit.
  void finish(Stream stream = Stream::host());
  /// start(), then finish().
  void run(Stream stream = Stream::host());

  /// The same for other arrays in the place of the plan's fields: each has the shape, layout and
  /// kind of memory of one of them, in their order. They may be others at each call, and on each
  /// rank; finish() fills those of start(). A CUDA graph keeps the arrays that it was recorded
  /// with. Costs no more than with the plan's own, whose memory need not exist any more. Throws
  /// usage if an array differs; where GPUs copy also if its address does not differ from that of
  /// the plan's field by a multiple of 16 bytes, and for other arrays of more than 32 fields.
  void start(const FieldList& fields, Stream stream = Stream::host());
  void run(const FieldList& fields, Stream stream = Stream::host());
  /// The same by the addresses of the first owned cells; nothing else about the arrays is checked.
  void start_at(std::span<void* const> first_owned, Stream stream = Stream::host());
  void run_at(std::span<void* const> first_owned, Stream stream = Stream::host());

  const ExchangeInfo& info() const;

  /// Gives the exchange up without the order that its destructor needs: ranks free the memory that
  /// they share together. It is destroyed, with what `kept` points to, when an exchange of the
  /// communicator is planned and all ranks have parked this one; not at all if none is. For
  /// finalisers, which run at any time, on any thread. Halos of an exchange in flight are not
  /// filled, and its arrays have to exist until then. Not collective.
  static void park(Exchange&& exchange, std::shared_ptr<void> kept = nullptr);

 protected:
  // For exchanges that the library makes for itself.
  class Plan;
  explicit Exchange(std::unique_ptr<Plan> plan);

 private:
  friend class LevelExchange;
  std::vector<void*> add(const FieldList& fields, const std::string& whose);

  std::unique_ptr<Plan> plan_;
};

/// The exchanges of a program with time levels: fields of the same shapes, used in turn.
///
///     LevelExchange halos(world, grid, {{u[0], v[0]}, {u[1], v[1]}});
///     halos.run(step % 2);
///
/// It is one Exchange, which takes the arrays of a level in turn.
class LevelExchange {
 public:
  /// Plans the exchange: levels[k] lists the fields of level k, in the same order for every level.
  /// Collective. The fields' memory must outlive it. Throws, on every rank, as the constructor of
  /// Exchange does, and usage if there are no levels, or as Exchange::start() does for arrays of
  /// another level than the first.
  LevelExchange(const Communicator& communicator, const Grid& grid,
                const std::vector<FieldList>& levels, const ExchangeOptions& options = {});

  /// Each calls the member of Exchange of the same name, for the fields of one level, counted from
  /// 0. Throws usage for a level that does not exist. One level is in flight at a time.
  void start(std::int64_t level, Stream stream = Stream::host());
  bool progress() { return plan_.progress(); }
  void finish(Stream stream = Stream::host()) { plan_.finish(stream); }
  void run(std::int64_t level, Stream stream = Stream::host());

  std::int64_t levels() const { return static_cast<std::int64_t>(first_owned_.size()); }
  /// Returns the messages and transports of an exchange, the same for every level.
  const ExchangeInfo& info() const { return plan_.info(); }

 private:
  const std::vector<void*>& arrays_of(std::int64_t level) const;

  Exchange plan_;
  std::vector<std::vector<void*>> first_owned_;  // of each level's fields
};

}  // namespace halocline
