// SPDX-License-Identifier: Apache-2.0
#pragma once
// File descriptors handed from process to process of a node.
//
// By a Unix socket with an abstract name. pidfd_getfd() would need no answer of the other process,
// but it is refused where processes may not trace each other (Yama, as on Ubuntu; containers
// without CAP_SYS_PTRACE), and process ids mean nothing between PID namespaces; a socket works
// within one network namespace, which the ranks of a node share. An abstract name leaves no file
// behind.

#include <chrono>
#include <cstdint>
#include <memory>

namespace halocline::device {

/// Names a descriptor to another process; plain bytes to send.
struct DescriptorName {
  char socket[16];    ///< an abstract name, its zero at the front left out
  std::uint64_t key;  ///< at random: who has not been told it gets nothing
};

/// Gives a descriptor to any process of this user that asks, on a thread that lives as long as one
/// offer does. So nobody waits for this process to come by, whatever it is doing.
class OfferedDescriptor {
 public:
  /// Takes the descriptor over. Throws device if there can be no socket or thread.
  explicit OfferedDescriptor(int descriptor);
  ~OfferedDescriptor();
  OfferedDescriptor(const OfferedDescriptor&) = delete;
  OfferedDescriptor& operator=(const OfferedDescriptor&) = delete;

  const DescriptorName& name() const { return name_; }

 private:
  class Giver;
  std::shared_ptr<Giver> giver_;
  int descriptor_;
  DescriptorName name_{};
};

/// The descriptor of that name, now this process's too: to be closed. Throws device if the other
/// process is gone, takes it for nobody's business of ours, or does not answer within `limit` (0:
/// none).
int fetch_descriptor(const DescriptorName& name, std::chrono::duration<double> limit);

}  // namespace halocline::device
