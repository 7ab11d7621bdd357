// SPDX-License-Identifier: Apache-2.0
#pragma once
// One rank's part of a mesh exchange.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "base/recorder.hpp"
#include "lab/deadlock_detector.hpp"
#include "lab/mesh_order.hpp"
#include "lab/posted_messages.hpp"

namespace halocline::bench {

/// When the messages of an exchange were posted and done, by this rank's clock.
struct MeshTimes {
  struct Message {
    MeshStep step;
    Clock::time_point start, end;
  };
  std::vector<Message> messages;  ///< in order of posting
  Clock::time_point begin, end;
};

/// Messages of equal size with the neighbours of a mesh.
class MeshExchange {
 public:
  /// Returns the memory that a rank takes for messages of so many bytes.
  static std::int64_t memory_bytes(std::int64_t bytes) { return 2 * mesh_lanes * bytes; }

  /// Collective. Throws resource.
  MeshExchange(const Communicator& communicator, const MeshNeighbours& neighbours,
               std::int64_t bytes);

  /// Writes what is sent, other bytes for each `round`, and clears where they come.
  void fill(int round);
  /// Says which byte did not come as fill() made it; nothing if all did.
  std::optional<std::string> first_wrong(int round) const;

  /// Exchanges once. Throws communication after the wait limit.
  void run(const std::vector<MeshStep>& steps);

  /// Exchanges once while all ranks watch for a deadlock. If there is one, all of them leave the
  /// calls they are stuck in, and all messages are brought to their ends. Returns what each rank
  /// was doing then, and who waits in a circle; nothing if all went well. Collective.
  struct Stuck {
    std::vector<int> circle;
    std::vector<WaitState> states;
    Clock::time_point found;  ///< by this rank; others may have gone on before
  };
  std::optional<Stuck> try_out(const std::vector<MeshStep>& steps);

  /// Of the last exchange.
  const MeshTimes& times() const { return times_; }

 private:
  bool take(const MeshStep& step, DeadlockDetector* watch);
  void post(const MeshStep& step);
  bool wait(const MeshStep& step, DeadlockDetector* watch);
  bool wait_until(const char* site, const std::function<std::string()>& missing,
                  const std::function<bool()>& done, DeadlockDetector* watch);
  void begin();
  void note_ends();
  std::byte* outgoing(int lane) const;
  std::byte* incoming(int lane) const;

  Communicator communicator_;
  MeshNeighbours neighbours_;
  std::int64_t bytes_;
  std::shared_ptr<void> memory_;
  PostedMessages posted_;
  WaitState state_;
  MeshTimes times_;
};

}  // namespace halocline::bench
