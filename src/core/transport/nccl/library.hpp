// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL as it is found when the program runs: neither its header nor its library is needed to build.

#include <cstddef>
#include <string>

#include "base/libraries/run_time_library.hpp"

namespace halocline::transport::nccl {

/// NCCL's communicator, opaque here too.
struct Comm;

/// NCCL's registration of memory, opaque here too.
struct RegisteredWindow;

/// The identifier by which the ranks of a communicator find each other.
struct UniqueId {
  char bytes[128];
};

// Of nccl.h; these numbers do not change between versions.
inline constexpr int success = 0, in_progress = 7, bytes_type = 0, symmetric_window = 1;

/// The functions that are used of it, as nccl.h declares them.
struct Library {
  std::string path;      ///< of its file
  std::string found_by;  ///< see base/libraries/run_time_library.hpp
  int version = 0;       ///< 22809 is 2.28.9

  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*comm_init_rank)(Comm**, int ranks, UniqueId, int rank) = nullptr;
  int (*comm_destroy)(Comm*) = nullptr;
  int (*comm_abort)(Comm*) = nullptr;
  int (*comm_get_async_error)(Comm*, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*send)(const void*, std::size_t, int type, int peer, Comm*, void* stream) = nullptr;
  int (*receive)(void*, std::size_t, int type, int peer, Comm*, void* stream) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t each, int type, Comm*, void* stream) = nullptr;
  // Of later versions; null before.
  int (*mem_alloc)(void**, std::size_t) = nullptr;
  int (*mem_free)(void*) = nullptr;
  int (*window_register)(Comm*, void*, std::size_t, RegisteredWindow**, int flags) = nullptr;
  int (*window_deregister)(Comm*, RegisteredWindow*) = nullptr;
  int (*peer_pointer)(RegisteredWindow*, std::size_t offset, int peer, void**) = nullptr;
  const char* (*error_text)(int) = nullptr;
  const char* (*last_error)(Comm*) = nullptr;
};

/// The variable that keeps NCCL from registering memory, if it is "off".
inline constexpr const char* windows_variable = "HALOCLINE_NCCL_WINDOWS";

/// "2.28.9", of a handle of dlopen(); empty if it does not report one.
std::string library_version(void* handle);
/// "lacks ncclSend, ncclRecv"; empty if it has all that is used of it.
std::string library_problem(void* handle);

// Exchanges in CUDA graphs with messages of no bytes were wrong before 2.12.10 (its release notes).
inline constexpr LibraryToFind library_to_find{
    "NCCL",           {"libnccl.so.2", "nvidia/nccl/lib", "nccl/lib"},
    "HALOCLINE_NCCL", "PyPI: nvidia-nccl-cu13; Debian: libnccl2",
    library_version,  "2.12.10",
    library_problem};

/// "2.28.9".
std::string version_text(int version);

/// "ncclSend: invalid usage: WHY (NCCL 2.28.9 at 'PATH')".
std::string error_text(const Library& library, int result, const char* call);

/// Returns NCCL, loaded at the first call: the one that the program has loaded already, that of
/// HALOCLINE_NCCL, of a Python package, or of the loader's path. Null if there is none that can be
/// used: why_no_library() returns the reason. Callable from any thread.
const Library* loaded_library();
std::string why_no_library();

}  // namespace halocline::transport::nccl
