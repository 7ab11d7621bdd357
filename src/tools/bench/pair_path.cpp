// SPDX-License-Identifier: Apache-2.0
#include "bench/pair_path.hpp"

#include <vector>

#include <fmt/format.h>

#include <halocline/exchange.hpp>

#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "link/wait_for.hpp"
#include "mpi/mpi_messages.hpp"
#include "proof/pattern.hpp"

namespace halocline::bench {
namespace {

constexpr std::int64_t reply_bytes = 4;

/// Plain MPI calls on memory of this kind.
class MpiPath final : public PairPath {
 public:
  MpiPath(const Communicator& all, const PairPathOptions& options, int turn)
      : PairPath(options, turn),
        out_(device::allocate(options.memory, options.bytes)),
        in_(device::allocate(options.memory, options.bytes)),
        messages_(all,
                  {.peer = peer(),
                   .turn = is_first() ? mpi::PlainPair::Turn::first : mpi::PlainPair::Turn::second,
                   .out = out_.get(),
                   .in = in_.get(),
                   .bytes = options.bytes}) {}

  void round_trips(std::int64_t count) override { messages_.round_trips(count); }
  void one_way(std::int64_t count) override { messages_.one_way(count); }
  void both_ways(std::int64_t count) override { messages_.both_ways(count); }

 private:
  std::byte* out() const override { return static_cast<std::byte*>(out_.get()); }
  std::byte* in() const override { return static_cast<std::byte*>(in_.get()); }

  std::shared_ptr<void> out_, in_;
  mpi::PlainPair messages_;
};

/// A field of bytes on two ranks, each rank's bytes being the halo of the other. The halo widths
/// determine which rank sends.
class Row {
 public:
  Row(const Communicator& pair, const PairPathOptions& options, std::int64_t bytes)
      : grid_(pair.rank(), 2, {.cells = {2 * bytes}, .process_grid = {2}}),
        field_(grid_, {.name = "message", .halo = bytes, .memory = options.memory}) {}

  Exchange exchange(const Communicator& pair, const PairPathOptions& options,
                    const HaloWidths& widths) const {
    return Exchange(
        pair, grid_, {field_},
        {.neighbours = Neighbours::faces, .widths = widths, .transport = options.transport});
  }
  std::byte* owned() const { return field_.first_owned(); }
  std::byte* halo() const {
    const std::int64_t bytes = grid_.owned().extent().x;
    return field_.first_owned() + (grid_.rank() == 0 ? bytes : -bytes);
  }

 private:
  Grid grid_;
  Field<std::byte> field_;
};

/// Exchanges by one of Halocline's transports.
class ExchangePath final : public PairPath {
 public:
  ExchangePath(const Communicator& pair, const PairPathOptions& options, Row row, Row reply,
               Notes& notes)
      : PairPath(options, pair.rank()),
        pair_(pair),
        row_(std::move(row)),
        reply_(std::move(reply)),
        there_(row_.exchange(pair, options, {{options.bytes, 0, 0}, {}})),
        back_(row_.exchange(pair, options, {{}, {options.bytes, 0, 0}})),
        both_(row_.exchange(pair, options, options.bytes)),
        replying_(reply_.exchange(pair, options, {{}, {reply_bytes, 0, 0}})) {
    for (const std::string& note : both_.info().notes) notes.add(note);
  }

  void round_trips(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      there_.run(stream());
      back_.run(stream());
    }
    link::wait_for(pair_, stream());
  }
  void one_way(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) there_.run(stream());
    replying_.run(stream());
    link::wait_for(pair_, stream());
  }
  void both_ways(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) both_.run(stream());
    link::wait_for(pair_, stream());
  }

 private:
  Stream stream() const { return options().stream; }
  std::byte* out() const override { return row_.owned(); }
  std::byte* in() const override { return row_.halo(); }

  Communicator pair_;
  Row row_, reply_;
  Exchange there_, back_, both_, replying_;
};

}  // namespace

PairPath::PairPath(const PairPathOptions& options, int turn) : options_(options), turn_(turn) {}

/// Sends the data of a round, which overwrites the previous round's, and checks it if it comes
/// here.
template <class Send>
std::optional<std::string> PairPath::after(int round, bool comes_here, const Send& send) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(options_.bytes));
  const std::int64_t count = options_.bytes;
  proof::fill(bytes.data(), count, proof::seed_of(me(), peer(), round));
  device::copy(out(), bytes.data(), count, Stream::host());
  send();
  if (!comes_here) return std::nullopt;
  device::copy(bytes.data(), in(), count, Stream::host());
  const std::int64_t at =
      proof::first_difference(bytes.data(), count, proof::seed_of(peer(), me(), round));
  if (at == count) return std::nullopt;
  return text_of(proof::WrongByte{.at = at, .bytes = count, .from = peer(), .to = me()});
}

std::optional<std::string> PairPath::first_wrong(int round) {
  constexpr std::int64_t several = 3;  // both slots of a channel, and one of them again
  const std::optional<std::string> wrongs[] = {
      after(3 * round, true, [&] { round_trips(several); }),
      after(3 * round + 1, !is_first(), [&] { one_way(several); }),
      after(3 * round + 2, true, [&] { both_ways(several); })};
  for (const auto& wrong : wrongs)
    if (wrong) return wrong;
  return std::nullopt;
}

std::unique_ptr<PairPath> make_pair_path(const Communicator& all, const Communicator& pair,
                                         const PairPathOptions& options, Notes& notes) {
  std::unique_ptr<PairPath> path;
  if (options.transport == "mpi" || options.transport == "gpu_aware") {
    comm::together(pair, [&] { path = std::make_unique<MpiPath>(all, options, pair.rank()); });
    return path;
  }
  std::optional<Row> row, reply;
  comm::together(pair, [&] {
    row.emplace(pair, options, options.bytes);
    reply.emplace(pair, options, reply_bytes);
  });
  return std::make_unique<ExchangePath>(pair, options, std::move(*row), std::move(*reply), notes);
}

}  // namespace halocline::bench
