#pragma once
// Proofs that a command makes before it starts ranks, or as their first one.

#include "cli/command_line.hpp"

namespace halocline::cli {

/// Shows, in a job of its own, what MPI does with this machine's GPUs, unless that is known or
/// nobody needs to know: few ranks, no GPU, another transport. To be called before MPI and GPUs
/// are used, by every rank; only the first does something. Says on standard error what it does.
void make_proofs(const SolveCommand& command);

}  // namespace halocline::cli
