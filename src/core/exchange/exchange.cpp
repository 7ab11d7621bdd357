// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>
#include <halocline/exchange.hpp>

#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "comm/running.hpp"
#include "comm/settings.hpp"
#include "comm/waiting.hpp"
#include "device/graph.hpp"
#include "device/queue.hpp"
#include "device/stream_clock.hpp"
#include "exchange/like_fields.hpp"
#include "exchange/messages.hpp"
#include "exchange/parking.hpp"
#include "exchange/part_exchange.hpp"
#include "exchange/poison.hpp"
#include "exchange/selection/choice.hpp"
#include "exchange/selection/decision.hpp"
#include "field/poison.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "pack/pack.hpp"
#include "proof/crash_words.hpp"
#include "proof/in_job.hpp"

namespace halocline {

using exchange::HaloPart;
using exchange::PeerMessage;
using transport::Channel;
using transport::Message;
using transport::Pair;
using transport::Transport;

namespace {

std::string widths_text(const HaloWidths& widths, int axes) {
  std::string text;
  for (int axis = 0; axis < axes; ++axis)
    text += fmt::format("{}{} {}/{}", axis > 0 ? ", " : "", "xyz"[axis], widths.lower[axis],
                        widths.upper[axis]);
  return text;
}

/// Describes the parts of a plan that must be the same on every rank.
std::vector<std::string> describe(const Communicator& communicator, const Grid& grid,
                                  const FieldList& fields, const ExchangeOptions& options) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} cells", grid::text_of(grid.cells())));
  lines.push_back(fmt::format("process grid {}", grid::text_of(grid.process_grid())));
  for (int axis = 0; axis < grid.axes(); ++axis)
    lines.push_back(
        fmt::format("{} {}", "xyz"[axis], grid.periodic(axis) ? "periodic" : "not periodic"));
  lines.push_back(fmt::format("neighbours {}",
                              options.neighbours == Neighbours::faces ? "across faces" : "all"));
  lines.push_back(fmt::format("transport {}", options.transport));
  lines.push_back(fmt::format("started in {} order", options.same_order ? "the same" : "any"));
  lines.push_back(counted(fields.size(), "field"));
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const FieldStorage& field = fields[f];
    const FieldShape& shape = field.shape();
    lines.push_back(fmt::format(
        "field {} in {} memory with {} of {} bytes in order "
        "{}, halo {}",
        exchange::title_in_exchange(fields, f), name_of(shape.memory),
        counted(shape.components, "component"), shape.element_bytes, field.layout().order(),
        widths_text(options.widths.value_or(shape.halo), grid.axes())));
  }
  lines.push_back(fmt::format("pieces of {} bytes", comm::settings_of(communicator).piece_bytes));
  return lines;
}

HaloWidths widths_of(const FieldStorage& field, const ExchangeOptions& options) {
  return options.widths.value_or(field.shape().halo);
}

/// Throws usage for errors that one rank can detect alone.
void check_fields(const Grid& grid, const FieldList& fields, const ExchangeOptions& options) {
  if (fields.empty()) throw Error(ErrorKind::usage, "an exchange needs at least one field");
  std::map<const std::byte*, std::string> by_first_cell;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const std::string title = exchange::title_in_exchange(fields, f);
    const auto [other, is_new] = by_first_cell.emplace(fields[f].get().first_owned(), title);
    if (!is_new)
      throw Error(ErrorKind::usage, fmt::format("field {} and field {} have the same values; give "
                                                "an exchange each field once",
                                                other->second, title));
  }
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const FieldStorage& field = fields[f];
    const std::string title = exchange::title_in_exchange(fields, f);
    const HaloWidths widths = widths_of(field, options);
    grid::check_widths(grid, widths, title);
    const FieldShape& shape = field.shape();
    if (!(shape.owned == grid.owned()))
      throw Error(ErrorKind::usage, fmt::format("field {} belongs to another grid", title));
    for (int axis = 0; axis < grid.axes(); ++axis)
      if (widths.lower[axis] > shape.halo.lower[axis] ||
          widths.upper[axis] > shape.halo.upper[axis])
        throw Error(ErrorKind::usage,
                    fmt::format("exchange width {}/{} along {} exceeds the halo {}/{} of field "
                                "{}; give the field a wider halo",
                                widths.lower[axis], widths.upper[axis], "xyz"[axis],
                                shape.halo.lower[axis], shape.halo.upper[axis], title));
  }
}

/// Returns the memory that determines whether host or GPU can access all fields: the first host or
/// device memory, if any. Throws usage if both occur.
Memory common_memory(const FieldList& fields) {
  const auto reached_by_all = [](const FieldStorage& field) {
    return host_reads(field.shape().memory) && gpu_reads(field.shape().memory);
  };
  std::size_t strictest = 0;
  const auto memory_of = [&](std::size_t f) { return fields[f].get().shape().memory; };
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (reached_by_all(fields[f])) continue;
    if (!reached_by_all(fields[strictest]) && memory_of(f) != memory_of(strictest))
      throw Error(
          ErrorKind::usage,
          fmt::format("field {} in {} memory and field {} in {} memory cannot share an "
                      "exchange; create one per kind of memory",
                      exchange::title_in_exchange(fields, strictest), name_of(memory_of(strictest)),
                      exchange::title_in_exchange(fields, f), name_of(memory_of(f))));
    strictest = f;
  }
  return memory_of(strictest);
}

/// Returns the kinds of pair that occur on any rank.
exchange::PairsThere pairs_there(const Communicator& communicator,
                                 const std::vector<PeerMessage>& messages) {
  std::int64_t bits = 0;
  for (const PeerMessage& message : messages)
    bits |= std::int64_t{1} << static_cast<int>(transport::pair_of(communicator, message.peer));
  exchange::PairsThere there{};
  for (const Pair pair : transport::pairs) {
    const std::int64_t bit = std::int64_t{1} << static_cast<int>(pair);
    there[static_cast<std::size_t>(pair)] = comm::max_over_ranks(communicator, bits & bit) != 0;
  }
  return there;
}

void keep_only(std::vector<PeerMessage>& messages, const exchange::PartFilter& is_filled) {
  for (PeerMessage& message : messages) {
    const auto is_left_out = [&](const HaloPart& part) {
      return !is_filled(part.direction, message.peer);
    };
    std::erase_if(message.send, is_left_out);
    std::erase_if(message.receive, is_left_out);
  }
  std::erase_if(messages, [](const PeerMessage& message) {
    return message.send.empty() && message.receive.empty();
  });
}

}  // namespace

/// Channels, and the packing for them.
class Exchange::Plan {
 public:
  /// Fills what the filter names, or everything.
  Plan(const Communicator& communicator, const Grid& grid, const FieldList& fields,
       const ExchangeOptions& options, const exchange::PartFilter& is_filled = {});
  ~Plan();
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Takes arrays like the plan's fields, too, for starts to come. Returns where they are. `whose`:
  /// as in LikeFields::places_of(). Throws usage for others.
  std::vector<void*> add(const FieldList& fields, const std::string& whose);
  /// Where the arrays to exchange are, by their first owned cells; empty: the plan's own.
  using Places = std::span<void* const>;
  void start(Places places, Stream stream);
  bool progress();
  void finish(Stream stream);
  void run(Places places, Stream stream);
  const exchange::LikeFields& likes() const { return likes_; }
  /// Parks it, with what it needs until it is destroyed.
  static void park(std::unique_ptr<Plan> plan, std::shared_ptr<void> kept);
  const ExchangeInfo& info() const { return info_; }

 private:
  /// The messages of one transport.
  struct Carried {
    const Transport* transport;
    std::vector<Message> messages;
    std::vector<const PeerMessage*> contents;
  };

  std::vector<Carried> sort_by_transport(const std::vector<PeerMessage>& messages,
                                         const exchange::Choice& choice) const;
  Message message_for(const PeerMessage& content, const Transport& transport) const;
  std::vector<transport::Part> parts_for(const std::vector<HaloPart>& pieces,
                                         const Transport& transport) const;
  std::int64_t bytes_of(const HaloPart& piece) const;
  std::vector<transport::Part> parts_of(const std::vector<HaloPart>& pieces) const;
  std::array<std::vector<Message>, 3> sizes_by_pair(const std::vector<PeerMessage>& messages) const;
  void open_best(exchange::DecisionInputs inputs, const std::vector<PeerMessage>& messages);
  void open(const exchange::Choice& choice, const std::vector<PeerMessage>& messages);
  void show_to_work(Channel& channel, const std::vector<Message>& messages) const;
  void try_out(const Carried& carried) const;
  void add_bundles(Channel& channel, const Carried& carried, std::vector<pack::Bundle>& packing,
                   std::vector<pack::Bundle>& unpacking) const;
  void add_moves(const PeerMessage& content, std::vector<pack::Move>& moves) const;
  pack::Bundle bundle_for(const std::vector<HaloPart>& pieces, const transport::Slots& slots) const;
  void fill_info(const exchange::Choice& choice, const std::vector<PeerMessage>& messages);
  void begin(Places places, Stream stream);
  void start_begun(Stream stream);
  Stream moving_stream(Stream stream) const;
  Stream copying_stream(Stream stream) const;
  void wait_for(Stream copying, Stream stream, const char* what);

  Communicator communicator_;
  std::shared_ptr<exchange::Parking> parking_;
  std::uint64_t number_;
  FieldList fields_;  // while the plan is made
  exchange::LikeFields likes_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<Channel*> started_;  // those whose kernels do not signal
  Memory memory_ = Memory::host;
  pack::Copies packing_, unpacking_;
  std::optional<exchange::Poison> poison_;  // if halos are checked
  /// For exchanges on the host's stream that a GPU packs.
  std::optional<device::OwnedStream> own_;
  device::StreamClock pack_clock_{comm::recorder(communicator_), Phase::pack, "pack"};
  device::StreamClock move_clock_{comm::recorder(communicator_), Phase::move, "exchange"};
  device::StreamClock unpack_clock_{comm::recorder(communicator_), Phase::unpack, "unpack"};
  bool in_flight_ = false;
  bool takes_the_host_ = false;  // on some rank, in every exchange
  bool is_given_up_ = false;     // the last one: a peer did not answer in time
  bool channels_follow_ = true;  // where the arrays are
  bool is_parked_ = false;
  Stream started_on_ = Stream::host();
  ExchangeInfo info_;
};

Exchange::Plan::Plan(const Communicator& communicator, const Grid& grid, const FieldList& fields,
                     const ExchangeOptions& options, const exchange::PartFilter& is_filled)
    : communicator_(communicator),
      parking_(exchange::Parking::of(communicator)),
      number_(parking_->next_number()),
      fields_(fields),
      likes_(fields) {
  parking_->clear(communicator);
  comm::require_same(communicator, "exchange plans", describe(communicator, grid, fields, options));
  std::vector<PeerMessage> messages;
  exchange::WantedTransports wanted;
  comm::together(communicator, [&] {
    wanted = exchange::read_wanted(options.transport);
    if (grid.rank() != communicator.rank() || grid.ranks() != communicator.size())
      throw Error(
          ErrorKind::usage,
          fmt::format(
              "the grid belongs to rank {} of {}, but this is rank {} of {} of the communicator",
              grid.rank(), grid.ranks(), communicator.rank(), communicator.size()));
    check_fields(grid, fields, options);
    memory_ = common_memory(fields);
    std::vector<HaloWidths> widths;
    for (const FieldStorage& field : fields) widths.push_back(widths_of(field, options));
    messages = exchange::messages_of(grid, grid.rank(), widths, options.neighbours);
    if (is_filled) keep_only(messages, is_filled);
    if (field::checks_halos()) poison_.emplace(messages, fields, memory_);
  });

  open_best({.wanted = wanted,
             .proofs = options.proofs,
             .there = pairs_there(communicator, messages),
             .fields = memory_,
             .messages = sizes_by_pair(messages),
             .same_order = options.same_order},
            messages);
  likes_.set_word(std::max(
      {packing_.widest_word(), unpacking_.widest_word(), poison_ ? poison_->widest_word() : 0}));
  fields_.clear();
  if (!poison_) return;
  poison_->begin(fields, copying_stream(Stream::host()));
  info_.notes.emplace_back(
      "HALOCLINE_CHECK_HALOS is 1: halos are NaN until an exchange has filled them, which takes "
      "time at every start");
}

/// Opens the chosen transports; if auto's choice between ranks of a node does not work, the next
/// best.
void Exchange::Plan::open_best(exchange::DecisionInputs inputs,
                               const std::vector<PeerMessage>& messages) {
  const auto same_node = static_cast<std::size_t>(Pair::same_node);
  for (;;) {
    const exchange::Decision decision = exchange::decide(communicator_, inputs);
    const Transport* const chosen = decision.choice[same_node];
    for (const std::string& note : decision.notes)
      if (std::find(info_.notes.begin(), info_.notes.end(), note) == info_.notes.end())
        info_.notes.push_back(note);
    info_.races.insert(info_.races.end(), decision.races.begin(), decision.races.end());
    try {
      open(decision.choice, messages);
      return fill_info(decision.choice, messages);
    } catch (const Error& error) {
      const bool is_replaceable = chosen != nullptr && inputs.wanted[same_node] == nullptr &&
                                  exchange::candidates(decision.facts, Pair::same_node).size() > 1;
      if (!is_replaceable || error.kind() == ErrorKind::internal) throw;
      inputs.excluded[same_node].push_back(chosen);
      info_.notes.push_back(
          fmt::format("transport {} was left out: {}", chosen->name(), error.what()));
    }
  }
}

/// The messages' data that a race between transports needs.
std::array<std::vector<Message>, 3> Exchange::Plan::sizes_by_pair(
    const std::vector<PeerMessage>& messages) const {
  std::array<std::vector<Message>, 3> by_pair;
  for (const PeerMessage& message : messages)
    by_pair[static_cast<std::size_t>(transport::pair_of(communicator_, message.peer))].push_back(
        {.peer = message.peer,
         .send = parts_of(message.send),
         .receive = parts_of(message.receive),
         .label = exchange::label_of(message, fields_)});
  return by_pair;
}

Exchange::Plan::~Plan() {
  try {
    if (in_flight_ && !is_parked_) finish(started_on_);
    if (!in_flight_) return;
    // The arrays may be gone, and the stream.
    for (Channel* channel : started_) channel->finish(moving_stream(Stream::host()));
  } catch (const Error&) {
    // The peer is gone: there is nothing to wait for, and a destructor must not throw.
  }
}

void Exchange::Plan::park(std::unique_ptr<Plan> plan, std::shared_ptr<void> kept) {
  using Kept = std::pair<std::shared_ptr<void>, std::unique_ptr<Plan>>;  // the plan ends first
  plan->is_parked_ = true;
  const std::shared_ptr<exchange::Parking> parking = plan->parking_;
  const std::uint64_t number = plan->number_;
  parking->park(number, std::make_shared<Kept>(std::move(kept), std::move(plan)));
}

std::vector<Exchange::Plan::Carried> Exchange::Plan::sort_by_transport(
    const std::vector<PeerMessage>& messages, const exchange::Choice& choice) const {
  std::vector<Carried> all;
  // In the order of the table, also transports that this rank does not use: opening is collective.
  for (const Transport* transport : transport::transports()) {
    if (std::find(choice.begin(), choice.end(), transport) == choice.end()) continue;
    Carried carried{transport, {}, {}};
    for (const PeerMessage& message : messages) {
      const Pair pair = transport::pair_of(communicator_, message.peer);
      if (choice[static_cast<std::size_t>(pair)] != transport) continue;
      carried.messages.push_back(message_for(message, *transport));
      carried.contents.push_back(&message);
    }
    all.push_back(std::move(carried));
  }
  return all;
}

Message Exchange::Plan::message_for(const PeerMessage& content, const Transport& transport) const {
  return {.peer = content.peer,
          .send = parts_for(content.send, transport),
          .receive = parts_for(content.receive, transport),
          .label = exchange::label_of(content, fields_)};
}

std::int64_t Exchange::Plan::bytes_of(const HaloPart& piece) const {
  const FieldShape& shape = fields_[piece.field].get().shape();
  return piece.box.cells() * shape.components * shape.element_bytes;
}

/// Returns parts without memory. All but the last are filled up to words of 16 bytes, so that the
/// next one begins with such a word: behind a corner of 12 bytes a face would be copied in words
/// of 4.
std::vector<transport::Part> Exchange::Plan::parts_of(const std::vector<HaloPart>& pieces) const {
  constexpr std::int64_t word = 16;
  std::vector<transport::Part> parts;
  for (const HaloPart& piece : pieces) {
    if (!parts.empty()) parts.back().bytes = (parts.back().bytes + word - 1) / word * word;
    parts.push_back({nullptr, bytes_of(piece)});
  }
  return parts;
}

std::vector<transport::Part> Exchange::Plan::parts_for(const std::vector<HaloPart>& pieces,
                                                       const Transport& transport) const {
  std::vector<transport::Part> parts = parts_of(pieces);
  if (pieces.size() == 1 && transport.capabilities().in_place) {
    const FieldStorage& field = fields_[pieces[0].field];
    const std::vector<Run> runs = field.layout().runs(pieces[0].box);
    if (runs.size() == 1 && runs[0].count == 1) {
      parts[0].in_place = field.bytes() + runs[0].offset;
      parts[0].array = pieces[0].field;
    }
  }
  return parts;
}

void Exchange::Plan::open(const exchange::Choice& choice,
                          const std::vector<PeerMessage>& messages) {
  started_.clear();
  channels_.clear();
  std::vector<pack::Bundle> packing, unpacking;
  std::vector<pack::Move> moves;
  for (Carried& carried : sort_by_transport(messages, choice)) {
    const transport::Capabilities can = carried.transport->capabilities();
    if (can.needs_no_channel) {
      for (const PeerMessage* content : carried.contents) add_moves(*content, moves);
      continue;
    }
    // Messages in place use the caller's memory: the test uses other memory.
    const bool shown_apart = can.needs_proof || (can.prove_in_job && can.in_place);
    if (shown_apart) try_out(carried);
    std::unique_ptr<Channel> channel;
    comm::together(communicator_, [&] {
      channel = carried.transport->open(communicator_, carried.messages, memory_);
    });
    if (!channel->takes_in_place())
      carried.messages = transport::not_in_place(std::move(carried.messages));
    if (can.prove_in_job && !shown_apart) show_to_work(*channel, carried.messages);
    add_bundles(*channel, carried, packing, unpacking);
    if (!channel->kernels_signal()) started_.push_back(channel.get());
    channels_.push_back(std::move(channel));
  }
  const bool gpu_packs = std::any_of(channels_.begin(), channels_.end(),
                                     [](const auto& channel) { return channel->kernels_signal(); });
  comm::together(communicator_, [&] {
    packing_ = {packing, pack::Direction::pack, memory_, moves};
    unpacking_ = {unpacking, pack::Direction::unpack, memory_};
    own_.reset();
    if (gpu_packs || !host_reads(memory_)) own_.emplace();
  });
}

/// Sends patterns through a channel of a transport that no standard guarantees.
void Exchange::Plan::show_to_work(Channel& channel, const std::vector<Message>& messages) const {
  const std::optional<std::string> wrong = proof::prove(communicator_, channel, messages, memory_);
  comm::together(communicator_, [&] {
    if (wrong) throw Error(ErrorKind::communication, *wrong);
  });
}

/// Tests a transport with messages as large as the plan's but in separate memory. A transport that
/// may crash gets here only with a proof or if the user requests it.
void Exchange::Plan::try_out(const Carried& carried) const {
  std::optional<proof::CrashWords> words;
  if (carried.transport->capabilities().trusts_mpi)
    words.emplace(fmt::format(
        "halocline: rank {} crashes as MPI gets {} memory for the first time (transport {}): this "
        "MPI does not take it; use transport staged, or auto\n",
        communicator_.rank(), name_of(memory_), carried.transport->name()));
  const std::vector<Message> messages = transport::not_in_place(carried.messages);
  std::unique_ptr<Channel> channel;
  comm::together(communicator_,
                 [&] { channel = carried.transport->open(communicator_, messages, memory_); });
  show_to_work(*channel, messages);
}

void Exchange::Plan::add_bundles(Channel& channel, const Carried& carried,
                                 std::vector<pack::Bundle>& packing,
                                 std::vector<pack::Bundle>& unpacking) const {
  const device::DevicePort* port = channel.port();
  for (std::size_t m = 0; m < carried.messages.size(); ++m) {
    const Message& message = carried.messages[m];
    const PeerMessage& content = *carried.contents[m];
    pack::Bundle out = bundle_for(content.send, channel.send_slots(m)),
                 in = bundle_for(content.receive, channel.receive_slots(m));
    if (port != nullptr) {
      out.epoch = in.epoch = port->epoch;
      if (channel.kernels_signal()) {
        out.flags = {port->peers[m].raise, channel.epoch(), port->watch, static_cast<int>(m)};
        in.flags = {port->peers[m].raised, channel.epoch(), port->watch, static_cast<int>(m)};
      }
    }
    if (transport::in_place(message.send) == nullptr) packing.push_back(std::move(out));
    if (transport::in_place(message.receive) == nullptr) unpacking.push_back(std::move(in));
  }
}

/// A rank's message to itself has parts in the same order on both sides.
void Exchange::Plan::add_moves(const PeerMessage& content, std::vector<pack::Move>& moves) const {
  const auto runs_of = [&](const HaloPart& part) {
    const FieldStorage& field = fields_[part.field];
    return pack::FieldRuns{field.bytes(), field.layout().runs(part.box), 0, part.field};
  };
  for (std::size_t i = 0; i < content.send.size(); ++i)
    moves.push_back({runs_of(content.send[i]), runs_of(content.receive[i])});
}

pack::Bundle Exchange::Plan::bundle_for(const std::vector<HaloPart>& pieces,
                                        const transport::Slots& slots) const {
  pack::Bundle bundle{.pieces = {}, .even = slots.even, .odd = slots.odd};
  const std::vector<transport::Part> parts = parts_of(pieces);
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const FieldStorage& field = fields_[pieces[i].field];
    bundle.pieces.push_back(
        {field.bytes(), field.layout().runs(pieces[i].box), offset, pieces[i].field});
    offset += parts[i].bytes;
  }
  return bundle;
}

void Exchange::Plan::fill_info(const exchange::Choice& choice,
                               const std::vector<PeerMessage>& messages) {
  for (const PeerMessage& message : messages) {
    if (message.peer == communicator_.rank()) continue;
    info_.messages += 1;
    for (const HaloPart& piece : message.send) info_.bytes += bytes_of(piece);
  }
  info_.transports = exchange::names_of(choice);
  takes_the_host_ = std::any_of(choice.begin(), choice.end(), [](const Transport* one) {
    return one != nullptr && !one->capabilities().stays_on_stream();
  });
  for (const auto& channel : channels_)
    if (std::string note = channel->note(); !note.empty()) info_.notes.push_back(std::move(note));
}

std::vector<void*> Exchange::Plan::add(const FieldList& fields, const std::string& whose) {
  std::vector<void*> places = likes_.places_of(fields, whose);
  if (poison_) poison_->begin(fields, copying_stream(Stream::host()));
  return places;
}

/// Throws usage unless an exchange may begin; also throws the error of an earlier one in which a
/// GPU waited too long.
void Exchange::Plan::begin(Places places, Stream stream) {
  comm::require_mpi();
  if (takes_the_host_ && device::is_recording(stream))
    throw Error(
        ErrorKind::usage,
        fmt::format("no CUDA graph can record this exchange: with '{}' the host has a part in "
                    "each; make a plan with transport 'peer', 'nccl' or 'nvshmem', or run it "
                    "outside of graphs",
                    info_.transport()));
  if (in_flight_)
    throw Error(ErrorKind::usage,
                "start() was called for an exchange that is in flight; call finish() first");
  if (likes_.move_to(places)) channels_follow_ = false;
  if (!channels_follow_) {
    if (is_given_up_)
      throw Error(ErrorKind::communication,
                  "the last exchange was given up, and its data may still come: other arrays need "
                  "another plan");
    for (const auto& channel : channels_) channel->shift(likes_.shifts());
    channels_follow_ = true;
  }
  for (const auto& channel : channels_) channel->progress();
}

/// Returns the stream on which channels move halos for work on `stream`: fields that the host
/// cannot read are moved by their GPU.
Stream Exchange::Plan::moving_stream(Stream stream) const {
  return stream.is_host() && !host_reads(memory_) ? own_->get() : stream;
}

/// Returns the stream on which halos are packed for work on `stream`.
Stream Exchange::Plan::copying_stream(Stream stream) const {
  return stream.is_host() && own_ ? own_->get() : stream;
}

/// On the host's stream work is done when a call returns. Meanwhile other exchanges progress: the
/// rank waited for may itself wait for them.
void Exchange::Plan::wait_for(Stream copying, Stream stream, const char* what) {
  if (!stream.is_host() || copying.is_host()) return;
  device::Event done;
  done.record(copying);
  comm::wait_until(communicator_.state(),
                   {.site = "exchange, wait for the GPU",
                    .phase = Phase::wait,
                    .missing = [what] { return fmt::format("its own GPU to {} halos", what); }},
                   [&] { return done.reached(); });
  for (const auto& channel : channels_) channel->progress();  // a kernel may have waited too long
}

void Exchange::Plan::start(Places places, Stream stream) {
  begin(places, stream);
  start_begun(stream);
}

void Exchange::Plan::start_begun(Stream stream) {
  const Stream copying = copying_stream(stream);
  // Before packing, which moves halos within a rank at once.
  if (poison_) poison_->run(copying, likes_.shifts());
  if (!packing_.empty())
    pack_clock_.time(copying, packing_.bytes(), [&] { packing_.run(copying, likes_.shifts()); });
  in_flight_ = true;
  started_on_ = stream;
  // Does not wait for other ranks: there are two slots.
  wait_for(copying, stream, "pack");
  for (Channel* channel : started_) channel->start(moving_stream(stream));
}

bool Exchange::Plan::progress() {
  comm::require_mpi();
  bool done = true;
  for (const auto& channel : channels_) done &= channel->progress();
  return done;
}

void Exchange::Plan::finish(Stream stream) {
  comm::require_mpi();
  if (!in_flight_)
    throw Error(ErrorKind::usage,
                "finish() was called for an exchange that is not in flight; call start() first");
  in_flight_ = false;
  is_given_up_ = true;
  const Stream copying = copying_stream(stream);
  for (Channel* channel : started_) channel->finish(moving_stream(stream));
  is_given_up_ = false;
  if (!unpacking_.empty())
    unpack_clock_.time(copying, unpacking_.bytes(),
                       [&] { unpacking_.run(copying, likes_.shifts()); });
  wait_for(copying, stream, "unpack");
}

void Exchange::Plan::run(Places places, Stream stream) {
  begin(places, stream);
  const Stream copying = copying_stream(stream);
  const bool at_once =
      !copying.is_host() && started_.empty() && packing_.all_signal() && unpacking_.all_signal();
  if (!at_once) {
    start_begun(stream);
    finish(stream);
    return;
  }
  if (poison_) poison_->run(copying, likes_.shifts());
  move_clock_.time(copying, packing_.bytes(),
                   [&] { pack::Copies::run_both(packing_, unpacking_, copying, likes_.shifts()); });
  wait_for(copying, stream, "exchange");
}

std::string ExchangeInfo::transport() const {
  std::string text;
  for (const auto& [pair, transport] : transports)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", pair, transport);
  return text.empty() ? "auto" : text;
}

Exchange::Exchange(const Communicator& communicator, const Grid& grid, const FieldList& fields,
                   const ExchangeOptions& options)
    : plan_(std::make_unique<Plan>(communicator, grid, fields, options)) {}
Exchange::Exchange(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
Exchange::~Exchange() = default;
Exchange::Exchange(Exchange&&) noexcept = default;
Exchange& Exchange::operator=(Exchange&&) noexcept = default;

exchange::PartExchange::PartExchange(const Communicator& communicator, const Grid& grid,
                                     const FieldList& fields, const ExchangeOptions& options,
                                     const PartFilter& is_filled)
    : Exchange(std::make_unique<Plan>(communicator, grid, fields, options, is_filled)) {}

void Exchange::park(Exchange&& exchange, std::shared_ptr<void> kept) {
  if (exchange.plan_ != nullptr) Plan::park(std::move(exchange.plan_), std::move(kept));
}

std::vector<void*> Exchange::add(const FieldList& fields, const std::string& whose) {
  return plan_->add(fields, whose);
}
void Exchange::start(Stream stream) { plan_->start({}, stream); }
bool Exchange::progress() { return plan_->progress(); }
void Exchange::finish(Stream stream) { plan_->finish(stream); }
void Exchange::run(Stream stream) { plan_->run({}, stream); }
void Exchange::start(const FieldList& fields, Stream stream) {
  plan_->start(plan_->likes().places_of(fields), stream);
}
void Exchange::run(const FieldList& fields, Stream stream) {
  plan_->run(plan_->likes().places_of(fields), stream);
}
void Exchange::start_at(std::span<void* const> first_owned, Stream stream) {
  plan_->likes().check_count(first_owned.size());
  plan_->start(first_owned, stream);
}
void Exchange::run_at(std::span<void* const> first_owned, Stream stream) {
  plan_->likes().check_count(first_owned.size());
  plan_->run(first_owned, stream);
}
const ExchangeInfo& Exchange::info() const { return plan_->info(); }

}  // namespace halocline
