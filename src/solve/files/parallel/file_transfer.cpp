// SPDX-License-Identifier: Apache-2.0
#include "files/parallel/file_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <halocline/error.hpp>

#include "base/hash.hpp"
#include "comm/collectives.hpp"
#include "comm/settings.hpp"

namespace halocline::files {
namespace {

/// Bytes that a rank reads or writes at once. From 1 to 16 MiB it took the same time to write 1 GiB
/// with rows of 128 doubles split between 2 ranks on 2 cores; with 0.25 and 64 MiB a fifth longer.
/// A multiple of every page, so that no two nodes write to the same one: network file systems
/// would not merge that.
constexpr std::int64_t largest_chunk_bytes = std::int64_t{4} << 20;

std::int64_t chunk_bytes(const Communicator& communicator) {
  return std::min(comm::settings_of(communicator).piece_bytes, largest_chunk_bytes);
}

struct ReadLine {
  const std::byte* first;
  std::int64_t stride_bytes;
};

/// With a size known at compile time: a call of memcpy for each element would cost more.
template <std::size_t Bytes>
void copy_each(const Line& to, const ReadLine& from, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i)
    std::memcpy(to.first + i * to.stride_bytes, from.first + i * from.stride_bytes, Bytes);
}

void copy(const Line& to, const ReadLine& from, std::int64_t elements, std::int64_t element_bytes) {
  const auto bytes = static_cast<std::size_t>(element_bytes);
  if (to.stride_bytes == element_bytes && from.stride_bytes == element_bytes) {
    std::memcpy(to.first, from.first, static_cast<std::size_t>(elements) * bytes);
  } else if (bytes == 8) {
    copy_each<8>(to, from, elements);
  } else if (bytes == 4) {
    copy_each<4>(to, from, elements);
  } else {
    for (std::int64_t i = 0; i < elements; ++i)
      std::memcpy(to.first + i * to.stride_bytes, from.first + i * from.stride_bytes, bytes);
  }
}

}  // namespace

FileTransfer::FileTransfer(const Communicator& communicator, const ArrayInFile& array,
                           const PartInMemory& part, std::string file)
    : communicator_(communicator),
      array_(array),
      part_(part),
      file_(std::move(file)),
      rounds_(array, communicator.size(), chunk_bytes(communicator)),
      buffers_(std::make_shared<Buffers>(communicator, comm::next_tag(communicator))) {
  comm::together(communicator, [&] { allocate(); });
  boxes_ = comm::gather_all(communicator, part.box);
  const int ranks = communicator.size();
  for (int rank = 0; rank < ranks; ++rank)
    if (!Box{{}, array.cells}.contains(boxes_[static_cast<std::size_t>(rank)]))
      throw Error(ErrorKind::internal,
                  fmt::format("'{}': some cells of rank {} are outside the array", file_, rank));
  for (int step = 1; step < ranks; ++step)
    other_ranks_.push_back((communicator.rank() + step) % ranks);
}

void FileTransfer::allocate() {
  // The last element may extend beyond its chunk.
  const std::int64_t bytes =
      std::min(array_.bytes(), chunk_bytes(communicator_) + array_.element_bytes);
  for (auto* memory : {&buffers_->chunks[0], &buffers_->chunks[1], &buffers_->incoming.memory,
                       &buffers_->outgoing.memory})
    memory->resize(static_cast<std::size_t>(bytes));
}

CellRange FileTransfer::range_of(std::int64_t round) const {
  return rounds_.range(communicator_.rank(), round);
}

std::byte* FileTransfer::chunk_at(std::int64_t round) const {
  return buffers_->chunks[static_cast<std::size_t>(round % 2)].data();
}

std::int64_t FileTransfer::offset_bytes(std::int64_t round) const {
  return array_.offset_bytes + range_of(round).begin * array_.element_bytes;
}

std::span<std::byte> FileTransfer::chunk(std::int64_t round) {
  return {chunk_at(round),
          static_cast<std::size_t>(range_of(round).cells() * array_.element_bytes)};
}

std::uint64_t FileTransfer::hash_of_chunk(std::int64_t round) const {
  const CellRange range = range_of(round);
  return hash_of(chunk_at(round), range.cells(), array_.element_bytes,
                 static_cast<std::uint64_t>(range.begin));
}

std::int64_t FileTransfer::cells_held() const {
  std::int64_t cells = 0;
  for (const Box& box : boxes_) cells += box.cells();
  return cells;
}

void FileTransfer::collect(std::int64_t round) {
  try {
    collect_at_once(round);
  } catch (...) {
    comm::keep_for_mpi(buffers_);
    throw;
  }
}

void FileTransfer::distribute(std::int64_t round) {
  try {
    distribute_at_once(round);
  } catch (...) {
    comm::keep_for_mpi(buffers_);
    throw;
  }
}

// Every rank posts its receives of a round before it waits for anything in that round, so the rank
// that is furthest behind can always continue.
void FileTransfer::collect_at_once(std::int64_t round) {
  const CellRange range = range_of(round);
  make_room(buffers_->incoming, range);
  for (const int holder : other_ranks_) post_receive(holder, bytes_of(holder, range));
  send_cells(round);
  place_in_chunk(round);
  wait(buffers_->outgoing);
  clear(buffers_->outgoing);
}

void FileTransfer::send_cells(std::int64_t round) {
  Mail& mail = buffers_->outgoing;
  const std::int64_t element = array_.element_bytes;
  for (const int keeper : other_ranks_) {
    const CellRange range = rounds_.range(keeper, round);
    const std::int64_t bytes = bytes_of(communicator_.rank(), range);
    if (bytes == 0) continue;
    if (!has_room(mail, bytes)) {
      wait(mail);
      clear(mail);
    }
    const Message message = add(mail, keeper, bytes);
    std::byte* to = message.bytes.data();
    for_each_rows(array_.cells, part_.box, range, [&](const RowsOfCells& rows) {
      copy_from_memory(rows, to, rows.cells);
      to += rows.cells * rows.count * element;
    });
    post_send(message);
  }
}

void FileTransfer::place_in_chunk(std::int64_t round) {
  const std::int64_t element = array_.element_bytes;
  const CellRange range = range_of(round);
  std::byte* const chunk = chunk_at(round);
  for_each_rows(array_.cells, part_.box, range, [&](const RowsOfCells& rows) {
    copy_from_memory(rows, chunk + rows.offset * element, array_.cells.x);
  });
  wait(buffers_->incoming);
  for (const Message& message : buffers_->incoming.messages) {
    std::byte* from = message.bytes.data();
    for_each_row(array_.cells, boxes_[static_cast<std::size_t>(message.peer)], range,
                 [&](const Int3&, std::int64_t cells, std::int64_t at) {
                   copy({chunk + at * element, element}, {from, element}, cells, element);
                   from += cells * element;
                 });
  }
  clear(buffers_->incoming);
}

void FileTransfer::distribute_at_once(std::int64_t round) {
  const std::int64_t element = array_.element_bytes;
  std::byte* const chunk = chunk_at(round);
  send_chunk(round);
  for_each_rows(array_.cells, part_.box, range_of(round), [&](const RowsOfCells& rows) {
    copy_to_memory(rows, chunk + rows.offset * element, array_.cells.x);
  });
  for (const int keeper : other_ranks_) {
    const std::int64_t bytes = bytes_of(communicator_.rank(), rounds_.range(keeper, round));
    if (!has_room(buffers_->incoming, bytes)) place_in_memory(round);
    post_receive(keeper, bytes);
  }
  place_in_memory(round);
  wait(buffers_->outgoing);
  clear(buffers_->outgoing);
}

void FileTransfer::send_chunk(std::int64_t round) {
  const std::int64_t element = array_.element_bytes;
  const CellRange range = range_of(round);
  std::byte* const chunk = chunk_at(round);
  make_room(buffers_->outgoing, range);
  for (const int holder : other_ranks_) {
    const std::int64_t bytes = bytes_of(holder, range);
    if (bytes == 0) continue;
    const Message message = add(buffers_->outgoing, holder, bytes);
    std::byte* to = message.bytes.data();
    for_each_row(array_.cells, boxes_[static_cast<std::size_t>(holder)], range,
                 [&](const Int3&, std::int64_t cells, std::int64_t at) {
                   copy({to, element}, {chunk + at * element, element}, cells, element);
                   to += cells * element;
                 });
    post_send(message);
  }
}

void FileTransfer::place_in_memory(std::int64_t round) {
  const std::int64_t element = array_.element_bytes;
  wait(buffers_->incoming);
  for (const Message& message : buffers_->incoming.messages) {
    const std::byte* from = message.bytes.data();
    for_each_rows(array_.cells, part_.box, rounds_.range(message.peer, round),
                  [&](const RowsOfCells& rows) {
                    copy_to_memory(rows, from, rows.cells);
                    from += rows.cells * rows.count * element;
                  });
  }
  clear(buffers_->incoming);
}

std::int64_t FileTransfer::bytes_of(int holder, CellRange range) const {
  return cells_in(array_.cells, boxes_[static_cast<std::size_t>(holder)], range) *
         array_.element_bytes;
}

/// Returns false where the host reaches the memory.
bool FileTransfer::copy_rows(const RowsToCopy& rows) const {
  if (part_.copy_rows == nullptr) return false;
  try {
    if (!failed_) part_.copy_rows(rows);
  } catch (...) {
    failed_ = std::current_exception();
  }
  return true;
}

void FileTransfer::finish() {
  comm::together(communicator_, [this] {
    if (failed_) std::rethrow_exception(failed_);
  });
}

/// The buffer has a row every `row_cells` elements.
void FileTransfer::copy_from_memory(const RowsOfCells& rows, std::byte* to,
                                    std::int64_t row_cells) const {
  const std::int64_t element = array_.element_bytes;
  const Line first = row_at(rows.start);
  const std::int64_t to_stride = row_cells * element, from_stride = part_.stride_bytes.y;
  if (copy_rows({to, first.first, rows.cells * element, rows.count, to_stride, from_stride}))
    return;
  for (std::int64_t row = 0; row < rows.count; ++row)
    copy({to + row * to_stride, element}, {first.first + row * from_stride, first.stride_bytes},
         rows.cells, element);
}

void FileTransfer::copy_to_memory(const RowsOfCells& rows, const std::byte* from,
                                  std::int64_t row_cells) const {
  const std::int64_t element = array_.element_bytes;
  const Line first = row_at(rows.start);
  const std::int64_t from_stride = row_cells * element, to_stride = part_.stride_bytes.y;
  if (copy_rows({first.first, from, rows.cells * element, rows.count, to_stride, from_stride}))
    return;
  for (std::int64_t row = 0; row < rows.count; ++row)
    copy({first.first + row * to_stride, first.stride_bytes}, {from + row * from_stride, element},
         rows.cells, element);
}

Line FileTransfer::row_at(const Int3& cell) const {
  const Int3 at = cell - part_.box.lower, &stride = part_.stride_bytes;
  return {part_.first + at.x * stride.x + at.y * stride.y + at.z * stride.z, stride.x};
}

void FileTransfer::make_room(Mail& mail, CellRange range) const {
  std::int64_t bytes = 0;
  for (const int holder : other_ranks_) bytes += bytes_of(holder, range);
  if (mail.memory.size() < static_cast<std::size_t>(bytes))
    mail.memory.resize(static_cast<std::size_t>(bytes));
}

bool FileTransfer::has_room(const Mail& mail, std::int64_t bytes) const {
  return mail.used + static_cast<std::size_t>(bytes) <= mail.memory.size();
}

FileTransfer::Message FileTransfer::add(Mail& mail, int peer, std::int64_t bytes) const {
  const auto size = static_cast<std::size_t>(bytes);
  mail.messages.push_back({peer, {mail.memory.data() + mail.used, size}});
  mail.used += size;
  return mail.messages.back();
}

void FileTransfer::post_receive(int peer, std::int64_t bytes) {
  if (bytes == 0) return;
  Mail& mail = buffers_->incoming;
  mail.in_flight.receive(peer, add(mail, peer, bytes).bytes);
}

// A rank with little to send must not run ahead of the ranks that write, or MPI would have to store
// its messages of all later rounds.
void FileTransfer::post_send(const Message& message) {
  buffers_->outgoing.in_flight.send_when_received(message.peer, message.bytes);
}

void FileTransfer::wait(Mail& mail) {
  mail.in_flight.wait([this](const std::vector<int>& missing) {
    return fmt::format("rank {} (cells of '{}')", missing.front(), file_);
  });
}

void FileTransfer::clear(Mail& mail) {
  mail.used = 0;
  mail.messages.clear();
}

}  // namespace halocline::files
