// SPDX-License-Identifier: Apache-2.0
#pragma once
// Faults of a disk, made to order.

#include <cstdint>
#include <string>

namespace halocline::test {

/// While one of these lives, a call of this rank that opens, reads, writes, cuts, flushes or
/// renames a file of a folder fails. One at a time.
class DiskFaults {
 public:
  enum class Kind {
    none,
    fails,        ///< that call
    all_fail,     ///< that call and all after it: a full or broken disk
    short_write,  ///< half of the bytes are written, and the call says so
    torn,         ///< half of the bytes are written, then the disk fails
    lost          ///< half of the bytes are written, and the call says all are
  };
  /// `call` counts from 1. `error` is an errno.
  DiskFaults(const std::string& folder, Kind kind, std::int64_t call, int error);
  ~DiskFaults();
  DiskFaults(const DiskFaults&) = delete;
  DiskFaults& operator=(const DiskFaults&) = delete;

  /// Returns how many calls there were so far.
  std::int64_t calls() const;
};

}  // namespace halocline::test
