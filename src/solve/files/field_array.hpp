// SPDX-License-Identifier: Apache-2.0
#pragma once
// A field as an array in a file that all ranks read or write.

#include <cstdint>

#include <halocline/communicator.hpp>
#include <halocline/field.hpp>
#include <halocline/grid.hpp>

#include "files/parallel/collective_file.hpp"

namespace halocline::files {

/// Throws usage unless `field` has one component of 4 or 8 bytes on the cells that this rank owns
/// in `grid`.
void require_scalar(const Grid& grid, const FieldStorage& field);

/// The owned cells of a field, in C order over the whole grid. All calls are collective.
class FieldArray {
 public:
  /// Takes memory on the host for fields in bricks and in managed memory and copies all their
  /// cells, in turn with the calls; others are copied piece by piece, from and to GPUs too. Throws,
  /// on every rank, usage unless require_scalar() accepts the field, and for a GPU's field whose
  /// fastest axis is not x; resource if memory runs out.
  FieldArray(const Communicator& communicator, const Grid& grid, const FieldStorage& field);

  /// Writes the array from such an offset on. Returns its hash: see CollectiveFile.
  std::uint64_t write(CollectiveFile& file, std::int64_t offset_bytes) const;
  /// Reads it into the owned cells; leaves the halo unchanged.
  std::uint64_t read(CollectiveFile& file, std::int64_t offset_bytes) const;

 private:
  ArrayInFile in_file(std::int64_t offset_bytes) const;
  PartInMemory in_memory() const;

  const Communicator& communicator_;
  const Grid& grid_;
  FieldStorage field_;
  FieldStorage rows_;  ///< the field itself, unless it is copied
  bool is_copied_ = false;
};

}  // namespace halocline::files
