// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts read without MPI and without using a GPU, as this process starts jobs later. Each source is
// one function; `root` precedes /proc, /sys and /dev.

#include <filesystem>
#include <optional>
#include <string>

#include "base/process/variables.hpp"
#include "doctor/facts.hpp"

namespace halocline::doctor {

Limits read_limits(const Variables& variables, const std::filesystem::path& root = "/");
Allocation read_allocation(const Variables& variables);
std::vector<Adapter> read_adapters(const std::filesystem::path& root = "/");
/// Pairs each GPU with each adapter, if the PCI locations of both are known.
std::vector<NearAdapter> near_adapters(const std::vector<device::Gpu>& gpus,
                                       const std::vector<Adapter>& adapters,
                                       const std::filesystem::path& root = "/");
/// Reads the files of Open MPI parameters of the user and the system. `launcher` is the path of its
/// launcher, whose installation may have its own files.
std::vector<ParameterFile> read_parameter_files(const Variables& variables,
                                                const std::string& launcher = "",
                                                const std::filesystem::path& root = "/");
/// Returns the value of mca_base_param_files that leaves the suspects out.
std::string files_without(const std::vector<ParameterFile>& files,
                          const std::vector<ParameterFile>& suspects);
/// Selects variables that influence MPI, UCX, NCCL, NVSHMEM, CUDA and this program.
Variables settings_among(const Variables& variables);

/// Selects variables that configure MPI, its launcher and its network layers, their libraries and
/// temporary files.
Variables settings_of_mpi(const Variables& variables);

/// Returns the average number of runnable processes in the last minute.
std::optional<double> read_load(const std::filesystem::path& root = "/");

NodeFacts read_node(const Variables& variables);

/// Notes which program PATH has first under the launcher's name and, if that is another program,
/// why it was not used.
void note_first_in_path(Launching& launching, MpiFamily family, const Variables& variables);

/// Takes the user's launcher, of whatever MPI, or finds one. `named` is --launcher; `hint`: see
/// find_launcher().
Launching read_launching(const std::optional<std::string>& named, const std::string& hint,
                         MpiFamily family, const Variables& variables);

}  // namespace halocline::doctor
