"""The seeded faults: each must be caught by the tests named with it, or the tests are too weak.

A mutant is one replacement in one source. Its text must be found exactly once, so a mutant that no
longer fits the source fails the run instead of passing for nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    find: str
    replace: str
    program: str  # the test program that catches it
    filter: str = "*"
    ranks: int = 3
    order: str = "lazy"  # of the GPU's work: CUDA_ON_CPU_ORDER


MUTANTS = [
    Mutant("corner skipped", "src/grid/halo_regions.cpp",
           "if (directions == Directions::faces && axes_moved > 1) continue;",
           "if (axes_moved > (directions == Directions::faces ? 1 : 2)) continue;",
           "ranks_tests", "*Exchange*"),
    Mutant("parts swapped", "src/exchange/messages.cpp",
           "{ return by_direction(b, a); }",
           "{ return by_direction(a, b); }",
           "ranks_tests", "*Exchange*", 2),
    Mutant("width off by one", "src/grid/halo_regions.cpp",
           "box.lower[axis] = owned.upper[axis] - widths.lower[axis];",
           "box.lower[axis] = owned.upper[axis] - widths.lower[axis], --box.lower[axis], "
           "--box.upper[axis];",
           "ranks_tests", "*Exchange*"),
    Mutant("wrap around a periodic edge forgotten", "src/grid/grid.cpp",
           "if (!periodic(axis)) return -1;",
           "if (!periodic(axis) || process_grid_[axis] == 2) return -1;",
           "ranks_tests", "*Exchange*", 2),
    Mutant("signal without bytes left out", "src/exchange/messages.cpp",
           "if (message.send.empty() && message.receive.empty()) continue;",
           "if (message.send.empty() || message.receive.empty()) continue;",
           "ranks_tests", "*Exchange*"),
    Mutant("flag raised before the data is there", "src/exchange/exchange.cpp",
           "  if (!packing_.empty()) pack_clock_",
           "  for (const auto& channel : channels_) channel->start(stream);\n"
           "  if (!packing_.empty()) pack_clock_",
           "ranks_tests", "*Exchange*"),
    Mutant("epoch frozen", "src/transport/shared/shared.cpp",
           "++epoch_;", "epoch_ = 1;",
           "conformance_tests", "*", 2),
    Mutant("one slot instead of two", "src/transport/shared/shared.cpp",
           "at += 2 * bytes;", "places.back().odd = places.back().even;\n      at += bytes;",
           "conformance_tests", "*", 2),
    Mutant("fence dropped", "src/device/port.hpp",
           "std::memory_order_release", "std::memory_order_relaxed",
           "port_threads"),
    Mutant("wait without looking", "src/device/port.hpp",
           "load(std::memory_order_acquire) >=\n         epoch;",
           "load(std::memory_order_acquire) + 1 >=\n         epoch;",
           "conformance_tests", "*", 2),
    Mutant("second piece of a message at the wrong place", "src/transport/mpi/channel.cpp",
           "at += piece;", "at += piece + (at == 0 ? 0 : 1);",
           "conformance_tests", "*", 2),
    Mutant("a run's stride taken for its length", "src/pack/host/copies.cpp",
           "std::memcpy(to + i * run.stride, from + i * static_cast<std::int64_t>(Bytes), Bytes);",
           "std::memcpy(to + i * run.bytes, from + i * static_cast<std::int64_t>(Bytes), Bytes);",
           "ranks_tests", "*Exchange*"),
    Mutant("plans not compared", "src/comm/collectives.cpp",
           "if (other == differs.end()) return;",
           "return;",
           "ranks_tests", "*Exchange*:*Collectives*"),
    Mutant("surplus sweep kept", "src/solver/reduced_stopping.cpp",
           "return sweeps - 1;  // one sweep too many",
           "return sweeps;",
           "ranks_tests", "Solver*"),
    Mutant("rim of a deep halo too narrow", "src/solver/time_loop.cpp",
           "std::min(fresh_layers_, the_case.sweeps - sweep) - 1;",
           "std::max<std::int64_t>(0, std::min(fresh_layers_, the_case.sweeps - sweep) - 2);",
           "ranks_tests", "*SameBits*"),
    Mutant("a difference overlooked by --verify", "src/solver/verify.cpp",
           "for (std::int64_t i = 0; i < count; ++i) {",
           "for (std::int64_t i = 0; i + 1 < count; ++i) {",
           "ranks_tests", "Verify*"),
    Mutant("wait limit ignored", "src/comm/waiting.cpp",
           "if (limit <= 0) continue;", "continue;",
           "ranks_tests", "*Waiting*", 2),

    # On a GPU.
    Mutant("a piece sent before it has come to the host", "src/transport/staged/staged.cpp",
           "in_order &= piece.gpu == nullptr || piece.staged->reached();",
           "in_order &= true;",
           "conformance_tests", "*stagedOverDevice*", 2),
    Mutant("a piece brought to the host before it is packed", "src/transport/staged/staged.cpp",
           "if (to_host_ != nullptr) packed_.hold(to_host_->get());", "",
           "conformance_tests", "*stagedOverDevice*", 2, "random:2"),
    Mutant("halos unpacked before they are on the GPU", "src/transport/staged/staged.cpp",
           "on_gpu_.hold(stream);", "static_cast<void>(stream);",
           "conformance_tests", "*stagedOverDevice*", 2),
    Mutant("a message posted before the GPU has packed it", "src/transport/mpi/channel.cpp",
           "if (ready_.reached())\n    post();\n  else\n    enter();",
           "post();",
           "conformance_tests", "*mpiOverPinned*", 2),
    Mutant("others in flight left where they are", "src/comm/waiting.cpp",
           "in_flight[i]->move_on();", ";",
           "conformance_tests", "*Another/mpiOverPinned*", 2),
    Mutant("a packing job begun at the wrong word", "src/pack/cuda/copies.cu",
           "long_piece ? 0 : within", "0 * within",
           "conformance_tests", "Pack*", 1),
    Mutant("a slot chosen when the plan is made", "src/pack/cuda/copies.cu",
           "*job.epoch + (packs ? 1 : 0)", "(packs ? 1 : 0)",
           "conformance_tests", "Pack*", 1),
    Mutant("the cells before a region written too", "src/stencil/cuda/march.cuh",
           "const bool holds = x >= 0 && column + i < end;",
           "const bool holds = column + i < end;",
           "conformance_tests", "*GpuBackends*", 1),
    Mutant("a sum of the last block alone", "src/stencil/cuda/change.cuh",
           "__ldcg(&place.partials[block])", "__ldcg(&place.partials[blockIdx.x])",
           "conformance_tests", "*Backends*", 1),
    Mutant("a stop word that no march reads", "src/stencil/cuda/march.cuh",
           "if (work.stop != nullptr && *work.stop != 0) return;", "",
           "conformance_tests", "*GpuBackends*", 1),
]
