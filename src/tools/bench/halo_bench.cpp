// SPDX-License-Identifier: Apache-2.0
#include "bench/halo_bench.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/format.hpp"
#include "base/text/notes.hpp"
#include "base/text/words.hpp"
#include "bench/combinations.hpp"
#include "bench/known_fields.hpp"
#include "bench/rivals.hpp"
#include "comm/collectives.hpp"
#include "device/buffer.hpp"
#include "device/gpu.hpp"
#include "device/graph.hpp"
#include "device/queue.hpp"
#include "exchange/selection/choice.hpp"
#include "grid/halo_regions.hpp"
#include "grid/text.hpp"
#include "link/wait_for.hpp"
#include "link/window.hpp"
#include "machine/cores.hpp"
#include "solver/memory.hpp"
#include "solver/target.hpp"
#include "transport/transport.hpp"

namespace halocline::bench {
namespace {

constexpr Phase phases_of_exchange[] = {Phase::pack, Phase::move, Phase::call, Phase::wait,
                                        Phase::unpack};

/// A case with the transport that is timed.
struct Trial {
  const HaloCase& the_case;
  const solver::Target& target;
  const std::string& transport;
  const std::string& graph;
};

/// A case with the rival that is timed.
struct RivalTrial {
  const HaloCase& the_case;
  const solver::Target& target;
  const Rival& rival;
};

/// Returns why exchanges by these transports cannot be recorded in a CUDA graph, or nothing.
std::optional<std::string> not_in_graph(const ExchangeInfo& info, const solver::Target& target) {
  if (!target.gpu || target.memory != Memory::device)
    return fmt::format("exchanges of fields in {} memory cannot be recorded in CUDA graphs",
                       name_of(target.memory));
  for (const transport::Transport* one : exchange::choice_of(info))
    if (one != nullptr && !one->capabilities().stays_on_stream())
      return fmt::format("exchanges by {} cannot be recorded in CUDA graphs: they need the host",
                         one->name());
  return std::nullopt;
}

bool some_share_a_gpu(const solver::Target& target) {
  return std::any_of(target.gpu->map.begin(), target.gpu->map.end(),
                     [](const machine::GpuBinding::Row& row) { return row.ranks_on_gpu > 1; });
}

HaloTiming timing_of(const HaloCase& the_case, const Grid& grid, const solver::Target& target) {
  return {.cells_per_rank = the_case.cells_per_rank,
          .process_grid = grid.process_grid(),
          .width = the_case.width,
          .fields = the_case.fields,
          .memory = std::string(name_of(target.memory)),
          .transports = {}};
}

/// Records `exchanges_per_graph` exchanges in one graph. Collective.
device::Graph record(const Communicator& communicator, Exchange& exchange, Stream stream) {
  std::optional<device::Graph> graph;
  comm::together(communicator, [&] {
    graph = device::Graph::record(stream, [&] {
      for (std::int64_t i = 0; i < exchanges_per_graph; ++i) exchange.run(stream);
    });
  });
  return *graph;
}

std::vector<int> neighbours_of(const Grid& grid, Neighbours neighbours) {
  std::set<int> ranks;
  for (const grid::HaloRegion& region : grid::halo_regions(grid, grid.rank(), 1, neighbours))
    if (region.peer != grid.rank()) ranks.insert(region.peer);
  return {ranks.begin(), ranks.end()};
}

/// Returns the GB/s that each GPU sends if all ranks copy to their neighbours in `grid` at once,
/// which is a ceiling for exchanges: 64 MiB in equal parts from the rank with most neighbours,
/// parts of the same size from others; the slowest rank's median. All ranks must be on one node
/// with a current GPU, and some rank must have a neighbour. Collective; throws resource, and device
/// if GPUs do not reach each other, the same on every rank.
double link_gigabytes_per_second(const Communicator& communicator, const Grid& grid,
                                 Neighbours neighbours) {
  using link::Window;
  constexpr std::int64_t sent_bytes = std::int64_t{64} << 20;
  const std::vector<int> peers = neighbours_of(grid, neighbours);
  const auto count = static_cast<std::int64_t>(peers.size());
  const std::int64_t most = comm::max_over_ranks(communicator, count);
  const std::int64_t each = sent_bytes / most;
  std::vector<Window::Offsets> offsets;  // that each neighbour writes to
  for (std::int64_t p = 0; p < count; ++p) offsets.push_back({p * each, 0, 0});

  std::shared_ptr<void> from;
  std::optional<Window> window;
  comm::together(communicator, [&] { from = device::allocate(Memory::device, each); });
  comm::together(communicator, [&] { window.emplace(communicator, count * each, peers, offsets); });
  const std::vector<device::OwnedStream> streams(peers.size());
  const timing::TimeSummary time = timing::time_together(communicator, {.seconds = 0.05}, [&] {
    for (std::size_t p = 0; p < peers.size(); ++p)
      device::copy(window->of(p) + window->offsets_of(p)[0], from.get(), each, streams[p].get());
    for (const device::OwnedStream& stream : streams) device::synchronize(stream.get());
  });
  return static_cast<double>(each * most) / time.median_seconds / 1e9;
}

class HaloBench {
 public:
  HaloBench(const Communicator& communicator, const HaloBenchOptions& options)
      : communicator_(communicator), options_(options) {}

  HaloBenchResult run() {
    std::vector<HaloCase> cases;
    comm::together(communicator_, [&] { cases = halo_cases(options_, communicator_.size()); });
    HaloBenchResult result{.neighbours = options_.neighbours,
                           .precision = options_.precision,
                           .mpi = comm::library_version(),
                           .periodic = options_.periodic,
                           .ranks = communicator_.size(),
                           .nodes = communicator_.node_count()};
    const std::vector<Combination> combinations = find_ways(communicator_,
                                                            {.memories = options_.memories,
                                                             .transports = options_.transports,
                                                             .proofs = options_.proofs},
                                                            notes_);
    for (const Combination& combination : combinations)
      if (result.devices.empty() || combination.target.gpu)
        result.devices = devices_of(communicator_, combination.target);
    timing::note_crowding(communicator_, notes_);
    for (const HaloCase& the_case : cases)
      for (const Combination& combination : combinations) {
        for (const std::string& transport : combination.transports)
          for (const std::string& graph : options_.graphs)
            if (auto timing = time(Trial{the_case, combination.target, transport, graph}))
              result.timings.push_back(std::move(*timing));
        for (const std::string& name : options_.rivals)
          result.rivals.push_back(time(RivalTrial{the_case, combination.target, find_rival(name)}));
      }
    if (result.timings.empty() && no_graph_)
      throw Error(ErrorKind::unavailable,
                  fmt::format("{}; use --graph off, or --transport peer between GPUs of one node",
                              *no_graph_));
    if (result.timings.empty())
      throw Error(ErrorKind::resource,
                  fmt::format("nothing can be timed: {}", notes_.all().back()));
    result.notes = notes_.all();
    return result;
  }

 private:
  std::int64_t element_bytes() const { return options_.precision == "f32" ? 4 : 8; }

  void check_memory(const HaloCase& the_case, const Grid& grid,
                    const solver::Target& target) const {
    const Int3 owned = grid.owned().extent();
    double field = static_cast<double>(element_bytes());
    for (int axis = 0; axis < grid.axes(); ++axis)
      field *= static_cast<double>(owned[axis]) + 2 * static_cast<double>(the_case.width);
    const auto require = [&](double wanted, double free, const std::string& where) {
      if (wanted <= free) return;
      throw Error(
          ErrorKind::resource,
          fmt::format("{} of {} per rank in {} take {} {}, which has {} free; "
                      "use fewer cells, fields or ranks",
                      counted(the_case.fields, "field"), grid::cells_text(the_case.cells_per_rank),
                      options_.precision, bytes_text(wanted), where, bytes_text(free)));
    };
    const auto fields = static_cast<double>(the_case.fields);
    const bool on_gpu =
        target.gpu && (target.memory == Memory::device || target.memory == Memory::managed);
    if (on_gpu)
      require(fields * field * target.gpu->ranks_on_gpu,
              static_cast<double>(device::gpu_memory().free_bytes),
              fmt::format("on GPU {}", target.gpu->gpu.ordinal));
    // Values for a GPU are made on the host, one field at a time.
    require((on_gpu ? 1 : fields) * field * communicator_.node_size(),
            static_cast<double>(solver::node_memory().available_bytes), "on this node");
  }

  /// Returns the wrong byte of the lowest rank that has one, on every rank.
  std::optional<std::string> first_wrong(const KnownFields& fields) const {
    std::optional<std::string> mine;
    comm::together(communicator_, [&] { mine = fields.first_wrong(options_.neighbours); });
    const std::string first = comm::first_text(communicator_, mine.value_or(""));
    return first.empty() ? std::nullopt : std::optional(first);
  }

  double memcpy_rate(std::int64_t bytes) {
    double& rate = memcpy_rates_[bytes];
    if (rate == 0)
      rate = static_cast<double>(bytes) / timing::seconds_of_memcpy(communicator_, bytes) / 1e9;
    return rate;
  }

  std::optional<double> link_rate(const Grid& grid) {
    const std::string key = grid::text_of(grid.process_grid());
    const auto known = link_rates_.find(key);
    if (known != link_rates_.end()) return known->second;
    std::optional<double> rate;
    try {
      rate = link_gigabytes_per_second(communicator_, grid, options_.neighbours);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::communication) throw;
      notes_.add(
          fmt::format("the bandwidth of copies between the GPUs is not known: {}", error.what()));
    }
    return link_rates_.emplace(key, rate).first->second;
  }

  /// Times `work`, which is one exchange or a graph of exchanges, per exchange.
  void measure(HaloTiming& timing, const solver::Target& target,
               const std::function<void()>& work) {
    Recorder& recorder = comm::recorder(communicator_);
    timing.time = timing::time_together(
        communicator_, options_.loop,
        [&] {
          work();
          link::wait_for(communicator_, target.stream());
        },
        [&] {
          recorder.collect();
          recorder.reset_totals();
        });
    recorder.collect();
    if (!timing.rival.empty()) return;
    if (timing.graph == "on") {
      for (double* seconds :
           {&timing.time.min_seconds, &timing.time.median_seconds, &timing.time.p99_seconds})
        *seconds /= static_cast<double>(exchanges_per_graph);
      return;
    }
    for (const Phase phase : phases_of_exchange)
      timing.phases.emplace_back(
          name_of(phase), comm::sum_in_rank_order(communicator_, recorder.seconds(phase)) /
                              communicator_.size() / static_cast<double>(timing.time.repetitions));
  }

  /// Sets the rate and its ceiling, if known; ceilings of networks are not.
  void add_ceiling(HaloTiming& timing, const Grid& grid, const solver::Target& target) {
    if (timing.bytes == 0) return;
    timing.gigabytes_per_second =
        static_cast<double>(timing.bytes) / timing.time.median_seconds / 1e9;
    if (communicator_.node_count() > 1) return;
    if (!target.gpu)
      timing.memcpy_gigabytes_per_second = memcpy_rate(timing.bytes);
    else if (target.memory == Memory::device && !some_share_a_gpu(target))
      timing.link_gigabytes_per_second = link_rate(grid);
  }

  /// Returns null, with a note, if a transport that was not requested lacks resources.
  std::unique_ptr<Exchange> plan(const Trial& trial, const Grid& grid, const FieldList& fields) {
    try {
      return std::make_unique<Exchange>(communicator_, grid, fields,
                                        ExchangeOptions{.neighbours = options_.neighbours,
                                                        .transport = trial.transport,
                                                        .proofs = options_.proofs,
                                                        .same_order = true});
    } catch (const Error& error) {  // the same on every rank
      if (!options_.transports.empty() || error.kind() != ErrorKind::resource) throw;
      notes_.add(fmt::format("transport {} is not timed with {} cells per rank: {}",
                             trial.transport, grid::text_of(trial.the_case.cells_per_rank),
                             error.what()));
      return nullptr;
    }
  }

  /// Makes fields filled with values and poison. Collective.
  std::unique_ptr<KnownFields> make_fields(const HaloCase& the_case, const Grid& grid,
                                           const solver::Target& target) const {
    std::unique_ptr<KnownFields> fields;
    comm::together(communicator_, [&] {
      check_memory(the_case, grid, target);
      fields = make_known_fields(grid, {.count = the_case.fields,
                                        .element_bytes = element_bytes(),
                                        .width = the_case.width,
                                        .memory = target.memory});
      fields->fill();
    });
    return fields;
  }

  /// Returns nothing, with a note, if the trial cannot be timed.
  std::optional<HaloTiming> time(const Trial& trial) {
    const HaloCase& the_case = trial.the_case;
    const solver::Target& target = trial.target;
    const Grid grid(communicator_, the_case.grid);
    const std::unique_ptr<KnownFields> fields = make_fields(the_case, grid, target);
    const std::unique_ptr<Exchange> made = plan(trial, grid, fields->list());
    if (!made) return std::nullopt;
    Exchange& exchange = *made;
    for (const std::string& note : exchange.info().notes) notes_.add(note);
    if (trial.graph == "on")
      if (const auto why_not = not_in_graph(exchange.info(), target)) {
        notes_.add(*why_not);
        no_graph_ = why_not;
        return std::nullopt;
      }
    HaloTiming timing = timing_of(the_case, grid, target);
    timing.transports = exchange.info().transports;
    timing.messages = comm::max_over_ranks(communicator_, exchange.info().messages);
    timing.bytes = comm::max_over_ranks(communicator_, exchange.info().bytes);
    timing.graph = trial.graph;
    const Stream stream = target.stream();
    std::function<void()> work = [&] { exchange.run(stream); };
    const auto verify = [&] {
      work();
      link::wait_for(communicator_, stream);
      timing.wrong = first_wrong(*fields);
    };
    verify();
    if (!timing.wrong && trial.graph == "on") {
      work = [&, graph = record(communicator_, exchange, stream)] {
        graph.launch(stream);
        exchange.progress();  // throws if a wait on the GPU has timed out
      };
      comm::together(communicator_, [&] { fields->fill(); });
      verify();
    }
    if (timing.wrong) return timing;
    measure(timing, target, work);
    add_ceiling(timing, grid, target);
    return timing;
  }

  /// If the rival cannot run, adds a note and returns an entry without times.
  HaloTiming time(const RivalTrial& trial) {
    const HaloCase& the_case = trial.the_case;
    const solver::Target& target = trial.target;
    const Grid grid(communicator_, the_case.grid);
    HaloTiming timing = timing_of(the_case, grid, target);
    timing.rival = trial.rival.name;
    const RivalPlace place{communicator_, grid, target.memory, options_.proofs};
    timing.not_run = trial.rival.why_not(place);
    if (timing.not_run) {
      notes_.add(fmt::format("{} are not timed with {} memory: {}", trial.rival.title,
                             timing.memory, *timing.not_run));
      return timing;
    }
    const std::unique_ptr<KnownFields> fields = make_fields(the_case, grid, target);
    const std::unique_ptr<RivalExchange> exchange =
        trial.rival.make(place, fields->list(), options_.neighbours);
    timing.messages = comm::max_over_ranks(communicator_, exchange->messages);
    timing.bytes = comm::max_over_ranks(communicator_, exchange->bytes);
    exchange->run();
    timing.wrong = first_wrong(*fields);
    if (timing.wrong) return timing;
    measure(timing, target, [&] { exchange->run(); });
    add_ceiling(timing, grid, target);
    return timing;
  }

  Communicator communicator_;
  const HaloBenchOptions& options_;
  std::map<std::int64_t, double> memcpy_rates_;
  std::map<std::string, std::optional<double>> link_rates_;  // by process grid
  std::optional<std::string> no_graph_;                      // why a graph was left out
  Notes notes_;
};

}  // namespace

HaloBenchResult run_halo_bench(const Communicator& communicator, const HaloBenchOptions& options) {
  return HaloBench(communicator, options).run();
}

void check(const HaloBenchOptions& options, int ranks) {
  halo_cases(options, ranks);
  check_memories(options.memories);
}

}  // namespace halocline::bench
