// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cells of an array on their way between the ranks that hold them in memory and the ranks that
// read or write their part of the file. For comm only: it shows mpi.h.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "comm/file_rounds.hpp"

namespace halocline::comm {

/// Elements at equal distances in memory.
struct Line {
  std::byte* first;
  std::int64_t stride_bytes;
};

/// Moves one chunk of each rank per round, and holds the memory of three. Every rank must go
/// through all rounds.
class FileTransfer {
 public:
  /// Collective. `file` is a name for errors. Throws internal, on every rank, if a box is not
  /// within the array.
  FileTransfer(const Communicator& communicator, const ArrayInFile& array, const PartInMemory& part,
               std::string file);

  std::int64_t rounds() const { return rounds_.rounds(); }
  /// Where in the file this rank's chunk of that round begins.
  std::int64_t offset_bytes(std::int64_t round) const;
  /// This rank's chunk, as long as it is in that round; empty if it has none.
  std::span<std::byte> chunk(std::int64_t round);
  /// How many cells the ranks hold in all.
  std::int64_t cells_held() const;

  /// Fills the chunks of all ranks with the cells that are held. Throws communication if a rank
  /// does not answer within the wait limit.
  void collect(std::int64_t round);
  /// Copies the chunks of all ranks to the cells that are held.
  void distribute(std::int64_t round);

 private:
  struct Message {
    int peer;
    std::span<std::byte> bytes;
  };
  /// Messages on their way, all to this rank or all from it, and their memory.
  struct Mail {
    const char* site;
    std::vector<std::byte> memory = {};
    std::size_t used = 0;
    std::vector<Message> messages = {};
    std::vector<MPI_Request> requests = {};
  };
  /// Behind one pointer, for MPI may go on using them after an error.
  struct Buffers {
    std::vector<std::byte> chunk;
    Mail incoming{"file, receive"};
    Mail outgoing{"file, send"};
  };

  void allocate();
  void gather_boxes();
  std::int64_t bytes_of(int holder, CellRange range) const;
  Line row_at(const Int3& cell) const;

  void collect_at_once(std::int64_t round);
  void send_cells(std::int64_t round);
  void place_in_chunk(CellRange range);
  void distribute_at_once(std::int64_t round);
  void send_chunk(CellRange range);
  void place_in_memory(std::int64_t round);

  /// Makes room for all that the others hold in `range`.
  void make_room(Mail& mail, CellRange range) const;
  bool has_room(const Mail& mail, std::int64_t bytes) const;
  Message add(Mail& mail, int peer, std::int64_t bytes) const;
  void post_receive(int peer, std::int64_t bytes);
  void post_send(const Message& message);
  void wait(Mail& mail);
  static void clear(Mail& mail);

  Communicator communicator_;
  ArrayInFile array_;
  PartInMemory part_;
  std::string file_;
  FileRounds rounds_;
  int tag_;
  std::vector<Box> boxes_;        // of all ranks
  std::vector<int> other_ranks_;  // from the next one on, so that not all send to the same first
  std::shared_ptr<Buffers> buffers_ = std::make_shared<Buffers>();
};

}  // namespace halocline::comm
