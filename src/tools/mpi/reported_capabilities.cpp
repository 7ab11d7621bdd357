// SPDX-License-Identifier: Apache-2.0
#include "mpi/reported_capabilities.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <array>
#include <sstream>
#include <string_view>

#include "comm/tool_interface.hpp"

namespace halocline::mpi {
namespace {

constexpr const char* settings_to_ask[] = {"pml",
                                           "btl",
                                           "osc",
                                           "opal_built_with_cuda_support",
                                           "mpi_built_with_cuda_support",
                                           "opal_cuda_support",
                                           "btl_vader_single_copy_mechanism",
                                           "opal_common_ucx_tls",
                                           "opal_common_ucx_devices",
                                           "MPIR_CVAR_ENABLE_GPU",
                                           "MPIR_CVAR_CH4_NETMOD"};

/// Reads a control variable as text; nothing if there is none of that name.
std::optional<std::string> control_variable(const char* name) {
  int index = 0;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return std::nullopt;
  std::array<char, 1> no_text{};
  int name_length = 1, text_length = 1, verbosity = 0, bind = 0, scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values{};
  if (MPI_T_cvar_get_info(index, no_text.data(), &name_length, &verbosity, &type, &values,
                          no_text.data(), &text_length, &bind, &scope) != MPI_SUCCESS)
    return std::nullopt;
  MPI_T_cvar_handle handle{};
  int count = 0;
  if (MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return std::nullopt;
  std::optional<std::string> value;
  if (type == MPI_CHAR && count > 0) {
    std::vector<char> text(static_cast<std::size_t>(count) + 1);
    if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS) value = text.data();
  } else if ((type == MPI_INT || type == MPI_UNSIGNED) && count == 1) {
    int number = 0;
    if (MPI_T_cvar_read(handle, &number) == MPI_SUCCESS) value = std::to_string(number);
  }
  MPI_T_cvar_handle_free(&handle);
  return value;
}

/// Returns "ch4:ofi"; empty if this is not MPICH or the device is not known.
std::string device_of_mpich() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  constexpr std::string_view label = "MPICH Device:";
  const std::size_t at = all.find(label);
  std::string device;
  if (at != std::string::npos) std::istringstream(all.substr(at + label.size())) >> device;
  return device;
}

std::string thread_level() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_SINGLE       ? "single"
         : level == MPI_THREAD_FUNNELED   ? "funneled"
         : level == MPI_THREAD_SERIALIZED ? "serialized"
                                          : "multiple";
}

bool has(const char* call) { return ::dlsym(RTLD_DEFAULT, call) != nullptr; }

/// Returns the kinds of memory in a communicator's info, which lists them since MPI 4.1.
std::vector<std::string> memory_kinds() {
  std::vector<std::string> kinds;
  MPI_Info info = MPI_INFO_NULL;
  if (MPI_Comm_get_info(MPI_COMM_SELF, &info) != MPI_SUCCESS) return kinds;
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int is_there = 0;
  const int result =
      MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, text.data(), &is_there);
  MPI_Info_free(&info);
  if (result != MPI_SUCCESS || is_there == 0) return kinds;
  std::istringstream list(text.data());
  for (std::string kind; std::getline(list, kind, ',');) kinds.push_back(kind);
  return kinds;
}

}  // namespace

ReportedCapabilities reported_capabilities() {
  ReportedCapabilities reported{.thread_level = thread_level()};
  reported.extras = {.stream_calls = has("MPIX_Stream_create") && has("MPIX_Send_enqueue"),
                     .partitioned_calls = has("MPI_Psend_init"),
                     .memory_kinds = memory_kinds()};
  // An extension of Open MPI and MPICH, whose header may be missing.
  if (void* query = ::dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"))
    reported.takes_gpu = reinterpret_cast<int (*)()>(query)() == 1;
  if (std::string device = device_of_mpich(); !device.empty())
    reported.settings.emplace_back("device", std::move(device));
  const comm::ToolInterface tool_interface;
  if (!tool_interface.is_open()) return reported;
  for (const char* name : settings_to_ask)
    if (auto value = control_variable(name))
      if (!value->empty()) reported.settings.emplace_back(name, std::move(*value));
  return reported;
}

}  // namespace halocline::mpi
