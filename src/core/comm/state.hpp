// SPDX-License-Identifier: Apache-2.0
#pragma once
// The state behind a Communicator. Includes mpi.h.

#include <mpi.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "comm/running.hpp"
#include "comm/settings.hpp"
#include "comm/watchdog.hpp"

namespace halocline::comm {

class State {
 public:
  /// Duplicates `source`. Collective.
  State(MPI_Comm source, const Settings& settings);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// Throws usage unless MPI is running, as node() does.
  MPI_Comm all() const {
    require_mpi();
    return all_;
  }
  /// The ranks of this node.
  MPI_Comm node() const {
    require_mpi();
    return node_;
  }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(node_of_.size()); }
  int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  int node_count() const { return node_count_; }
  int node_size() const { return node_size_; }
  /// True if the node has more ranks than cores that they may run on.
  bool is_crowded() const { return crowded_; }
  const Settings& settings() const { return settings_; }
  Recorder& recorder() { return recorder_; }
  Watchdog& watchdog() { return watchdog_; }
  /// Returns a tag for one plan. Every rank must ask in the same order; tags are reused after a few
  /// thousand plans at the earliest.
  int next_tag();
  /// After a wait exceeded its limit, or while an error unwinds the stack, other ranks may not join
  /// a collective call, and after MPI_Finalize there is none: clean-up that needs them is skipped.
  bool others_may_be_gone() const;
  void give_up() { given_up_ = true; }
  bool has_given_up() const { return given_up_; }

  /// Returns what a layer above keeps with the communicator, one of each type: made by `make`,
  /// which returns a std::shared_ptr<Kept>, at the first call; destroyed before the communicator
  /// is.
  template <class Kept, class Make>
  std::shared_ptr<Kept> kept(const Make& make) {
    std::shared_ptr<void>& place = kept_[typeid(Kept)];
    if (!place) place = make();
    return std::static_pointer_cast<Kept>(place);
  }
  /// Destroys it unless it is in use.
  template <class Kept>
  void forget() {
    const auto place = kept_.find(typeid(Kept));
    if (place != kept_.end() && place->second.use_count() <= 1) kept_.erase(place);
  }

 private:
  void find_nodes();
  void count_cores();

  Settings settings_;
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<int> node_of_;
  int node_count_ = 1;
  int node_size_ = 1;
  bool crowded_ = false;
  int last_tag_ = 0;
  int largest_tag_ = 32767;
  std::atomic<bool> given_up_ = false;
  Recorder recorder_;
  Watchdog watchdog_;
  std::map<std::type_index, std::shared_ptr<void>> kept_;
};

}  // namespace halocline::comm
