// SPDX-License-Identifier: Apache-2.0
#include "solver/target.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/text/format.hpp"
#include "base/text/words.hpp"
#include "comm/collectives.hpp"
#include "grid/text.hpp"
#include "link/window.hpp"
#include "machine/cores.hpp"
#include "solver/engine/levels.hpp"
#include "solver/memory.hpp"
#include "solver/option_words.hpp"
#include "solver/reference_solve.hpp"
#include "text/refuse.hpp"

namespace halocline::solver {
namespace {

/// Throws usage if the backend cannot sweep over that memory.
void require_reachable(const stencil::Backend& backend, Memory memory) {
  if (backend.on_gpu() ? gpu_reads(memory) : host_reads(memory)) return;
  refuse(backend.on_gpu()
             ? "the cuda backend cannot sweep over host memory; set option 'memory' to "
               "'system', where the driver supports it, or pinned, managed or device"
             : fmt::format("the {} backend cannot sweep over device memory; set option "
                           "'memory' to 'host', pinned, managed or system",
                           backend.name()));
}

/// Counts the ranks that can use a backend. Collective.
std::uint64_t ranks_able(const Communicator& communicator, const stencil::Backend& backend) {
  return comm::sum_over_ranks(communicator, std::uint64_t{backend.unavailable() ? 0u : 1u});
}

/// Chooses for "auto": the backend that reaches the memory, if only one does; else cuda if all
/// ranks can use it for this case; else cpu, with a note if the machine has a driver for GPUs.
const stencil::Backend& best_backend(const Communicator& communicator, const Case* the_case,
                                     const std::optional<Memory>& memory, Notes& notes) {
  const stencil::Backend& cuda = stencil::find_backend("cuda");
  const stencil::Backend& cpu = stencil::find_backend("cpu");
  if (memory && !gpu_reads(*memory)) return cpu;
  if (memory && !host_reads(*memory)) return cuda;
  const std::uint64_t able = ranks_able(communicator, cuda);
  if (able > 0 && the_case != nullptr) {
    // Rank 0 compiles for all.
    std::string why_not;
    if (communicator.rank() == 0)
      why_not = cuda.cannot_sweep_because(*the_case->model).value_or("");
    why_not = comm::broadcast(communicator, std::move(why_not), 0);
    if (!why_not.empty()) {
      notes.add(fmt::format("no GPU is used: {}", why_not));
      return cpu;
    }
  }
  if (able == static_cast<std::uint64_t>(communicator.size())) return cuda;
  if (able > 0)
    notes.add(
        "some ranks see a GPU and some do not, so all use the cpu backend; set option 'backend' "
        "to 'cuda' to see which");
  else if (!device::gpus().driver.empty())
    notes.add(fmt::format("no GPU is used: {}", *cuda.unavailable()));
  return cpu;
}

/// Throws unavailable if no rank sees a GPU; if only some do, bind_gpu() names those that do not.
void require_a_gpu(const Communicator& communicator, const SolveOptions& options,
                   const stencil::Backend& backend) {
  if (ranks_able(communicator, backend) > 0) return;
  const std::optional<std::string> why_not = backend.unavailable();
  throw Error(ErrorKind::unavailable,
              options.backend == "auto"
                  ? fmt::format("{} memory needs a GPU: {}; leave option 'memory' out",
                                word_for(options.memory), *why_not)
                  : fmt::format("backend {} cannot be used: {}; set option 'backend' to 'cpu'",
                                backend.name(), *why_not));
}

void require_memory(const Case& the_case, const Grid& grid, double wanted, double free,
                    double total, const std::string& what, const std::string& more) {
  if (wanted <= free) return;
  throw Error(ErrorKind::resource,
              fmt::format("{} in {} take {} for {}, which has {} free of {}; use fewer cells, "
                          "{}or more {}",
                          grid::cells_text(grid.cells()), name_of(the_case.precision()),
                          bytes_text(wanted), what, bytes_text(free), bytes_text(total),
                          the_case.precision() == Precision::f64 ? "f32, " : "", more));
}

/// "two time levels", "7 arrays"
std::string arrays_text(const Case& the_case) {
  const std::size_t arrays = arrays_of(the_case);
  return arrays == 2 ? std::string("two time levels") : counted(arrays, "array");
}

bool is_on_gpu(const Target& target) {
  return target.gpu && (target.memory == Memory::device || target.memory == Memory::managed);
}

/// Bytes of the whole grid that a run on one rank holds in two memories.
struct WholeGrid {
  double on_gpu = 0, on_host = 0;
};

WholeGrid whole_grid(const Case& the_case, const Target& target, bool may_use_reference) {
  GridOptions options = the_case.grid;
  options.process_grid = {};
  Case alone = the_case;
  alone.halo_depth = 1;
  const Grid grid(0, 1, options);
  const double all = bytes_of_all(alone, grid), field = bytes_of_field(alone, grid);
  if (!is_on_gpu(target)) return {.on_host = all};
  // The reference backend sweeps on the host. A run that converges early may come to it, too.
  const bool by_reference = may_use_reference && uses_reference_backend(the_case, 1);
  return {.on_gpu = all, .on_host = by_reference ? all : field};
}

}  // namespace

void check_target(const SolveOptions& options) {
  stencil::check_simd(options.simd);
  stencil::read_formulas(options.formulas);
  if (options.backend == "auto") return;
  const stencil::Backend& backend = stencil::find_backend(options.backend);
  if (options.memory) require_reachable(backend, *options.memory);
}

Target choose_target(const Communicator& communicator, const SolveOptions& options, Notes& notes,
                     const Case* the_case) {
  Target target;
  comm::together(communicator, [&] { check_target(options); });
  const std::optional<Memory>& memory = options.memory;
  target.backend = options.backend == "auto" ? &best_backend(communicator, the_case, memory, notes)
                                             : &stencil::find_backend(options.backend);
  if (options.simd != "auto" && target.backend->name() != "cpu")
    notes.add(fmt::format(
        "option 'simd' set to '{}' has no effect: only the cpu backend has vector levels",
        options.simd));
  if (options.formulas != "auto" && target.backend->name() != "cpu")
    notes.add(fmt::format(
        "option 'formulas' set to '{}' has no effect: only the cpu backend has the choice",
        options.formulas));
  const bool on_gpu = target.backend->on_gpu();
  target.memory = memory.value_or(on_gpu ? Memory::device : Memory::host);
  require_reachable(*target.backend, target.memory);
  if (!on_gpu) return target;

  require_a_gpu(communicator, options, *target.backend);
  target.gpu = machine::bind_gpu(communicator);
  for (const std::string& note : target.gpu->notes) notes.add(note);
  comm::together(communicator, [&] { target.own_stream.emplace(); });
  // Before the time levels are allocated: neighbours may write to them (links/face_links.hpp).
  if (target.memory == Memory::device && communicator.size() > 1)
    link::agree_on_sharing(communicator);
  return target;
}

void check_memory(const Communicator& communicator, const Case& the_case, const Grid& grid,
                  const Target& target) {
  const double all = bytes_of_all(the_case, grid), field = bytes_of_field(the_case, grid);
  const std::string arrays = arrays_text(the_case);
  const NodeMemory node = node_memory();
  const int on_node = communicator.node_size();
  const auto node_free = static_cast<double>(node.available_bytes);
  const auto node_total = static_cast<double>(node.total_bytes);
  if (is_on_gpu(target)) {
    const device::GpuMemory gpu = device::gpu_memory();
    require_memory(
        the_case, grid, all * target.gpu->ranks_on_gpu, static_cast<double>(gpu.free_bytes),
        static_cast<double>(gpu.total_bytes),
        fmt::format("{} on GPU {} ({})", arrays, target.gpu->gpu.ordinal, target.gpu->gpu.name),
        "GPUs");
    // Start values and result pass through the host.
    require_memory(the_case, grid, field * on_node, node_free, node_total,
                   "the host's copy of one time level on this node", "nodes");
  } else {
    require_memory(the_case, grid, all * on_node, node_free, node_total,
                   fmt::format("{} on this node", arrays), "nodes");
  }
}

void check_memory_of_one_rank(const Communicator& communicator, const Case& the_case,
                              const Grid& grid, const Target& target, const SolveOptions& options) {
  using Extra = SolveOptions::Extra;
  const bool verifies = options.verify == Extra::yes;
  if ((!verifies && options.baseline != Extra::yes) || communicator.rank() != 0) return;
  const std::string option = verifies && options.baseline == Extra::yes
                                 ? "option 'verify' or option 'baseline'"
                             : verifies ? "option 'verify'"
                                        : "option 'baseline'";
  const WholeGrid whole = whole_grid(the_case, target, verifies);
  const double all = bytes_of_all(the_case, grid), field = bytes_of_field(the_case, grid);
  const auto require = [&](double run, double extra, double free, const std::string& where) {
    if (run + extra <= free) return;
    throw Error(
        ErrorKind::resource,
        fmt::format("{} cells in {}: {} needs {} for the whole grid on rank 0, beside {} of "
                    "the run, but {} has {} free; leave {} out, or use fewer cells",
                    grid::text_of(grid.cells()), name_of(the_case.precision()), option,
                    bytes_text(extra), bytes_text(run), where, bytes_text(free),
                    verifies && options.baseline == Extra::yes ? "them" : "it"));
  };
  if (is_on_gpu(target))
    require(all * target.gpu->ranks_on_gpu, whole.on_gpu,
            static_cast<double>(device::gpu_memory().free_bytes),
            fmt::format("GPU {}", target.gpu->gpu.ordinal));
  require((is_on_gpu(target) ? field : all) * communicator.node_size(), whole.on_host,
          static_cast<double>(node_memory().available_bytes), "the node");
}

std::vector<RunDevice> devices_of(const Communicator& communicator, const Target& target) {
  std::vector<RunDevice> devices;
  if (!target.gpu) {
    devices.push_back(
        {.kind = "cpu", .name = machine::processor_name(), .uuid = "", .host = "", .ranks = {}});
    for (int rank = 0; rank < communicator.size(); ++rank) devices[0].ranks.push_back(rank);
    return devices;
  }
  for (const machine::GpuBinding::Row& row : target.gpu->map) {
    auto known = std::find_if(devices.begin(), devices.end(),
                              [&](const RunDevice& gpu) { return gpu.uuid == row.uuid; });
    if (known == devices.end())
      known = devices.insert(
          devices.end(),
          {.kind = "gpu", .name = row.name, .uuid = row.uuid, .host = row.host, .ranks = {}});
    known->ranks.push_back(row.rank);
  }
  return devices;
}

}  // namespace halocline::solver
