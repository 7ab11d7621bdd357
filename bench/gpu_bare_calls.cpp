// SPDX-License-Identifier: Apache-2.0
// Measures exchanges by NCCL and NVSHMEM against the bare calls of these libraries that move the
// same bytes between the same two GPUs, in the same run: a group of ncclSend and ncclRecv, and
// nvshmemx_putmem_signal_on_stream with its wait.
//
//   mpirun -n 2 bench_gpu_bare_calls
//
// `row`: faces that are contiguous, which NCCL sends in place. `column`: faces that are packed.
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <halocline/halocline.hpp>

#include "device/buffer.hpp"
#include "device/graph.hpp"
#include "device/queue.hpp"
#include "machine/gpu_binding.hpp"
#include "timing.hpp"
#include "transport/nccl/connection.hpp"
#include "transport/nvshmem/session.hpp"
#include "transport/transport.hpp"

namespace {

using namespace halocline;
using bench::summary;
using bench::time_of;
using bench::Times;

constexpr int repetitions = 15, per_graph = 20;

struct Face {
  const char* shape;
  std::int64_t cells;
  std::int64_t bytes() const { return cells * std::int64_t{sizeof(float)}; }
};

/// One send and one receive of contiguous memory.
class BareNccl {
 public:
  BareNccl(const Communicator& world, std::int64_t bytes)
      : connection_(transport::nccl::Connection::of(world)),
        peer_(1 - world.rank()),
        bytes_(static_cast<std::size_t>(bytes)),
        out_(device::allocate(Memory::device, bytes)),
        in_(device::allocate(Memory::device, bytes)) {}

  void run(Stream stream) {
    const transport::nccl::Library& nccl = connection_->library();
    connection_->check(nccl.group_start(), "ncclGroupStart");
    connection_->check(nccl.send(out_.get(), bytes_, transport::nccl::bytes_type, peer_,
                                 connection_->comm(), stream.native()),
                       "ncclSend");
    connection_->check(nccl.receive(in_.get(), bytes_, transport::nccl::bytes_type, peer_,
                                    connection_->comm(), stream.native()),
                       "ncclRecv");
    connection_->check(nccl.group_end(), "ncclGroupEnd");
  }

 private:
  std::shared_ptr<transport::nccl::Connection> connection_;
  int peer_;
  std::size_t bytes_;
  std::shared_ptr<void> out_, in_;
};

/// One put with a signal, and the wait for that of the other rank.
class BareNvshmem {
 public:
  BareNvshmem(const Communicator& world, std::int64_t bytes)
      : session_(transport::nvshmem::Session::of(world)),
        peer_(session_.number_of(world, 1 - world.rank())),
        bytes_(static_cast<std::size_t>(bytes)),
        out_(device::allocate(Memory::device, bytes)),
        heap_(session_.allocate(world, bytes + std::int64_t{sizeof(std::uint64_t)})) {}

  /// Not in a graph, which would repeat the value that it waits for.
  void run(Stream stream) {
    auto* const signal = static_cast<std::uint64_t*>(heap_.get());
    const transport::nvshmem::Library& nvshmem = session_.library();
    nvshmem.put_and_signal(signal + 1, out_.get(), bytes_, signal, ++count_,
                           transport::nvshmem::set_signal, peer_, stream.native());
    nvshmem.wait(signal, transport::nvshmem::is_at_least, count_, stream.native());
  }

 private:
  transport::nvshmem::Session& session_;
  int peer_;
  std::size_t bytes_;
  std::shared_ptr<void> out_, heap_;
  std::uint64_t count_ = 0;
};

/// Times both in turn, and prints their us and the ratio.
void compare(const Communicator& world, const std::string& transport, const Face& face,
             const std::string& graph, Stream stream, const std::function<void()>& bare,
             const std::function<void()>& ours) {
  const auto finish = [&] { device::synchronize(stream); };
  const auto in_graph = [&](const std::function<void()>& work) -> std::function<void()> {
    if (graph == "off") return work;
    const device::Graph recorded = device::Graph::record(stream, [&] {
      for (int i = 0; i < per_graph; ++i) work();
    });
    return [recorded, stream] { recorded.launch(stream); };
  };
  for (const auto& work : {bare, ours}) work();  // connects
  finish();
  const std::function<void()> both[] = {in_graph(bare), in_graph(ours)};
  const int at_once = graph == "off" ? 1 : per_graph;
  std::vector<double> us[2], ratios;
  for (int r = 0; r < repetitions; ++r) {
    for (const int which : {0, 1})
      us[which].push_back(time_of(
                              200 / at_once, [&] { both[which](); }, finish) /
                          at_once);
    ratios.push_back(us[1].back() / us[0].back());
  }
  if (world.rank() != 0) return;
  const Times b = summary(us[0]), o = summary(us[1]);
  fmt::print("{:<8} {:<7} {:>9} {:<5} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>7.2f}\n", transport,
             face.shape, face.bytes(), graph, b.best, b.median, o.best, o.median,
             summary(ratios).median);
  std::fflush(stdout);
}

void measure(const Communicator& world, const Face& face) {
  const bool is_row = std::string(face.shape) == "row";
  const Grid grid(world, is_row ? GridOptions{.cells = {face.cells, 16}, .process_grid = {1, 2}}
                                : GridOptions{.cells = {16, face.cells}, .process_grid = {2, 1}});
  const Field<float> field(grid, {.name = "u", .memory = Memory::device});
  const device::OwnedStream stream;
  const auto ours_by = [&](const char* transport) {
    return Exchange(world, grid, {field},
                    {.neighbours = Neighbours::faces, .transport = transport, .same_order = true});
  };
  if (!transport::find_transport("nccl").missing_here()) {
    Exchange ours = ours_by("nccl");
    BareNccl bare(world, face.bytes());
    for (const char* graph : {"off", "on"})
      compare(
          world, "nccl", face, graph, stream.get(), [&] { bare.run(stream.get()); },
          [&] { ours.run(stream.get()); });
  }
  if (!transport::find_transport("nvshmem").missing_here()) {
    Exchange ours = ours_by("nvshmem");
    BareNvshmem bare(world, face.bytes());
    compare(
        world, "nvshmem", face, "off", stream.get(), [&] { bare.run(stream.get()); },
        [&] { ours.run(stream.get()); });
  }
}

}  // namespace

int main() {
  const Runtime runtime;
  const Communicator world = Communicator::world();
  try {
    if (world.size() != 2)
      throw Error(ErrorKind::usage, fmt::format("runs on 2 ranks, not {}", world.size()));
    const machine::GpuBinding binding = machine::bind_gpu(world);
    if (world.rank() == 0)
      fmt::print(
          "{:<8} {:<7} {:>9} {:<5} {:>19} {:>19} {:>7}\n{:<8} {:<7} {:>9} {:<5} {:>9} {:>9} "
          "{:>9} {:>9} {:>7}\n",
          "", "", "", "", "bare us", "ours us", "ours /", "", "face", "bytes", "graph", "best",
          "median", "best", "median", "bare");
    for (const char* shape : {"row", "column"})
      for (const std::int64_t cells : {std::int64_t{1} << 14, std::int64_t{1} << 18})
        measure(world, {shape, cells});
  } catch (const Error& error) {
    fmt::print(stderr, "bench_gpu_bare_calls: {}\n", error.what());
    return 1;
  }
  return 0;
}
