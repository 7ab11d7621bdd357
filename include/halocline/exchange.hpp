// SPDX-License-Identifier: Apache-2.0
#pragma once
// The exchange: fills the halos of fields with the neighbours' values.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>
#include <halocline/stream.hpp>

namespace halocline {

/// Which halo cells are filled: those across faces only, or across edges and corners too.
enum class Neighbours { faces, all };

struct ExchangeOptions {
  Neighbours neighbours = Neighbours::all;
  /// Widths to fill; left out, each field's own.
  std::optional<HaloWidths> widths{};
  /// "auto", the name of one transport for every peer, or one per kind of pair:
  /// "self=self,same-node=shared,other-node=mpi".
  std::string transport = "auto";
  /// File of proofs that MPI takes a GPU's memory; left out, the one in the user's cache. Without
  /// such a proof auto does not use gpu_aware, which might crash.
  std::optional<std::string> proofs{};
};

/// What an exchange is made of, on this rank.
struct ExchangeInfo {
  std::int64_t messages = 0;  ///< sent to other ranks, one per peer
  std::int64_t bytes = 0;     ///< sent to other ranks
  /// (kind of pair, transport), for the kinds that occur on any rank.
  std::vector<std::pair<std::string, std::string>> transports;
  /// One of the transports that auto timed with messages of these sizes, on the slowest rank.
  struct Race {
    std::string pair, transport;
    double microseconds;  ///< per exchange
  };
  std::vector<Race> races;
  std::vector<std::string> notes;  ///< fallbacks taken, in words

  /// What ExchangeOptions::transport says to get the same again: "self=self,same-node=peer".
  std::string transport() const;
};

using FieldList = std::vector<std::reference_wrapper<const FieldStorage>>;

/// A plan to fill the halos of some fields, made once and run many times: all fields, faces,
/// edges and corners in one stage, one message per peer. Needs nothing but a grid and fields.
/// Between start() and finish() the owned cells within a halo's width of the boundary may be
/// read but not written, and the halo neither; finish() before the next start(). Several
/// exchanges may be in flight and finish in any order.
class Exchange {
 public:
  /// Collective. Throws, on every rank, usage if the ranks' plans differ (naming the
  /// difference), if a width exceeds a field's halo or a neighbour's cells; unavailable if the
  /// named transport cannot reach a peer. The fields' memory must outlive the exchange.
  Exchange(const Communicator& communicator, const Grid& grid, const FieldList& fields,
           const ExchangeOptions& options = {});
  /// Waits, within the wait limit, for an exchange still in flight.
  ~Exchange();
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;

  /// Sends what earlier work on `stream` has written; host: what is done by now. Waits for no rank.
  void start(Stream stream = Stream::host());
  /// Moves transports on that need the host's help; true once finish() would not wait.
  bool progress();
  /// Lets later work on `stream` see the halos. Blocks if `stream` or a transport is the host's.
  /// Throws communication if a peer does not answer within the wait limit.
  void finish(Stream stream = Stream::host());
  /// start(), then finish().
  void run(Stream stream = Stream::host());

  const ExchangeInfo& info() const;

 private:
  class Plan;
  std::unique_ptr<Plan> plan_;
};

/// The exchanges of a program with time levels: fields of the same shapes that take turns.
///
///     LevelExchange halos(world, grid, {{u[0], v[0]}, {u[1], v[1]}});
///     halos.run(step % 2);
///
/// It holds an Exchange for each level, so what holds for Exchange holds for the fields of a
/// level. Transports are chosen once and serve all levels.
class LevelExchange {
 public:
  /// Plans an exchange for each level: levels[k] lists the fields of level k, in the same order
  /// for every level. Collective. Throws, on every rank, what making an Exchange throws, and usage
  /// for no levels or for levels that differ in the number of fields or in their memory, bytes per
  /// cell or halo. Takes the memory and connections of as many exchanges; transports are timed for
  /// the first level only. The fields' memory must outlive it.
  LevelExchange(const Communicator& communicator, const Grid& grid,
                const std::vector<FieldList>& levels, const ExchangeOptions& options = {});

  /// Exchange::start, progress, finish and run of the fields of one level, counted from 0; each
  /// throws usage for a level that is not there. Levels may be in flight at the same time; each is
  /// finished before it starts again.
  void start(std::int64_t level, Stream stream = Stream::host());
  bool progress(std::int64_t level);
  void finish(std::int64_t level, Stream stream = Stream::host());
  void run(std::int64_t level, Stream stream = Stream::host());

  std::int64_t levels() const { return static_cast<std::int64_t>(plans_.size()); }
  /// What one exchange of one level is made of: the same for every level.
  const ExchangeInfo& info() const { return info_; }

 private:
  Exchange& plan_of(std::int64_t level);

  std::vector<Exchange> plans_;  // one for each level
  ExchangeInfo info_;
};

}  // namespace halocline
