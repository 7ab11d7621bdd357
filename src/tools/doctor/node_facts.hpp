// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts read without MPI and without waking a GPU: jobs are started from here later. Each source is
// one function; `root` stands before /proc, /sys and /dev.

#include <filesystem>
#include <optional>
#include <string>

#include "base/process/variables.hpp"
#include "doctor/facts.hpp"

namespace halocline::doctor {

Limits read_limits(const Variables& variables, const std::filesystem::path& root = "/");
Allocation read_allocation(const Variables& variables);
std::vector<Adapter> read_adapters(const std::filesystem::path& root = "/");
/// Pairs each GPU with each adapter, where it can be told where both are.
std::vector<NearAdapter> near_adapters(const std::vector<device::Gpu>& gpus,
                                       const std::vector<Adapter>& adapters,
                                       const std::filesystem::path& root = "/");
/// Reads the files of Open MPI's parameters that the user and the system have. `launcher`: the path
/// of its launcher, beside which an installation of its own keeps them.
std::vector<ParameterFile> read_parameter_files(const Variables& variables,
                                                const std::string& launcher = "",
                                                const std::filesystem::path& root = "/");
/// The value of mca_base_param_files that leaves the suspects out.
std::string files_without(const std::vector<ParameterFile>& files,
                          const std::vector<ParameterFile>& suspects);
/// Those that change what MPI, UCX, NCCL, NVSHMEM, CUDA and this program do.
Variables settings_among(const Variables& variables);

/// Those by which a user tells MPI, its launcher and its network layers what to do, and where they
/// find libraries and keep temporary files.
Variables settings_of_mpi(const Variables& variables);

/// The processes that ran or wanted to, on average of the last minute.
std::optional<double> read_load(const std::filesystem::path& root = "/");

NodeFacts read_node(const Variables& variables);

/// Notes which program PATH has first under the name of the launcher that doctor uses, and what
/// speaks against it if it is another.
void note_first_in_path(Launching& launching, MpiFamily family, const Variables& variables);

/// Takes the launcher that the user names, whatever family it is of, or finds one. `named` is
/// --launcher, `hint` as find_launcher() takes it.
Launching read_launching(const std::optional<std::string>& named, const std::string& hint,
                         MpiFamily family, const Variables& variables);

}  // namespace halocline::doctor
