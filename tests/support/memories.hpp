// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kinds of memory that can be tested here, and why the others cannot.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <halocline/memory.hpp>

#include "device/queue.hpp"
#include "transport/transport.hpp"

namespace halocline::test {

inline constexpr Memory all_memories[] = {Memory::host, Memory::pinned, Memory::device,
                                          Memory::managed, Memory::system};

/// Why there is no GPU to test with, or nothing. Starts using one when first asked: rank r takes
/// the r-th, in turn.
const std::optional<std::string>& no_gpu();

/// Whether every rank has a GPU of its own.
bool each_has_a_gpu();

/// Why fields cannot be in such memory here, or nothing.
std::optional<std::string> no_memory(Memory memory);

/// Kinds of memory that are to be had here; and those that a GPU reads. Suites over them are empty
/// without a GPU, so each has one test beside it that calls need_gpu() and says so.
std::vector<Memory> memories_here();
std::vector<Memory> gpu_memories_here();

/// Why a transport cannot be tested with fields in such memory here, or nothing: the memory is
/// missing, it serves no pair with it, or trying might end the program.
std::optional<std::string> not_testable(const transport::Transport& transport, Memory memory);

/// Whether HALOCLINE_REQUIRE, a list with commas, has this name: then nothing that needs it may
/// be skipped.
bool is_required(std::string_view name);

/// Skips the running test if there is no GPU, or fails it if HALOCLINE_REQUIRE has "gpu". For
/// SetUp() and the like: the caller has to return if IsSkipped() or HasFatalFailure().
void need_gpu();

/// Ends a test unless there is a GPU: need_gpu().
#define NEED_GPU()                                \
  do {                                            \
    need_gpu();                                   \
    if (IsSkipped() || HasFatalFailure()) return; \
  } while (false)

/// The same unless every rank has one of its own.
#define NEED_GPU_EACH()                                                         \
  do {                                                                          \
    NEED_GPU();                                                                 \
    if (!each_has_a_gpu()) GTEST_SKIP() << "every rank needs a GPU of its own"; \
  } while (false)

/// The stream on which fields in some memory are worked on: the host's, or one of the GPU.
class TestStream {
 public:
  explicit TestStream(Memory memory) {
    if (gpu_reads(memory)) own_.emplace();
  }
  Stream get() const { return own_ ? own_->get() : Stream::host(); }

 private:
  std::optional<device::OwnedStream> own_;
};

}  // namespace halocline::test
