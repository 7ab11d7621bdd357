// SPDX-License-Identifier: Apache-2.0
// Stands for NVSHMEM's host library where CUDA runs on the CPU: a library to load with
// HALOCLINE_NVSHMEM, or to link. Each symmetric allocation is memory of the emulated GPU, which the
// other processes open by its handle. Kernels write there, in the order of their streams, also in
// graphs. Of NVSHMEM 3.4.5 it has what nvshmem_host.h declares here. What that leaves undefined
// ends the program with a message: calls before the start, addresses outside symmetric memory,
// sizes that differ between PEs.
//
// NVSHMEM_ON_CPU names a fault: "old" (version 2.9.0), "no-init" (the start fails, returning 0 as
// it does there), "shared-gpu" (status 3 where PEs share a GPU, which are allowed to otherwise),
// "no-ptr" (nvshmem_ptr has no address for other PEs), "hang" (signals never arrive, nor are there
// pointers), "small-heap" (no memory for more than 1 MiB at a time), "no-free", "no-end"
// (nvshmem_free, the end do not return).

#include <cuda_runtime.h>
#include <fcntl.h>
#include <nvshmem_host.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace {

std::string fault() {
  const char* const value = std::getenv("NVSHMEM_ON_CPU");
  return value != nullptr ? value : "";
}

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "nvshmem on the CPU: %s\n", what.c_str());
  std::abort();
}

constexpr int most_pes = 64;

/// What a PE tells the others.
struct Word {
  bool is_good;
  std::size_t bytes;
  cudaIpcMemHandle_t handle;
  char uuid[16];
};

/// What the processes share: a file in /dev/shm, which has its name only until all have mapped it,
/// so that nothing is left behind, whatever becomes of them.
struct Board {
  std::atomic<std::uint64_t> arrived[most_pes];
  Word words[most_pes];
};

/// A symmetric allocation, as this process sees that of each PE.
struct Allocation {
  std::size_t bytes = 0;
  std::vector<char*> of;
};

struct State {
  int pe = 0, pes = 0;
  int status = NVSHMEM_STATUS_NOT_INITIALIZED;
  Board* board = nullptr;
  std::uint64_t meetings = 0;
  std::vector<Allocation> allocations;
  /// For barriers in streams: a word for each PE that arrives, and how many barriers there were.
  Allocation arrivals;
  std::uint64_t barriers = 0;
};

// Never destroyed: a kernel may still look at it when the program ends.
State& state() {
  static auto* const only = new State;
  return *only;
}

State& started(const char* call) {
  if (state().status == NVSHMEM_STATUS_NOT_INITIALIZED)
    give_up(std::string(call) + ": it has not been started");
  return state();
}

// ---- on the host

void stay_if(const char* named) {
  while (fault() == named) ::usleep(1000);
}

/// Returns once all PEs have called it.
void meet() {
  State& here = state();
  const std::uint64_t meeting = ++here.meetings;
  here.board->arrived[here.pe].store(meeting, std::memory_order_release);
  for (int pe = 0; pe < here.pes; ++pe)
    while (here.board->arrived[pe].load(std::memory_order_acquire) < meeting) ::usleep(200);
}

std::vector<Word> gather(const Word& mine) {
  State& here = state();
  here.board->words[here.pe] = mine;
  meet();
  std::vector<Word> all(here.board->words, here.board->words + here.pes);
  meet();
  return all;
}

bool are_good(const std::vector<Word>& all) {
  return std::all_of(all.begin(), all.end(), [](const Word& word) { return word.is_good; });
}

/// Closes the memory of others, then, when they have done so too, frees that of this PE.
void release(const Allocation& allocation) {
  const auto own = static_cast<std::size_t>(state().pe);
  for (std::size_t pe = 0; pe < allocation.of.size(); ++pe)
    if (pe != own && allocation.of[pe] != nullptr) cudaIpcCloseMemHandle(allocation.of[pe]);
  meet();
  cudaFree(allocation.of[own]);
}

/// Returns an allocation without memory unless all PEs succeed.
Allocation allocate(std::size_t alignment, std::size_t bytes) {
  State& here = state();
  Allocation made{bytes, std::vector<char*>(static_cast<std::size_t>(here.pes))};
  char*& own = made.of[static_cast<std::size_t>(here.pe)];
  Word mine{};
  // Memory ends where a page ends, so that whole multiples begin at a multiple, too.
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  mine.bytes = bytes;
  mine.is_good = cudaMalloc(&own, whole) == cudaSuccess &&
                 reinterpret_cast<std::uintptr_t>(own) % alignment == 0 &&
                 cudaIpcGetMemHandle(&mine.handle, own) == cudaSuccess;
  const std::vector<Word> all = gather(mine);
  for (const Word& word : all)
    if (word.bytes != bytes)
      give_up("nvshmem_align: " + std::to_string(bytes) + " bytes on PE " +
              std::to_string(here.pe) + ", " + std::to_string(word.bytes) + " on another");
  bool is_good = are_good(all);
  for (int pe = 0; is_good && pe < here.pes; ++pe) {
    const auto at = static_cast<std::size_t>(pe);
    void* opened = made.of[at];
    if (pe != here.pe)
      is_good = cudaIpcOpenMemHandle(&opened, all[at].handle, cudaIpcMemLazyEnablePeerAccess) ==
                cudaSuccess;
    if (is_good) made.of[at] = static_cast<char*>(opened);
  }
  mine.is_good = is_good;
  if (are_good(gather(mine))) return made;
  cudaGetLastError();
  release(made);
  return {};
}

/// Maps the board of this name, which the first to come makes: its bytes begin as zeros.
Board* board_named(const char* name) {
  const int file = ::shm_open(name, O_CREAT | O_RDWR, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Board)) != 0) give_up("no room in /dev/shm");
  void* const mapped = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) give_up("cannot map what the PEs share");
  return static_cast<Board*>(mapped);
}

/// A structure's first word tells which one the caller has compiled.
template <class T>
bool is_versioned(const T& structure) {
  return structure.version == (1 << 16) + static_cast<int>(sizeof(T));
}

/// Where this PE has an address of symmetric memory, from `pe`; null for any other address.
char* address_at(const State& here, const void* memory, std::size_t bytes, int pe) {
  const auto* const address = static_cast<const char*>(memory);
  if (pe < 0 || pe >= here.pes) return nullptr;
  for (const Allocation& allocation : here.allocations) {
    const char* const own = allocation.of[static_cast<std::size_t>(here.pe)];
    if (address >= own && address + bytes <= own + allocation.bytes)
      return allocation.of[static_cast<std::size_t>(pe)] + (address - own);
  }
  return nullptr;
}

char* remote(const char* call, const void* memory, std::size_t bytes, int pe) {
  const State& here = started(call);
  char* const there = address_at(here, memory, bytes, pe);
  if (there == nullptr)
    give_up(std::string(call) + ": no PE " + std::to_string(pe) + ", or " + std::to_string(bytes) +
            " bytes that are not all in one symmetric allocation");
  return there;
}

// ---- in kernels

void set_signal(std::uint64_t* word, std::uint64_t signal, int operation) {
  if (fault() == "hang") return;
  __threadfence_system();
  if (operation == NVSHMEM_SIGNAL_ADD)
    std::atomic_ref(*word).fetch_add(signal, std::memory_order_release);
  else
    __nv_atomic_store_n(word, signal, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
}

void put_kernel(char* to, const char* from, std::size_t bytes, std::uint64_t* word,
                std::uint64_t signal, int operation) {
  if (bytes > 0) std::memmove(to, from, bytes);
  set_signal(word, signal, operation);
}

bool compare(std::uint64_t found, int comparison, std::uint64_t value) {
  switch (comparison) {
    case NVSHMEM_CMP_EQ:
      return found == value;
    case NVSHMEM_CMP_NE:
      return found != value;
    case NVSHMEM_CMP_GT:
      return found > value;
    case NVSHMEM_CMP_LE:
      return found <= value;
    case NVSHMEM_CMP_LT:
      return found < value;
    default:
      return found >= value;
  }
}

void wait_kernel(const std::uint64_t* word, int comparison, std::uint64_t value) {
  while (!compare(__nv_atomic_load_n(word, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM),
                  comparison, value))
    __nanosleep(1000);
}

std::uint64_t* arrival(int of, int at) {
  char* const words = state().arrivals.of[static_cast<std::size_t>(at)];
  return reinterpret_cast<std::uint64_t*>(words) + of;
}

void barrier_kernel() {
  State& here = state();
  const std::uint64_t barrier = ++here.barriers;
  for (int pe = 0; pe < here.pes; ++pe)
    __nv_atomic_store_n(arrival(here.pe, pe), barrier, __NV_ATOMIC_RELEASE,
                        __NV_THREAD_SCOPE_SYSTEM);
  for (int pe = 0; pe < here.pes; ++pe) wait_kernel(arrival(pe, here.pe), NVSHMEM_CMP_GE, barrier);
}

struct Sum {
  static float of(float a, float b) { return a + b; }
};
struct Max {
  static float of(float a, float b) { return std::max(a, b); }
};

/// What each PE adds to a reduction.
struct Parts {
  const float* of[most_pes];
};

/// Every PE reads what all have, in their order; `to` may be its own part.
template <class Operation>
void reduce_kernel(float* to, Parts parts, std::size_t count) {
  barrier_kernel();
  std::vector<float> total(parts.of[0], parts.of[0] + count);
  for (int pe = 1; pe < state().pes; ++pe)
    for (std::size_t i = 0; i < count; ++i) total[i] = Operation::of(total[i], parts.of[pe][i]);
  barrier_kernel();
  std::copy(total.begin(), total.end(), to);
}

template <class... Params, class... Args>
void queue(const char* call, cudaStream_t stream, void (*kernel)(Params...), Args... args) {
  cudaLaunchConfig_t config{};
  config.gridDim = {1};
  config.blockDim = {1};
  config.stream = stream;
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, args...); error != cudaSuccess)
    give_up(std::string(call) + ": " + cudaGetErrorString(error));
}

void check_operation(const char* call, int operation) {
  if (operation != NVSHMEM_SIGNAL_SET && operation != NVSHMEM_SIGNAL_ADD)
    give_up(std::string(call) + ": no operation " + std::to_string(operation));
}

template <class Operation>
int reduce(const char* call, nvshmem_team_t team, float* to, const float* from, std::size_t count,
           cudaStream_t stream) {
  const State& here = started(call);
  if (team != NVSHMEM_TEAM_WORLD) return 1;
  const std::size_t bytes = count * sizeof(float);
  remote(call, to, bytes, here.pe);
  Parts parts{};
  for (int pe = 0; pe < here.pes; ++pe)
    parts.of[pe] = reinterpret_cast<const float*>(remote(call, from, bytes, pe));
  queue(call, stream, reduce_kernel<Operation>, to, parts, count);
  return 0;
}

}  // namespace

extern "C" {

void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  const bool is_old = fault() == "old";
  *major = is_old ? 2 : 3;
  *minor = is_old ? 9 : 4;
  *patch = is_old ? 0 : 5;
}

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t* id) {
  static std::atomic<int> count{0};
  // Not the name of an earlier process that ended before its others came.
  std::snprintf(id->internal, sizeof id->internal, "/nvshmem-on-cpu-%d-%lx-%d",
                static_cast<int>(::getpid()), static_cast<unsigned long>(std::time(nullptr)),
                count++);
  id->version = (1 << 16) + static_cast<int>(sizeof *id);
  return 0;
}

// As there, the identifier itself must live until the start.
int nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const nvshmemx_uniqueid_t* id,
                                    nvshmemx_init_attr_t* attr) {
  attr->args.uid_args.id = const_cast<nvshmemx_uniqueid_t*>(id);
  attr->args.uid_args.myrank = rank;
  attr->args.uid_args.nranks = ranks;
  return 0;
}

int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t* attr) {
  State& here = state();
  if (here.pes != 0) give_up("it can be started once in a process");
  if (flags != NVSHMEMX_INIT_WITH_UNIQUEID || attr == nullptr) give_up("no unique identifier");
  const nvshmemx_uniqueid_args_t& args = attr->args.uid_args;
  if (!is_versioned(*attr) || !is_versioned(attr->args) || !is_versioned(args) ||
      args.id == nullptr || !is_versioned(*args.id))
    give_up("a structure of the start has another version");
  if (args.nranks < 1 || args.nranks > most_pes || args.myrank < 0 || args.myrank >= args.nranks)
    give_up("no such PE: " + std::to_string(args.myrank) + " of " + std::to_string(args.nranks));
  if (fault() == "no-init") return 0;
  here.pe = args.myrank;
  here.pes = args.nranks;
  here.board = board_named(args.id->internal);
  meet();
  if (here.pe == 0) ::shm_unlink(args.id->internal);

  int device = 0;
  cudaDeviceProp properties{};
  Word mine{};
  mine.is_good = cudaGetDevice(&device) == cudaSuccess &&
                 cudaGetDeviceProperties(&properties, device) == cudaSuccess;
  std::memcpy(mine.uuid, &properties.uuid, sizeof mine.uuid);
  const std::vector<Word> all = gather(mine);
  bool is_shared = false;
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      is_shared |= std::memcmp(all[a].uuid, all[b].uuid, sizeof mine.uuid) == 0;
  if (!are_good(all)) return 0;

  const std::size_t bytes = static_cast<std::size_t>(here.pes) * sizeof(std::uint64_t);
  here.arrivals = allocate(sizeof(std::uint64_t), bytes);
  if (here.arrivals.of.empty()) return 0;
  if (cudaMemset(here.arrivals.of[static_cast<std::size_t>(here.pe)], 0, bytes) != cudaSuccess ||
      cudaDeviceSynchronize() != cudaSuccess)
    give_up("cannot clear memory of the GPU");
  meet();
  here.status = is_shared && fault() == "shared-gpu" ? NVSHMEM_STATUS_LIMITED_MPG
                                                     : NVSHMEM_STATUS_IS_INITIALIZED;
  return 0;
}

int nvshmemx_init_status() { return state().status; }

void nvshmemx_hostlib_finalize() {
  State& here = started("nvshmemx_hostlib_finalize");
  stay_if("no-end");
  meet();
  for (const Allocation& allocation : here.allocations) release(allocation);
  release(here.arrivals);
  here.allocations.clear();
  here.arrivals = {};
  // Others may still read there that this PE has come: the mapping stays as long as the process.
  here.status = NVSHMEM_STATUS_NOT_INITIALIZED;
}

int nvshmem_my_pe() { return started("nvshmem_my_pe").pe; }
int nvshmem_n_pes() { return started("nvshmem_n_pes").pes; }

void* nvshmem_align(std::size_t alignment, std::size_t size) {
  State& here = started("nvshmem_align");
  if (!std::has_single_bit(alignment)) give_up("nvshmem_align: the alignment is no power of 2");
  if (size == 0) return nullptr;
  Allocation made = allocate(alignment, size);
  if (!made.of.empty() && fault() == "small-heap" && size > 1 << 20) {
    release(made);
    made = {};
  }
  if (made.of.empty()) return nullptr;
  here.allocations.push_back(std::move(made));
  return here.allocations.back().of[static_cast<std::size_t>(here.pe)];
}

void nvshmem_free(void* memory) {
  State& here = started("nvshmem_free");
  if (memory == nullptr) return;
  stay_if("no-free");
  const auto own = static_cast<std::size_t>(here.pe);
  const auto found = std::find_if(here.allocations.begin(), here.allocations.end(),
                                  [&](const Allocation& each) { return each.of[own] == memory; });
  if (found == here.allocations.end()) give_up("nvshmem_free: no symmetric memory begins there");
  const Allocation freed = *found;
  here.allocations.erase(found);
  meet();
  release(freed);
}

void* nvshmem_ptr(const void* memory, int pe) {
  const State& here = started("nvshmem_ptr");
  if ((fault() == "no-ptr" || fault() == "hang") && pe != here.pe) return nullptr;
  return address_at(here, memory, 1, pe);
}

void nvshmemx_putmem_signal_on_stream(void* to, const void* from, std::size_t bytes,
                                      std::uint64_t* signal_word, std::uint64_t signal,
                                      int operation, int pe, cudaStream_t stream) {
  constexpr const char* call = "nvshmemx_putmem_signal_on_stream";
  check_operation(call, operation);
  char* const there = remote(call, to, bytes, pe);
  char* const word = remote(call, signal_word, sizeof *signal_word, pe);
  queue(call, stream, put_kernel, there, static_cast<const char*>(from), bytes,
        reinterpret_cast<std::uint64_t*>(word), signal, operation);
}

void nvshmemx_signal_op_on_stream(std::uint64_t* signal_word, std::uint64_t signal, int operation,
                                  int pe, cudaStream_t stream) {
  constexpr const char* call = "nvshmemx_signal_op_on_stream";
  check_operation(call, operation);
  char* const word = remote(call, signal_word, sizeof *signal_word, pe);
  queue(call, stream, set_signal, reinterpret_cast<std::uint64_t*>(word), signal, operation);
}

void nvshmemx_signal_wait_until_on_stream(std::uint64_t* signal_word, int comparison,
                                          std::uint64_t value, cudaStream_t stream) {
  constexpr const char* call = "nvshmemx_signal_wait_until_on_stream";
  if (comparison < NVSHMEM_CMP_EQ || comparison > NVSHMEM_CMP_GE)
    give_up(std::string(call) + ": no comparison " + std::to_string(comparison));
  remote(call, signal_word, sizeof *signal_word, started(call).pe);
  queue(call, stream, wait_kernel, static_cast<const std::uint64_t*>(signal_word), comparison,
        value);
}

/// Puts are complete when their kernels are.
void nvshmemx_quiet_on_stream(cudaStream_t) { started("nvshmemx_quiet_on_stream"); }

void nvshmemx_barrier_all_on_stream(cudaStream_t stream) {
  started("nvshmemx_barrier_all_on_stream");
  queue("nvshmemx_barrier_all_on_stream", stream, barrier_kernel);
}

int nvshmemx_float_sum_reduce_on_stream(nvshmem_team_t team, float* to, const float* from,
                                        std::size_t count, cudaStream_t stream) {
  return reduce<Sum>("nvshmemx_float_sum_reduce_on_stream", team, to, from, count, stream);
}

int nvshmemx_float_max_reduce_on_stream(nvshmem_team_t team, float* to, const float* from,
                                        std::size_t count, cudaStream_t stream) {
  return reduce<Max>("nvshmemx_float_max_reduce_on_stream", team, to, from, count, stream);
}
}
