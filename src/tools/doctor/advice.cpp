// SPDX-License-Identifier: Apache-2.0
#include "doctor/advice.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace halocline::doctor {
namespace {

constexpr auto program = "halocline solve laplace --cells 8192x8192";

// In a batch script: if a job ends before its run, the next job resumes the run.
constexpr auto run_of_a_job =
    "# The run, or what is left of it:\n"
    "run=(solve laplace --cells 8192x8192 --checkpoint checkpoints)\n"
    "compgen -G 'checkpoints/sweep-*' >/dev/null && run=(solve --restart checkpoints)\n\n";
constexpr auto program_of_a_job = "halocline \"${run[@]}\"";

bool is_pals(const Evidence& evidence, const Launcher& launcher) {
  const NodeFacts& node = evidence.facts.node;
  if (launcher.kind != LauncherKind::hydra && launcher.kind != LauncherKind::other) return false;
  return launcher.path.find("/pals/") != std::string::npos ||
         (node.allocation.manager == "PBS" && node.mpi.find("CRAY") != std::string::npos);
}

/// "NAME=VALUE " for each setting, to precede a command.
std::string before(const Variables& settings) {
  std::string words;
  for (const auto& [name, value] : settings) words += fmt::format("{}={} ", name, value);
  return words;
}

/// The launcher, followed by the user's own options.
std::string launcher_words(const Start& start) {
  std::string words = start.launcher;
  for (const std::string& argument : start.arguments) words += " " + argument;
  return words;
}

std::string with_mpirun(const Start& start) {
  std::string words = fmt::format("{} -n {}", launcher_words(start), start.ranks * start.nodes);
  if (start.as_root) words += " --allow-run-as-root";
  if (start.cores_per_rank > 1 || start.nodes > 1)
    words +=
        fmt::format(" --map-by {}:PE={}",
                    start.nodes > 1 ? fmt::format("ppr:{}:node", start.ranks) : std::string("slot"),
                    start.cores_per_rank);
  words += " --bind-to core";
  constexpr std::string_view parameter = "OMPI_MCA_";
  for (const auto& [name, value] : start.settings)
    words += name.starts_with(parameter)
                 ? fmt::format(" --mca {} {}", name.substr(parameter.size()), value)
                 : fmt::format(" -x {}={}", name, value);
  return words;
}

std::string with_hydra(const Start& start) {
  std::string words = fmt::format("{} -n {}", launcher_words(start), start.ranks * start.nodes);
  if (start.nodes > 1) words += fmt::format(" -ppn {}", start.ranks);
  words += fmt::format(" -bind-to core:{}", start.cores_per_rank);
  for (const auto& [name, value] : start.settings)
    words += fmt::format(" -genv {} {}", name, value);
  return words;
}

std::string with_pals(const Start& start) {
  std::string words =
      fmt::format("{} -n {} --ppn {} --depth {} --cpu-bind depth", launcher_words(start),
                  start.ranks * start.nodes, start.ranks, start.cores_per_rank);
  for (const auto& [name, value] : start.settings)
    words += fmt::format(" --env {}={}", name, value);
  return words;
}

std::string with_srun(const Start& start) {
  std::string words =
      fmt::format("{}{} -n {} --cpus-per-task={} --cpu-bind=cores", before(start.settings),
                  launcher_words(start), start.ranks * start.nodes, start.cores_per_rank);
  if (start.nodes > 1)
    words += fmt::format(" -N {} --ntasks-per-node={}", start.nodes, start.ranks);
  if (start.gpus > 0) words += fmt::format(" --gpus-per-node={} --gpu-bind=none", start.gpus);
  if (!start.srun_mpi.empty()) words += " --mpi=" + start.srun_mpi;
  return words;
}

bool has_option(const std::vector<std::string>& words, std::string_view option) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word.starts_with(option); });
}

std::string in_script(const std::string& command) {
  return fmt::format("{}\n", fmt::join(in_lines(command), "\n    "));
}

std::string start_command(const Start& start, std::string_view what) {
  const std::string command =
      start.starter == Starter::as_given
          ? before(start.settings) + fmt::format("{}", fmt::join(start.words, " "))
      : start.starter == Starter::open_mpi ? with_mpirun(start)
      : start.starter == Starter::hydra    ? with_hydra(start)
      : start.starter == Starter::pals     ? with_pals(start)
                                           : with_srun(start);
  return fmt::format("{} {}", command, what);
}

std::string slurm_script(const Start& start) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "#SBATCH --job-name=halocline\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node={}\n"
      "#SBATCH --cpus-per-task={}\n",
      start.nodes, start.ranks, start.cores_per_rank);
  if (start.gpus > 0) text += fmt::format("#SBATCH --gpus-per-node={}\n", start.gpus);
  text +=
      "#SBATCH --time=00:30:00\n"
      "# Two minutes before that, the run writes a checkpoint and ends with exit code 5.\n"
      "#SBATCH --signal=TERM@120\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=halocline-%j.out\n"
      "# Sites may want these; without the first # they count:\n"
      "##SBATCH --account=NAME\n"
      "##SBATCH --partition=NAME\n\n";
  for (const auto& [name, value] : start.settings)
    text += fmt::format("export {}={}\n", name, value);
  text += "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK\n";
  text += run_of_a_job;
  if (start.gpus > 0)
    text += "# Every rank sees all GPUs, or they could not reach each other's memory.\n";
  const std::string command =
      fmt::format("srun --cpu-bind=cores{}{} {}", start.gpus > 0 ? " --gpu-bind=none" : "",
                  start.srun_mpi.empty() ? "" : " --mpi=" + start.srun_mpi, program_of_a_job);
  return text + in_script(command) +
         "code=$?\n"
         "if ((code == 5)); then exec scontrol requeue \"$SLURM_JOB_ID\"; fi\n"
         "exit $code\n";
}

std::string pbs_script(const Start& start) {
  std::string text = fmt::format(
      "#!/bin/bash\n"
      "#PBS -N halocline\n"
      "#PBS -l select={}:ncpus={}:mpiprocs={}{}\n"
      "#PBS -l walltime=00:30:00\n"
      "#PBS -j oe\n"
      "# Sites may want these; without the first # they count:\n"
      "##PBS -A ACCOUNT\n"
      "##PBS -q QUEUE\n\n"
      "cd \"$PBS_O_WORKDIR\"\n",
      start.nodes, start.ranks * start.cores_per_rank, start.ranks,
      start.gpus > 0 ? fmt::format(":ngpus={}", start.gpus) : "");
  return text + run_of_a_job +
         "# After 28 of the 30 minutes the run writes a checkpoint and ends with exit code 5; "
         "submit\n"
         "# this script again, and it continues.\n"
         "(sleep 1680 && touch checkpoints/stop) &\n" +
         in_script(start_command(start, program_of_a_job)) +
         "code=$?\n"
         "kill $!\n"
         "exit $code\n";
}

}  // namespace

std::optional<Batch> batch_named(std::string_view name) {
  if (name == "slurm") return Batch::slurm;
  if (name == "pbs") return Batch::pbs;
  return std::nullopt;
}

Start recommended_start(const Evidence& evidence, User user) {
  const NodeFacts& node = evidence.facts.node;
  const Launching& launching = evidence.facts.launching;
  const bool is_open_mpi = node.family == MpiFamily::open_mpi;
  Start start;
  start.starter = is_open_mpi ? Starter::open_mpi : Starter::hydra;
  start.launcher = is_open_mpi ? "mpirun" : "mpiexec";
  start.srun_mpi = is_open_mpi ? "pmix" : node.mpi.find("CRAY") != std::string::npos ? "" : "pmi2";
  const auto& launcher = launching.instead ? launching.instead : launching.launcher;
  if (launcher && (launching.instead || launching.objection.empty())) {
    // The bare name would start another program, or none.
    start.launcher = launching.first_in_path
                         ? launcher->path
                         : std::filesystem::path(launcher->path).filename().string();
    start.is_known = launcher->kind != LauncherKind::other;
    if (launcher->kind == LauncherKind::srun) start.starter = Starter::srun;
    if (is_pals(evidence, *launcher)) start.starter = Starter::pals;
  }
  std::set<std::string> gpus;
  std::size_t most_seen = 0;
  for (const machine::RankFacts& rank : evidence.facts.ranks.machine) {
    if (rank.node != evidence.facts.ranks.machine.front().node) continue;
    for (const machine::VisibleGpu& one : rank.visible) gpus.insert(one.gpu.uuid);
    most_seen = std::max(most_seen, rank.visible.size());
  }
  start.gpus = static_cast<int>(gpus.size());
  // If ranks see different GPUs, a run may use more than the probe's ranks have shown.
  if (most_seen < gpus.size()) start.gpus = std::max(start.gpus, node.gpu_files);
  start.ranks = start.gpus > 0 ? start.gpus : std::max(1, node.usable_cores);
  start.cores_per_rank = std::max(1, node.usable_cores / start.ranks);
  start.settings = fix_settings(evidence);
  // Cray MPICH accepts GPU memory only with this setting.
  if (node.mpi.find("CRAY") != std::string::npos && start.gpus > 0)
    start.settings["MPICH_GPU_SUPPORT_ENABLED"] = "1";
  start.as_root = user == User::root;
  start.nodes = std::max(1, static_cast<int>(evidence.facts.ranks.nodes.size()));
  if (!launcher || launching.chosen_by.empty() || launching.instead || !launching.objection.empty())
    return start;
  if (start.nodes > 1 || has_ranks_placeholder(*launcher)) {
    start.starter = Starter::as_given;
    start.words = command(*launcher,
                          {.ranks = start.nodes > 1 ? evidence.ranks : start.ranks, .program = ""});
    start.words.pop_back();
  } else {
    start.arguments = launcher->arguments;
    if (start.starter == Starter::srun && has_option(start.arguments, "--mpi")) start.srun_mpi = "";
  }
  return start;
}

std::string launch_line(const Start& start) { return start_command(start, program); }

std::string stop_line(const Start& start) {
  // Open MPI 4.1 and MPICH 4.0 forward SIGUSR1 to ranks and wait for them. On SIGTERM, SIGINT and
  // SIGHUP Open MPI ends them about a second later, and MPICH dies of SIGHUP and SIGUSR2.
  const bool forwards_signal =
      start.is_known && (start.starter == Starter::open_mpi || start.starter == Starter::hydra);
  return forwards_signal ? fmt::format("kill -USR1 PID (the process id of {})", start.launcher)
         : start.starter == Starter::srun
             ? "scancel --signal=USR1 JOB"
             : "touch FOLDER/stop (FOLDER: the one given to --checkpoint)";
}

std::vector<std::string> in_lines(const std::string& command) {
  constexpr std::size_t width = 80;
  std::vector<std::string> lines{""};
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    std::string& line = lines.back();
    if (!line.empty() && line.size() + word.size() + 1 > width) {
      line += " \\";
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

std::string batch_script(const Start& start, Batch batch) {
  return batch == Batch::slurm ? slurm_script(start) : pbs_script(start);
}

}  // namespace halocline::doctor
