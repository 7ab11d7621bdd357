// SPDX-License-Identifier: Apache-2.0
// Stands for NCCL where CUDA runs on the CPU: a library to load with HALOCLINE_NCCL. Messages are
// files in /dev/shm, which kernels write and take, in the order of their streams, also in graphs.
// As with NCCL, messages from one rank to another match by their order alone, and a receive waits
// on the GPU.
//
// NCCL_ON_CPU names a fault: "old" (version 2.10.3), "no-init" (ncclCommInitRank fails), "lost" (an
// asynchronous error once rank 1 has sent), "hang" (messages never arrive), "no-windows" (memory is
// not registered, without an error); or what it has besides: "pointers" (addresses of all peers'
// registered memory).

#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/stat.h>

extern "C" {

struct ncclUniqueId {
  char bytes[128];
};

/// A communicator: its name, and how many messages went to and came from each rank.
struct ncclComm {
  std::string name;
  int rank = 0, ranks = 0;
  std::vector<std::uint64_t> sent, taken;
  int windows = 0;
  // After its calls so far, which are done in their order: those queued, and those recorded.
  cudaEvent_t queued = nullptr, recorded = nullptr;
  std::atomic<bool> aborted{false};
};

/// Registered memory, as this process sees that of each rank.
struct ncclWindow {
  std::vector<char*> of;
};

enum {
  ncclSuccess = 0,
  ncclSystemError = 2,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6
};

enum { ncclChar = 0, ncclFloat = 7 };
enum { ncclSum = 0, ncclMax = 2 };
}

namespace {

std::string fault() {
  const char* const value = std::getenv("NCCL_ON_CPU");
  return value != nullptr ? value : "";
}

std::string file_of(const std::string& name, int from, int to) {
  return "/" + name + "-" + std::to_string(from) + "-" + std::to_string(to);
}

std::string name_of(const ncclComm& comm, int from, int to, std::uint64_t number) {
  return "/" + comm.name + "-" + std::to_string(from) + "-" + std::to_string(to) + "-" +
         std::to_string(number);
}

/// Bytes of a file in /dev/shm; nothing while it is not there.
struct Mapped {
  void* bytes = nullptr;
  std::size_t count = 0;
  ~Mapped() {
    if (bytes != nullptr) ::munmap(bytes, count);
  }
};

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "nccl on the CPU: %s\n", what);
  std::abort();
}

/// The file has its name once it is whole.
void post(const std::string& name, const void* bytes, std::size_t count) {
  const std::string part = name + ".part";
  const int file = ::shm_open(part.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
  // One byte more, for a mapping of no bytes is none.
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(count + 1)) != 0)
    give_up("no room in /dev/shm");
  Mapped mapped{::mmap(nullptr, count + 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), count + 1};
  ::close(file);
  if (mapped.bytes == MAP_FAILED) give_up("cannot map a message");
  if (count > 0) std::memcpy(mapped.bytes, bytes, count);
  const std::string folder = "/dev/shm";
  if (std::rename((folder + part).c_str(), (folder + name).c_str()) != 0)
    give_up("cannot name a message");
}

bool take(const std::string& name, void* bytes, std::size_t count) {
  const int file = ::shm_open(name.c_str(), O_RDWR, 0600);
  if (file < 0) return false;
  Mapped mapped{::mmap(nullptr, count + 1, PROT_READ, MAP_SHARED, file, 0), count + 1};
  struct stat status {};
  const bool fits =
      ::fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == count + 1;
  ::close(file);
  if (!fits || mapped.bytes == MAP_FAILED) give_up("a message has another size than its receive");
  if (count > 0) std::memcpy(bytes, mapped.bytes, count);
  ::shm_unlink(name.c_str());
  return true;
}

void send_kernel(ncclComm* comm, int peer, const void* bytes, std::size_t count) {
  if (fault() == "hang" || comm->aborted) return;
  post(name_of(*comm, comm->rank, peer, comm->sent[static_cast<std::size_t>(peer)]++), bytes,
       count);
}

void receive_kernel(ncclComm* comm, int peer, void* bytes, std::size_t count) {
  const std::string name =
      name_of(*comm, peer, comm->rank, comm->taken[static_cast<std::size_t>(peer)]++);
  while (!comm->aborted && !take(name, bytes, count)) __nanosleep(1000);
}

/// Every rank sends its values to all, and takes those of all in their order.
void reduce_kernel(ncclComm* comm, const float* from, float* to, std::size_t count, int operation) {
  const std::size_t bytes = count * sizeof(float);
  for (int peer = 0; peer < comm->ranks; ++peer) send_kernel(comm, peer, from, bytes);
  std::vector<float> part(count), total(count);
  for (int peer = 0; peer < comm->ranks; ++peer) {
    receive_kernel(comm, peer, part.data(), bytes);
    for (std::size_t i = 0; i < count; ++i)
      total[i] = peer == 0              ? part[i]
                 : operation == ncclSum ? total[i] + part[i]
                                        : std::max(total[i], part[i]);
  }
  std::copy(total.begin(), total.end(), to);
}

std::size_t bytes_of(int type) {
  if (type != ncclChar && type != ncclFloat) give_up("a type that is not known here");
  return type == ncclFloat ? sizeof(float) : 1;
}

/// Calls of a group are queued at its end: all sends before the receives, which wait.
struct Call {
  bool is_send;
  ncclComm* comm;
  int peer;
  void* bytes;
  std::size_t count;
  cudaStream_t stream;
};
thread_local int depth = 0;
thread_local std::vector<Call> group;

int queue(const Call& call) {
  cudaLaunchConfig_t config{};
  config.gridDim = {1};
  config.blockDim = {1};
  config.stream = call.stream;
  const cudaError_t error =
      call.is_send ? cudaLaunchKernelEx(&config, send_kernel, call.comm, call.peer,
                                        static_cast<const void*>(call.bytes), call.count)
                   : cudaLaunchKernelEx(&config, receive_kernel, call.comm, call.peer, call.bytes,
                                        call.count);
  return error == cudaSuccess ? ncclSuccess : ncclSystemError;
}

cudaEvent_t last_before(const Call& call) {
  cudaStreamCaptureStatus status{};
  cudaStreamIsCapturing(call.stream, &status);
  return status == cudaStreamCaptureStatusNone ? call.comm->queued : call.comm->recorded;
}

/// Calls of a communicator follow each other, on several streams too. An event of an earlier graph
/// holds nothing: the wait fails.
void follow(const Call& call) {
  if (cudaStreamWaitEvent(call.stream, last_before(call)) != cudaSuccess) cudaGetLastError();
}

int queue_group() {
  std::vector<Call> calls;
  calls.swap(group);
  for (const Call& call : calls) follow(call);
  for (const bool sends : {true, false})
    for (const Call& call : calls)
      if (call.is_send == sends)
        if (const int result = queue(call); result != ncclSuccess) return result;
  for (const Call& call : calls) cudaEventRecord(last_before(call), call.stream);
  return ncclSuccess;
}

int add(const Call& call) {
  if (call.comm == nullptr || call.peer < 0 || call.peer >= call.comm->ranks)
    return ncclInvalidArgument;
  group.push_back(call);
  return depth > 0 ? ncclSuccess : queue_group();
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) {
  *version = fault() == "old" ? 21003 : 23004;
  return ncclSuccess;
}

int ncclGetUniqueId(ncclUniqueId* id) {
  if (fault() == "no-interface") return ncclInvalidUsage;
  static std::atomic<int> count{0};
  std::memset(id->bytes, 0, sizeof id->bytes);
  // Not the name of an earlier process that ended without taking its messages.
  std::snprintf(id->bytes, sizeof id->bytes, "nccl-on-cpu-%d-%lx-%d", static_cast<int>(::getpid()),
                static_cast<unsigned long>(std::time(nullptr)), count++);
  return ncclSuccess;
}

int ncclCommInitRank(ncclComm** comm, int ranks, ncclUniqueId id, int rank) {
  if (fault() == "no-init") return ncclInvalidUsage;
  auto made = std::make_unique<ncclComm>();
  made->name = id.bytes;
  made->rank = rank;
  made->ranks = ranks;
  made->sent.resize(static_cast<std::size_t>(ranks));
  made->taken.resize(static_cast<std::size_t>(ranks));
  for (cudaEvent_t* event : {&made->queued, &made->recorded})
    if (cudaEventCreateWithFlags(event, cudaEventDisableTiming) != cudaSuccess)
      return ncclSystemError;
  *comm = made.release();
  return ncclSuccess;
}

int ncclMemAlloc(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes) == cudaSuccess ? ncclSuccess : ncclSystemError;
}

int ncclMemFree(void* memory) {
  return cudaFree(memory) == cudaSuccess ? ncclSuccess : ncclSystemError;
}

// The ranks meet in both: afterwards nobody looks at what others free.
int ncclCommWindowRegister(ncclComm* comm, void* memory, std::size_t, ncclWindow** window, int) {
  *window = nullptr;
  if (fault() == "no-windows") return ncclSuccess;
  auto made = std::make_unique<ncclWindow>();
  made->of.resize(static_cast<std::size_t>(comm->ranks));
  cudaIpcMemHandle_t handle{};
  if (cudaIpcGetMemHandle(&handle, memory) != cudaSuccess) return ncclSystemError;
  const std::string name = comm->name + "-window-" + std::to_string(comm->windows++);
  for (int rank = 0; rank < comm->ranks; ++rank)
    post(file_of(name, comm->rank, rank), &handle, sizeof handle);
  for (int rank = 0; rank < comm->ranks; ++rank) {
    cudaIpcMemHandle_t theirs{};
    while (!take(file_of(name, rank, comm->rank), &theirs, sizeof theirs)) ::usleep(100);
    void*& address = reinterpret_cast<void*&>(made->of[static_cast<std::size_t>(rank)]);
    if (rank == comm->rank)
      address = memory;
    else if (cudaIpcOpenMemHandle(&address, theirs, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess)
      return ncclSystemError;
  }
  *window = made.release();
  return ncclSuccess;
}

int ncclCommWindowDeregister(ncclComm* comm, ncclWindow* window) {
  for (int rank = 0; rank < comm->ranks; ++rank)
    if (rank != comm->rank) cudaIpcCloseMemHandle(window->of[static_cast<std::size_t>(rank)]);
  delete window;
  return ncclSuccess;
}

int ncclGetPeerDevicePointer(ncclWindow* window, std::size_t offset, int peer, void** address) {
  *address = fault() == "pointers" ? window->of[static_cast<std::size_t>(peer)] + offset : nullptr;
  return ncclSuccess;
}

int ncclCommDestroy(ncclComm* comm) {
  cudaEventDestroy(comm->queued);
  cudaEventDestroy(comm->recorded);
  delete comm;
  return ncclSuccess;
}

// Kernels may still look at the communicator, so it stays.
int ncclCommAbort(ncclComm* comm) {
  comm->aborted = true;
  return ncclSuccess;
}

int ncclCommGetAsyncError(ncclComm* comm, int* error) {
  const bool lost =
      fault() == "lost" && comm->rank == 0 && !comm->taken.empty() && comm->taken.back() > 0;
  *error = lost ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}

int ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

int ncclGroupEnd() {
  if (depth == 0) return ncclInvalidUsage;
  return --depth > 0 ? ncclSuccess : queue_group();
}

int ncclSend(const void* values, std::size_t count, int type, int peer, ncclComm* comm,
             cudaStream_t stream) {
  return add({true, comm, peer, const_cast<void*>(values), count * bytes_of(type), stream});
}

int ncclRecv(void* values, std::size_t count, int type, int peer, ncclComm* comm,
             cudaStream_t stream) {
  return add({false, comm, peer, values, count * bytes_of(type), stream});
}

int ncclAllGather(const void* mine, void* all, std::size_t count, int type, ncclComm* comm,
                  cudaStream_t stream) {
  ncclGroupStart();
  for (int rank = 0; rank < comm->ranks; ++rank) {
    ncclSend(mine, count, type, rank, comm, stream);
    ncclRecv(static_cast<char*>(all) + static_cast<std::size_t>(rank) * count * bytes_of(type),
             count, type, rank, comm, stream);
  }
  return ncclGroupEnd();
}

/// Not in groups.
int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int operation,
                  ncclComm* comm, cudaStream_t stream) {
  if (depth > 0 || type != ncclFloat || (operation != ncclSum && operation != ncclMax))
    return ncclInvalidUsage;
  const Call call{true, comm, comm->rank, to, count, stream};
  follow(call);
  cudaLaunchConfig_t config{};
  config.gridDim = {1};
  config.blockDim = {1};
  config.stream = stream;
  if (cudaLaunchKernelEx(&config, reduce_kernel, comm, static_cast<const float*>(from),
                         static_cast<float*>(to), count, operation) != cudaSuccess)
    return ncclSystemError;
  cudaEventRecord(last_before(call), stream);
  return ncclSuccess;
}

const char* ncclGetErrorString(int result) {
  return result == ncclSuccess        ? "no error"
         : result == ncclRemoteError  ? "remote process exited or there was a network error"
         : result == ncclInvalidUsage ? "invalid usage"
                                      : "system error";
}

const char* ncclGetLastError(ncclComm*) {
  return fault() == "no-interface" ? "Bootstrap : no socket interface found" : "nccl on the CPU";
}
}
