// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves cells of an array between the ranks that hold them in memory and the ranks that read or
// write their part of the file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "comm/messages.hpp"
#include "files/parallel/file_rounds.hpp"

namespace halocline::files {

/// Elements with a constant stride in memory.
struct Line {
  std::byte* first;
  std::int64_t stride_bytes;
};

/// Moves one chunk of each rank per round, with buffers for four chunks: that of a round stays as
/// it is until the round after next. Every rank must take part in all rounds.
class FileTransfer {
 public:
  /// Collective. `file` is the name in errors. Throws internal, on every rank, if a box is not
  /// within the array.
  FileTransfer(const Communicator& communicator, const ArrayInFile& array, const PartInMemory& part,
               std::string file);

  std::int64_t rounds() const { return rounds_.rounds(); }
  /// Returns the offset in the file of this rank's chunk of that round.
  std::int64_t offset_bytes(std::int64_t round) const;
  /// Returns this rank's chunk in that round, with its actual length; empty if it has none.
  std::span<std::byte> chunk(std::int64_t round);
  /// Returns the hash of the elements of this rank's chunk, by their numbers in the array.
  std::uint64_t hash_of_chunk(std::int64_t round) const;
  /// Returns what owns the chunks.
  std::shared_ptr<const void> memory() const { return buffers_; }
  /// Returns the number of cells that all ranks hold together.
  std::int64_t cells_held() const;

  /// Fills the chunks of all ranks with the cells that the ranks hold. Throws communication if a
  /// rank does not answer within the wait limit.
  void collect(std::int64_t round);
  /// Copies the chunks of all ranks to the cells that the ranks hold.
  void distribute(std::int64_t round);
  /// Throws, on every rank, what copying cells from or to a GPU has thrown on any, after which the
  /// transfer continued without them: others wait for its messages. Collective.
  void finish();

 private:
  struct Message {
    int peer;
    std::span<std::byte> bytes;
  };
  /// Messages in flight, all to this rank or all from it, and their memory.
  struct Mail {
    comm::Messages in_flight;
    std::vector<std::byte> memory = {};
    std::size_t used = 0;
    std::vector<Message> messages = {};
  };
  /// Behind one pointer, because MPI may continue to use them after an error.
  struct Buffers {
    std::array<std::vector<std::byte>, 2> chunks;  ///< for rounds in turn
    Mail incoming, outgoing;
    Buffers(const Communicator& communicator, int tag)
        : incoming{comm::Messages(communicator, tag, "file, receive")},
          outgoing{comm::Messages(communicator, tag, "file, send")} {}
  };

  void allocate();
  CellRange range_of(std::int64_t round) const;
  std::byte* chunk_at(std::int64_t round) const;
  std::int64_t bytes_of(int holder, CellRange range) const;
  Line row_at(const Int3& cell) const;
  bool copy_rows(const RowsToCopy& rows) const;
  void copy_from_memory(const RowsOfCells& rows, std::byte* to, std::int64_t row_cells) const;
  void copy_to_memory(const RowsOfCells& rows, const std::byte* from, std::int64_t row_cells) const;

  void collect_at_once(std::int64_t round);
  void send_cells(std::int64_t round);
  void place_in_chunk(std::int64_t round);
  void distribute_at_once(std::int64_t round);
  void send_chunk(std::int64_t round);
  void place_in_memory(std::int64_t round);

  /// Makes room for all cells that the others hold in `range`.
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
  std::vector<Box> boxes_;        // of all ranks
  std::vector<int> other_ranks_;  // from the next one on, so that not all send to the same first
  mutable std::exception_ptr failed_;  // the first copy from or to a GPU that did
  std::shared_ptr<Buffers> buffers_;
};

}  // namespace halocline::files
