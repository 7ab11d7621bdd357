// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sends file descriptors between processes of a node.
//
// Uses a Unix socket with an abstract name. pidfd_getfd() would not need an answer of the other
// process, but it fails if processes must not trace each other (Yama, as on Ubuntu; containers
// without CAP_SYS_PTRACE), and process ids are not valid across PID namespaces; a socket works
// within one network namespace, which the ranks of a node share. An abstract name leaves no file.

#include <chrono>
#include <cstdint>
#include <memory>

namespace halocline::device {

/// Identifies a descriptor for another process; plain bytes to send.
struct DescriptorName {
  char socket[16];    ///< an abstract name, without its leading zero
  std::uint64_t key;  ///< random: without it a process gets no descriptor
};

/// Sends a descriptor to each process of this user that requests it, from a thread that runs as
/// long as there are offers. So no other process has to wait for this one's own work.
class OfferedDescriptor {
 public:
  /// Takes ownership of the descriptor. Throws device if it cannot create the socket or the thread.
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

/// Returns a duplicate of the descriptor, which the caller must close. Throws device if the other
/// process is gone, rejects the request (wrong key or user), or does not answer within `limit` (0:
/// none).
int fetch_descriptor(const DescriptorName& name, std::chrono::duration<double> limit);

}  // namespace halocline::device
