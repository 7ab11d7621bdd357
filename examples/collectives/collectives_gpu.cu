// SPDX-License-Identifier: Apache-2.0
// Collectives on GPU memory: directly where this MPI can, through the host where it cannot.
#include <mpi.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include "../gpu.cuh"

namespace {

struct World {
  int rank, ranks;
};
using Collective = void (*)(const double* in, double* out, int count, MPI_Comm comm);

// What a rank gives, and what each collective makes of it.
constexpr int count = 4;  // values for each rank
double given(int rank, int i) { return 10.0 * rank + i; }

void broadcast(const double* in, double* out, int values, MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  // MPI only reads the root's values.
  MPI_Bcast(rank == 0 ? const_cast<double*>(in) : out, values, MPI_DOUBLE, 0, comm);
}
double expect_broadcast(World, int i) { return given(0, i); }

void add(const double* in, double* out, int values, MPI_Comm comm) {
  MPI_Allreduce(in, out, values, MPI_DOUBLE, MPI_SUM, comm);
}
double expect_sum(World world, int i) {
  return world.ranks * (5.0 * (world.ranks - 1) + i);  // sum of 10 rank + i over ranks
}

void transpose(const double* in, double* out, int values, MPI_Comm comm) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  MPI_Alltoall(in, values / ranks, MPI_DOUBLE, out, values / ranks, MPI_DOUBLE, comm);
}
double expect_transpose(World world, int i) {
  return given(i / count, world.rank * count + i % count);
}

// Moves bytes as a collective would between ranks, but to this rank itself.
void send_to_self(const double* in, double* out, int values, MPI_Comm self) {
  MPI_Sendrecv(in, values, MPI_DOUBLE, 0, 0, out, values, MPI_DOUBLE, 0, 0, self,
               MPI_STATUS_IGNORE);
}

sigjmp_buf before;
extern "C" void jump_back(int signal) { siglongjmp(before, signal); }

// Calls what may crash. Returns 0, or the signal that ended it.
template <class Call>
int signal_of(Call&& call) {
  struct sigaction action {
  }, kept[2];
  action.sa_handler = jump_back;
  sigaction(SIGSEGV, &action, &kept[0]);
  sigaction(SIGBUS, &action, &kept[1]);
  const int signal = sigsetjmp(before, 1);
  if (signal == 0) call();
  sigaction(SIGSEGV, &kept[0], nullptr);
  sigaction(SIGBUS, &kept[1], nullptr);
  return signal;
}

// Memory of a GPU, or of the host where there is none, with the way there and back.
class Values {
 public:
  Values(int values, bool on_gpu) : on_gpu_(on_gpu), host_(static_cast<std::size_t>(values), -1) {
    if (on_gpu_) check(cudaMalloc(&device_, bytes()), "memory on the GPU");
    to_device();
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() {
    if (on_gpu_) cudaFree(device_);
  }
  double* data() { return on_gpu_ ? device_ : host_.data(); }
  std::vector<double>& host() { return host_; }
  void to_device() {
    if (!on_gpu_) return;
    check(cudaMemcpy(device_, host_.data(), bytes(), cudaMemcpyHostToDevice), "a copy");
    // From ordinary memory that call may return before all has arrived, and MPI reads at once.
    check(cudaStreamSynchronize(nullptr), "a copy");
  }
  void to_host() {
    if (on_gpu_)
      check(cudaMemcpy(host_.data(), device_, bytes(), cudaMemcpyDeviceToHost), "a copy");
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(double); }
  bool on_gpu_;
  std::vector<double> host_;
  double* device_ = nullptr;
};

// True if MPI took the GPU's memory and moved what was there, for every rank. Tried with this rank
// alone, where no other can be left waiting. After a crash inside MPI, this communicator is not
// used again; that the rest of MPI still works is what one sees in practice, and no standard's
// promise.
bool works_alone(Collective collective, int& signal) {
  MPI_Comm self;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  Values in(count, true), out(count, true);
  for (int i = 0; i < count; ++i) in.host()[static_cast<std::size_t>(i)] = given(7, i);
  in.to_device();
  signal = signal_of([&] { collective(in.data(), out.data(), count, self); });
  out.to_host();
  int good = signal == 0 && out.host() == in.host();
  if (signal == 0) MPI_Comm_free(&self);
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &signal, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return good;
}

// Runs a collective between all ranks and compares every value.
bool right(World world, bool on_gpu, bool direct, Collective collective,
           double (*expected)(World, int)) {
  const int values = count * world.ranks;
  Values in(values, on_gpu), out(values, on_gpu);
  for (int i = 0; i < values; ++i) in.host()[static_cast<std::size_t>(i)] = given(world.rank, i);
  in.to_device();
  if (direct) {
    // What works alone may yet crash between ranks, by another path: then the end has a reason.
    if (signal_of([&] { collective(in.data(), out.data(), values, MPI_COMM_WORLD); }) != 0) {
      std::fprintf(stderr, "MPI crashed on device memory between ranks, though not within one\n");
      MPI_Abort(MPI_COMM_WORLD, 4);
    }
    out.to_host();
    in.to_host();
  } else {
    in.to_host();
    collective(in.host().data(), out.host().data(), values, MPI_COMM_WORLD);
    out.to_device();
    out.to_host();
  }
  // The root of a broadcast gets nothing: it has the values.
  const bool is_root = collective == broadcast && world.rank == 0;
  int good = 1;
  for (int i = 0; i < values; ++i)
    good &= (is_root ? in : out).host()[static_cast<std::size_t>(i)] == expected(world, i);
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  alarm(60);  // nothing here runs for longer
  MPI_Init(&argc, &argv);
  World world{};
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  const bool gpu = take_gpu();
  const struct {
    const char* name;
    Collective collective, probe;
    double (*expected)(World, int);
  } collectives[] = {{"bcast", broadcast, send_to_self, expect_broadcast},
                     {"allreduce", add, add, expect_sum},
                     {"alltoall", transpose, transpose, expect_transpose}};
  bool all_right = true;
  for (const auto& [name, collective, probe, expected] : collectives) {
    int signal = 0;
    const bool direct = gpu && works_alone(probe, signal);
    const bool good = right(world, gpu, direct, collective, expected);
    all_right &= good;
    if (world.rank != 0) continue;
    std::printf("%-10s %s, ", name, good ? "right" : "WRONG");
    if (!gpu)
      std::printf("on host memory: no GPU here\n");
    else if (direct)
      std::printf("on device memory as it is\n");
    else if (signal != 0)
      std::printf("through the host: MPI crashed on device memory (signal %d)\n", signal);
    else
      std::printf("through the host: MPI returned, but with wrong values on device memory\n");
  }
  MPI_Finalize();
  return all_right ? 0 : 1;
}
