#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/waiting.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"
#include "solver/stopping.hpp"

namespace halocline::solver {
namespace {

// The host looks at norms, and waits for the GPU, once in so many sweeps; it is at most two such
// batches ahead, so a run that has stopped queues at most 128 sweeps that do nothing (2 us each).
constexpr std::int64_t batch_sweeps = 64;

class DeviceStopping final : public Stopping {
 public:
  DeviceStopping(const Communicator& communicator, const Case& the_case)
      : Stopping(the_case),
        communicator_(communicator),
        words_(device::allocate(Memory::device, static_cast<std::int64_t>(sizeof(Words)))) {
    for (Batch& batch : batches_)
      batch.on_host = device::allocate(Memory::pinned,
                                       batch_sweeps * static_cast<std::int64_t>(sizeof(double)));
  }

  void begin(std::int64_t sweep, stencil::SweepArguments& arguments, Stream) override {
    arguments.stop = &words().stop;
    if (!the_case().wants_norm(sweep)) return;
    Batch& batch = batch_of(sweep);
    arguments.norm_sum = &words().sum;
    arguments.verdict = {.norm = &words().norms[index_of(sweep)][batch.sweeps.size()],
                         .stop = &words().stop,
                         .tolerance = the_case().tolerance.value_or(-1)};
    batch.sweeps.push_back(sweep);
  }

  void end(std::int64_t sweep, Stream stream) override {
    if ((sweep + 1) % batch_sweeps == 0 || sweep == the_case().sweeps - 1) send(sweep, stream);
  }

  bool stops_before(std::int64_t sweep) override {
    // Before a batch is written over, its norms of the time before are looked at.
    if (sweep % batch_sweeps == 0) look_at(batch_of(sweep));
    return stopping_sweep_.has_value();
  }

  std::int64_t finish(std::int64_t sweeps) override {
    // The older one first.
    look_at(batch_of(sweeps - 1 + batch_sweeps));
    look_at(batch_of(sweeps - 1));
    return stopping_sweep_ ? *stopping_sweep_ + 1 : sweeps;
  }

 private:
  /// In device memory.
  struct Words {
    double sum;
    double norms[2][batch_sweeps];
    unsigned stop;
  };
  struct Batch {
    std::shared_ptr<void> on_host;     // its norms
    std::vector<std::int64_t> sweeps;  // whose norms they are
    device::Event arrived;
  };

  static std::size_t index_of(std::int64_t sweep) {
    return static_cast<std::size_t>(sweep / batch_sweeps % 2);
  }
  Batch& batch_of(std::int64_t sweep) { return batches_[index_of(sweep)]; }
  // An address only: the memory is the GPU's.
  Words& words() const { return *static_cast<Words*>(words_.get()); }

  void send(std::int64_t sweep, Stream stream) {
    Batch& batch = batch_of(sweep);
    device::copy(batch.on_host.get(), words().norms[index_of(sweep)],
                 static_cast<std::int64_t>(batch.sweeps.size() * sizeof(double)), stream);
    batch.arrived.record(stream);
  }

  void look_at(Batch& batch) {
    comm::wait_until(communicator_.state(),
                     {.site = "sweeps on the GPU",
                      .phase = Phase::other,  // the GPU's own clock books them as compute
                      .missing = [] { return std::string("its own GPU to do the sweeps queued"); }},
                     [&] { return batch.arrived.reached(); });
    const auto* norms = static_cast<const double*>(batch.on_host.get());
    for (std::size_t i = 0; i < batch.sweeps.size() && !stopping_sweep_; ++i)
      if (enter(batch.sweeps[i], norms[i])) stopping_sweep_ = batch.sweeps[i];
    batch.sweeps.clear();
  }

  Communicator communicator_;
  std::shared_ptr<void> words_;
  std::array<Batch, 2> batches_;
  std::optional<std::int64_t> stopping_sweep_;
};

}  // namespace

std::unique_ptr<Stopping> make_device_stopping(const Communicator& communicator,
                                               const Case& the_case) {
  return std::make_unique<DeviceStopping>(communicator, the_case);
}

}  // namespace halocline::solver
