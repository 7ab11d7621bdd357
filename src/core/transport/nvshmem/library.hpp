// SPDX-License-Identifier: Apache-2.0
#pragma once
// NVSHMEM's host library as it is found when the program runs: neither its headers nor device code
// are needed to build.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/libraries/run_time_library.hpp"

namespace halocline::transport::nvshmem {

// As its headers of version 3 declare them; the sizes are part of their versions.

/// The identifier by which the processes find each other.
struct UniqueId {
  int version;
  char bytes[124];
};

struct UniqueIdArguments {
  int version;
  UniqueId* id;
  int rank, ranks;
};

struct InitAttributes {
  int version;
  void* mpi_communicator;
  struct Arguments {
    int version;
    UniqueIdArguments unique_id;
    char unused[96];
  } arguments;
};
static_assert(sizeof(UniqueId) == 128 && sizeof(UniqueIdArguments) == 24 &&
              sizeof(InitAttributes::Arguments) == 128 && sizeof(InitAttributes) == 144);

template <class Struct>
constexpr int version_of = (1 << 16) + static_cast<int>(sizeof(Struct));

inline constexpr unsigned init_with_unique_id = 8;
/// The state of a process whose GPU belongs to it alone, and of one that shares it: signals then
/// end the process (3.4.5).
inline constexpr int is_ready = 2, is_limited = 3;
inline constexpr int is_at_least = 5, set_signal = 9;

/// The functions that are used of it.
struct Library {
  std::string path;      ///< of its file
  std::string found_by;  ///< see base/libraries/run_time_library.hpp
  std::string version;   ///< "3.4.5"

  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*set_attributes)(int rank, int ranks, const UniqueId*, InitAttributes*) = nullptr;
  int (*init)(unsigned flags, InitAttributes*) = nullptr;
  int (*init_status)() = nullptr;
  void (*finalize)() = nullptr;
  void* (*align)(std::size_t alignment, std::size_t bytes) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*pointer)(const void*, int rank) = nullptr;
  void (*put_and_signal)(void* to, const void* from, std::size_t bytes, std::uint64_t* signal,
                         std::uint64_t value, int operation, int rank, void* stream) = nullptr;
  void (*signal)(std::uint64_t* signal, std::uint64_t value, int operation, int rank,
                 void* stream) = nullptr;
  void (*wait)(std::uint64_t* signal, int comparison, std::uint64_t value, void* stream) = nullptr;
};

/// "3.4.5", of a handle of dlopen(); empty if it does not report one.
std::string library_version(void* handle);
/// "lacks nvshmem_ptr"; empty if it has all that is used of it.
std::string library_problem(void* handle);

// Its host library was declared complete without device code in 3.0, and putmem_signal_on_stream in
// graphs (its release notes).
inline constexpr LibraryToFind library_to_find{
    "NVSHMEM",           {"libnvshmem_host.so.3", "nvidia/nvshmem/lib", "nvshmem/lib"},
    "HALOCLINE_NVSHMEM", "PyPI: nvidia-nvshmem-cu13; Debian: libnvshmem3-cuda-13",
    library_version,     "3.0.0",
    library_problem};

/// Returns NVSHMEM, loaded at the first call. Null if there is none that can be used:
/// why_no_library() returns the reason. Callable from any thread.
const Library* loaded_library();
std::string why_no_library();

}  // namespace halocline::transport::nvshmem
