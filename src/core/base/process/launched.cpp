// SPDX-License-Identifier: Apache-2.0
#include "base/process/launched.hpp"

#include <charconv>
#include <cstdint>
#include <initializer_list>

namespace halocline {
namespace {

std::optional<std::int64_t> number_in(const Variables& variables, const char* name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the first count among `names`; a count is not negative and fits an int.
std::optional<int> count_in(const Variables& variables, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto value = number_in(variables, name);
    if (value && *value >= 0 && *value <= INT32_MAX) return static_cast<int>(*value);
  }
  return std::nullopt;
}

/// A variable that only one launcher sets, and its variables of rank, size and node-local rank.
struct Mark {
  const char* variable;
  const char* launcher;
  const char* rank;
  const char* size;
  std::initializer_list<const char*> local_rank;
};

// Hydra (MPICH, Intel MPI, MVAPICH2) and what speaks PMI like it.
constexpr std::initializer_list<const char*> hydra_local_rank{
    "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK"};

constexpr Mark marks[] = {
    {"OMPI_COMM_WORLD_RANK",
     "mpirun",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     {"OMPI_COMM_WORLD_LOCAL_RANK"}},
    {"PALS_RANKID", "mpiexec", "PALS_RANKID", "PMI_SIZE", {"PALS_LOCAL_RANKID", "PMI_LOCAL_RANK"}},
    {"HYDI_CONTROL_FD", "mpiexec", "PMI_RANK", "PMI_SIZE", hydra_local_rank},
    {"FLUX_TASK_RANK", "flux run", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", {"FLUX_TASK_LOCAL_ID"}},
    {"MV2_COMM_WORLD_RANK",
     "mpirun_rsh",
     "MV2_COMM_WORLD_RANK",
     "MV2_COMM_WORLD_SIZE",
     {"MV2_COMM_WORLD_LOCAL_RANK"}},
};

bool is_set(const Variables& variables, const char* name) { return variables.contains(name); }

/// A job step that Slurm runs a shell or a batch script in, rather than ranks.
bool is_service_step(std::int64_t step) {
  // slurm.h: SLURM_PENDING_STEP 0xfffffffd, EXTERN_CONT ..fc, BATCH_SCRIPT ..fb, INTERACTIVE ..fa
  constexpr std::int64_t first_service_step = 0xfffffff0;
  return step < 0 || step >= first_service_step;
}

/// Returns whether Slurm's variables only describe the shell in which this command was entered.
bool in_slurm_shell(const Variables& variables) {
  const auto step = number_in(variables, "SLURM_STEP_ID");
  return !step || is_service_step(*step) || is_set(variables, "SLURM_PTY_PORT");
}

}  // namespace

std::optional<Launched> launched_by(const Variables& variables) {
  for (const Mark& mark : marks)
    if (is_set(variables, mark.variable))
      return Launched{mark.launcher, count_in(variables, {mark.size}),
                      count_in(variables, {mark.rank}), count_in(variables, mark.local_rank)};

  const bool slurm = is_set(variables, "SLURM_STEP_ID");
  const auto step_size = count_in(variables, {"PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  const auto step_rank = count_in(variables, {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID"});
  if (slurm && !in_slurm_shell(variables))
    return Launched{"srun", step_size, step_rank,
                    count_in(variables, {"SLURM_LOCALID", "PMI_LOCAL_RANK"})};

  // Under an older Hydra in such a shell, PMI_* count; those of the shell itself give one rank.
  const auto pmi_size = count_in(variables, {"PMI_SIZE"});
  const bool of_shell = slurm && pmi_size.value_or(1) <= 1;
  if (is_set(variables, "PMI_RANK") && !of_shell)
    return Launched{"mpiexec", pmi_size, count_in(variables, {"PMI_RANK"}),
                    count_in(variables, hydra_local_rank)};

  if (is_set(variables, launched_variable))
    return Launched{"halocline", count_in(variables, {launched_variable}),
                    count_in(variables, {"PMIX_RANK"}), count_in(variables, hydra_local_rank)};
  return std::nullopt;
}

std::optional<int> local_rank(const Variables& variables) {
  const auto launched = launched_by(variables);
  return launched ? launched->local_rank : std::nullopt;
}

}  // namespace halocline
