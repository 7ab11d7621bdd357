// SPDX-License-Identifier: Apache-2.0
#include "solver/run_files/writer.hpp"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/recorder.hpp"
#include "base/text/format.hpp"
#include "comm/collectives.hpp"
#include "comm/second_thread.hpp"
#include "device/gpu.hpp"
#include "program/copy_cells.hpp"
#include "solver/memory.hpp"

namespace halocline::solver {
namespace {

using Writing = SolveOptions::Writing;

/// The memory of copies; the later one counts if ranks differ.
enum class Room { with_fields, on_host, none };

/// Left free in a memory for other programs.
constexpr double share_left_free = 0.05;

bool has_room(double bytes, double free, double total) {
  return bytes <= free - share_left_free * total;
}

Room room_for(const Communicator& communicator, double bytes, const Target& target, bool on_gpu) {
  if (on_gpu) {
    const device::GpuMemory gpu = device::gpu_memory();
    if (has_room(bytes * target.gpu->ranks_on_gpu, static_cast<double>(gpu.free_bytes),
                 static_cast<double>(gpu.total_bytes)))
      return Room::with_fields;
  }
  const NodeMemory node = node_memory();
  if (has_room(bytes * communicator.node_size(), static_cast<double>(node.available_bytes),
               static_cast<double>(node.total_bytes)))
    return on_gpu ? Room::on_host : Room::with_fields;
  return Room::none;
}

}  // namespace

Writer::Writer(const Communicator& communicator, Writing option)
    : option_(option), communicator_(communicator) {
  const std::string why_not = option == Writing::between ? "option 'writing' asks for that"
                                                         : comm::no_thread_because(communicator);
  if (why_not.empty())
    communicator_ = comm::for_thread(communicator);
  else
    wait_between(why_not);
}

Writer::~Writer() {
  if (!work_.valid()) return;
  // Other ranks may be gone; the error that unwinds must not wait for them.
  if (std::uncaught_exceptions() > 0) comm::give_up(communicator_);
  work_.wait();
}

void Writer::wait_between(const std::string& because) {
  if (option_ == Writing::beside)
    throw Error(
        ErrorKind::unavailable,
        fmt::format(
            "files cannot be written in parallel with the sweeps: {}; leave option 'writing' "
            "out",
            because));
  so_far_.waits_because = because;
}

void Writer::take_room(const Grid& grid, const Level& level, const std::set<std::size_t>& fields,
                       const Target& target) {
  if (!so_far_.waits_because.empty() || fields.empty()) return;
  double bytes = 0;
  for (const std::size_t field : fields)
    bytes += static_cast<double>(level[field].shape().owned.cells() *
                                 level[field].shape().element_bytes);
  const bool on_gpu = program::is_for_gpu(level.front());
  const auto room = static_cast<Room>(comm::max_over_ranks(
      communicator_, static_cast<std::int64_t>(room_for(communicator_, bytes, target, on_gpu))));
  if (room == Room::none)
    return wait_between(
        fmt::format("there is no room for copies of the fields, {} per rank", bytes_text(bytes)));
  const Memory memory = on_gpu && room == Room::with_fields ? Memory::device : Memory::host;
  comm::together(communicator_, [&] {
    copies_ = level;
    for (const std::size_t field : fields)
      copies_[field] = FieldStorage(grid, level[field].shape().element_bytes,
                                    {.name = level[field].name(), .halo = 0, .memory = memory});
  });
  if (target.gpu) use_gpu_ = [gpu = target.gpu->gpu] { device::use(gpu); };
  so_far_.copies_in = name_of(memory);
  so_far_.bytes = static_cast<std::int64_t>(bytes);
}

void Writer::start(const Level& level, const std::set<std::size_t>& fields, const Write& write) {
  finish();
  const auto begun = Clock::now();
  if (copies_.empty()) {
    write(level);
  } else {
    comm::together(communicator_, [&] {
      for (const std::size_t field : fields) program::copy_owned(level[field], copies_[field]);
    });
    const auto work = [this, write] {
      if (use_gpu_) use_gpu_();
      write(copies_);
    };
    try {
      work_ = std::async(std::launch::async, work);
    } catch (const std::system_error&) {  // no more threads: then without one
      work();
    }
  }
  so_far_.seconds_waited += seconds_since(begun);
}

void Writer::finish() {
  if (!work_.valid()) return;
  const auto begun = Clock::now();
  work_.get();
  so_far_.seconds_waited += seconds_since(begun);
}

void Writer::release() { copies_.clear(); }

bool Writer::is_busy() const {
  return work_.valid() && work_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

}  // namespace halocline::solver
