// SPDX-License-Identifier: Apache-2.0
// A thread runs on a fiber until it must wait for others; only then another goes on. A fiber whose
// thread has ended starts the next one, so that kernels without meetings never change stacks.
//
// Where a block waits for long, what it waits for may wait for a later block of the same kernel:
// a helper, which has __shared__ variables of its own, then begins the blocks that are left.

#include "blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cuda_on_cpu/threads.hpp"
#include "fibers.hpp"
#include "helper.hpp"

constinit thread_local uint3 threadIdx{}, blockIdx{};
constinit thread_local dim3 blockDim, gridDim;

namespace cuda_on_cpu {
namespace {

// A neighbour's flag comes within fewer, if it comes without our next block.
constexpr int kPausesBeforeHelp = 200;

// What is in dynamic shared memory when a block begins.
constexpr int kNeverWritten = 0xa5;
struct alignas(16) SharedBytes {
  std::byte bytes[16];
};

// What a shuffle returns that asks for a lane outside its mask.
constexpr std::uint64_t kPoisonValue = 0xa5a5a5a5a5a5a5a5u;

constexpr const char* name(LaneOp op) {
  constexpr const char* names[] = {"__syncwarp",       "__shfl_sync",     "__shfl_up_sync",
                                   "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync",
                                   "__any_sync",       "__all_sync"};
  return names[static_cast<int>(op)];
}
constexpr const char* name(BlockOp op) {
  constexpr const char* names[] = {"__syncthreads", "__syncthreads_or", "__syncthreads_and",
                                   "__syncthreads_count"};
  return names[static_cast<int>(op)];
}

std::string text(Where where) { return std::string(where.file) + ":" + std::to_string(where.line); }
std::string text(uint3 at) {
  return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
}
std::string text_of_mask(unsigned mask) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "0x%08x", mask);
  return digits;
}

enum class State : std::uint8_t { unstarted, able, in_warp, in_block, ended };

struct Thread {
  uint3 index{};
  State state = State::unstarted;
  Fiber* fiber = nullptr;
  LaneVisit visit{};
  BlockOp block_op{};
  bool predicate = false;
  Where where{};
  std::uint64_t result = 0;
};

/// Lanes that wait for each other.
struct WarpMeeting {
  LaneOp op;
  unsigned mask, arrived;
};

class Blocks {
 public:
  void run(const Kernel& kernel);
  std::uint64_t meet_lanes(const LaneVisit& visit, Where where);
  int meet_block(BlockOp op, bool predicate, Where where);
  void step_aside();
  void pause(unsigned nanoseconds);
  int lane() const { return self_ % warpSize; }
  void* block_memory() { return memory_.data(); }

 private:
  void prepare(const Kernel& kernel);
  void run_prepared();
  void rest(unsigned nanoseconds);
  void hire_for_other_blocks();
  void let_other_blocks_go_on();
  void begin_block();
  bool can_start_thread();
  void start_thread();
  void live();
  Fiber& next_fiber();
  Fiber& idle_fiber();
  void resume_after(Fiber& next);
  void give_way();
  void enter(Fiber& next);
  void make_able(int thread);
  void conclude(const WarpMeeting& meeting);
  void conclude_block(BlockOp op);
  [[noreturn]] void report_deadlock() const;
  std::string describe(const Thread& thread, int number) const;
  [[noreturn]] void fail(const std::string& what) const;

  const Kernel* kernel_ = nullptr;
  std::vector<Thread> threads_;                     // of the running block
  std::vector<std::vector<WarpMeeting>> meetings_;  // per warp
  std::vector<int> start_order_;
  std::deque<int> able_;  // can go on, in this order
  std::size_t started_ = 0, ended_ = 0, in_block_ = 0;
  int self_ = 0;  // the running thread
  std::uint64_t next_block_ = 0, blocks_ = 0, block_step_ = 1, block_shift_ = 0;
  int pauses_ = 0;                  // of this block
  std::size_t pauses_in_turn_ = 0;  // since other blocks went on
  std::vector<SharedBytes> memory_;
  Helper* helper_ = nullptr;  // has the blocks that are left
  Helper* self_as_helper_ = nullptr;

  Fiber* host_ = nullptr;
  Fiber* current_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
};

thread_local Blocks* of_thread = nullptr;

// Kernels may run once more when the thread's objects have been destroyed: in destructors of the
// program's.
Blocks& new_blocks() {
  struct Owner {
    ~Owner() { delete std::exchange(of_thread, nullptr); }
  };
  static thread_local Owner owner;
  static_cast<void>(&owner);
  return *(of_thread = new Blocks);
}

Blocks& blocks() { return of_thread ? *of_thread : new_blocks(); }

void Blocks::run(const Kernel& kernel) {
  prepare(kernel);
  run_prepared();
}

void Blocks::run_prepared() {
  begin_block();
  Fiber host;
  host_ = current_ = &host;
  give_way();
  while (helper_) {
    rest(0);
    let_other_blocks_go_on();
  }
}

// Of a kernel's threads of the system, the first one alone lets go of the turn.
void Blocks::rest(unsigned nanoseconds) {
  if (self_as_helper_) {
    self_as_helper_->give_way();
  } else {
    cuda_on_cpu::rest(nanoseconds);
  }
}

void Blocks::hire_for_other_blocks() {
  helper_ = &Helper::hire([this, next = next_block_, all = blocks_](Helper& self) {
    Blocks& its = blocks();
    its.prepare(*kernel_);
    its.next_block_ = next;
    its.blocks_ = all;
    its.self_as_helper_ = &self;
    its.run_prepared();
  });
  blocks_ = next_block_;
}

void Blocks::let_other_blocks_go_on() {
  if (helper_ && !helper_->resume()) helper_ = nullptr;
}

void Blocks::pause(unsigned nanoseconds) {
  // Changing blocks takes long; where all of them wait for each other all the time, the threads of
  // this one go on first.
  if (kernel_->is_cooperative && ++pauses_in_turn_ <= able_.size()) return step_aside();
  pauses_in_turn_ = 0;
  rest(nanoseconds);
  const int enough = kernel_->is_cooperative ? 1 : kPausesBeforeHelp;
  if (next_block_ < blocks_ && ++pauses_ == enough) hire_for_other_blocks();
  let_other_blocks_go_on();
  step_aside();
}

void Blocks::prepare(const Kernel& kernel) {
  kernel_ = &kernel;
  gridDim = kernel.grid;
  blockDim = kernel.block;
  const dim3 block = kernel.block;
  threads_.assign(std::size_t{block.x} * block.y * block.z, {});
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    const auto number = static_cast<unsigned>(t);
    threads_[t].index = {number % block.x, number / block.x % block.y, number / block.x / block.y};
  }
  memory_.resize((kernel.shared_bytes + sizeof(SharedBytes) - 1) / sizeof(SharedBytes));
  meetings_.assign((threads_.size() + warpSize - 1) / warpSize, {});
  start_order_.resize(threads_.size());
  std::iota(start_order_.begin(), start_order_.end(), 0);
  blocks_ = std::uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  next_block_ = 0;
  block_step_ = 1;
  block_shift_ = 0;
  if (!kernel.shuffle_seed) return;
  std::mt19937_64 random(*kernel.shuffle_seed);
  std::shuffle(start_order_.begin(), start_order_.end(), random);
  block_shift_ = random() % blocks_;
  // A step without a common factor visits every block once; small ones keep the product in 64 bits.
  block_step_ = 1 + random() % 65536;
  while (std::gcd(block_step_, blocks_) != 1) ++block_step_;
}

void Blocks::begin_block() {
  const dim3 grid = kernel_->grid;
  const std::uint64_t all = std::uint64_t{grid.x} * grid.y * grid.z;
  const std::uint64_t number = (next_block_ * block_step_ + block_shift_) % all;
  ++next_block_;
  blockIdx = {static_cast<unsigned>(number % grid.x),
              static_cast<unsigned>(number / grid.x % grid.y),
              static_cast<unsigned>(number / grid.x / grid.y)};
  for (Thread& thread : threads_) thread.state = State::unstarted;
  started_ = ended_ = in_block_ = 0;
  pauses_ = 0;
  std::memset(memory_.data(), kNeverWritten, kernel_->shared_bytes);
}

// Goes on to the next block when this one has ended.
bool Blocks::can_start_thread() {
  if (ended_ == threads_.size() && next_block_ < blocks_) begin_block();
  return started_ < threads_.size();
}

void Blocks::start_thread() {
  self_ = start_order_[started_++];
  Thread& thread = threads_[static_cast<std::size_t>(self_)];
  thread.state = State::able;
  thread.fiber = current_;
  threadIdx = thread.index;
  kernel_->body();
  thread.state = State::ended;
  ++ended_;
}

// A fiber's life: it is entered only when there is a thread to start.
void Blocks::live() {
  for (;;) {
    do {
      start_thread();
    } while (able_.empty() && can_start_thread());
    idle_.push_back(current_);
    give_way();
  }
}

Fiber& Blocks::next_fiber() {
  if (!able_.empty()) {
    const int next = able_.front();
    able_.pop_front();
    return *threads_[static_cast<std::size_t>(next)].fiber;
  }
  if (can_start_thread()) return idle_fiber();
  if (ended_ < threads_.size()) report_deadlock();
  return *host_;
}

Fiber& Blocks::idle_fiber() {
  if (idle_.empty()) {
    return *fibers_.emplace_back(std::make_unique<Fiber>([] { blocks().live(); }));
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

void Blocks::give_way() { enter(next_fiber()); }

void Blocks::enter(Fiber& next) {
  Fiber& mine = *current_;
  if (&next == &mine) return;
  current_ = &next;
  hand_over(mine, next);
}

// Goes on in `next`; returns when this thread's turn has come again.
void Blocks::resume_after(Fiber& next) {
  const int self = self_;
  enter(next);
  self_ = self;
  threadIdx = threads_[static_cast<std::size_t>(self)].index;
}

void Blocks::make_able(int thread) {
  threads_[static_cast<std::size_t>(thread)].state = State::able;
  if (thread != self_) able_.push_back(thread);
}

void Blocks::step_aside() {
  able_.push_back(self_);
  // Threads that have not begun come first: one of them may be waited for.
  resume_after(started_ < threads_.size() ? idle_fiber() : next_fiber());
}

std::uint64_t Blocks::meet_lanes(const LaneVisit& visit, Where where) {
  Thread& me = threads_[static_cast<std::size_t>(self_)];
  const unsigned bit = 1u << lane();
  me.visit = visit;
  me.where = where;
  if (!(visit.mask & bit)) fail(describe(me, self_) + " without naming itself in the mask");
  auto& open = meetings_[static_cast<std::size_t>(self_ / warpSize)];
  auto meeting = std::find_if(open.begin(), open.end(),
                              [&](const WarpMeeting& m) { return m.mask == visit.mask; });
  if (meeting == open.end()) meeting = open.insert(open.end(), {visit.op, visit.mask, 0});
  if (meeting->op != visit.op) {
    fail(describe(me, self_) + ", but others of that mask in " + name(meeting->op));
  }
  meeting->arrived |= bit;
  if (meeting->arrived == meeting->mask) {
    const WarpMeeting complete = *meeting;
    open.erase(meeting);
    conclude(complete);
  } else {
    me.state = State::in_warp;
    resume_after(next_fiber());
  }
  return me.result;
}

void Blocks::conclude(const WarpMeeting& meeting) {
  const int first = self_ - lane();
  Thread* const lanes = &threads_[static_cast<std::size_t>(first)];
  const bool shuffles = meeting.op >= LaneOp::shfl && meeting.op <= LaneOp::shfl_xor;
  unsigned ballot = 0;
  for (unsigned rest = meeting.mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (lanes[lane].visit.value) ballot |= 1u << lane;
  }
  for (unsigned rest = meeting.mask; rest; rest &= rest - 1) {
    Thread& thread = lanes[std::countr_zero(rest)];
    const int source = thread.visit.source;
    if (!shuffles) {
      thread.result = ballot;
    } else {
      thread.result = meeting.mask >> source & 1u ? lanes[source].visit.value : kPoisonValue;
    }
    make_able(first + std::countr_zero(rest));
  }
}

int Blocks::meet_block(BlockOp op, bool predicate, Where where) {
  Thread& me = threads_[static_cast<std::size_t>(self_)];
  me.block_op = op;
  me.predicate = predicate;
  me.where = where;
  if (++in_block_ == threads_.size()) {
    conclude_block(op);
  } else {
    me.state = State::in_block;
    resume_after(next_fiber());
  }
  return static_cast<int>(me.result);
}

// CUDA allows a barrier in a branch only if the whole block takes the same one.
void Blocks::conclude_block(BlockOp op) {
  const Thread& me = threads_[static_cast<std::size_t>(self_)];
  std::size_t count = 0;
  for (const Thread& thread : threads_) {
    count += thread.predicate ? 1 : 0;
    if (thread.where.line != me.where.line ||
        std::string_view(thread.where.file) != me.where.file) {
      fail("threads of a block meet at different barriers: " + text(thread.where) + " and " +
           text(me.where));
    }
  }
  std::uint64_t result = count;
  if (op == BlockOp::sync_or) result = count > 0;
  if (op == BlockOp::sync_and) result = count == threads_.size();
  in_block_ = 0;
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].result = result;
    make_able(static_cast<int>(t));
  }
}

std::string Blocks::describe(const Thread& thread, int number) const {
  std::string is = "thread " + std::to_string(number) + " " + text(thread.index);
  if (thread.state == State::ended) return is + " has ended";
  if (thread.state == State::in_block) {
    return is + " is in " + name(thread.block_op) + " at " + text(thread.where);
  }
  is += std::string(" is in ") + name(thread.visit.op) + " at " + text(thread.where) + " of mask " +
        text_of_mask(thread.visit.mask);
  if (thread.state != State::in_warp) return is;
  unsigned missing = thread.visit.mask;
  const auto& open = meetings_[static_cast<std::size_t>(number / warpSize)];
  for (const WarpMeeting& meeting : open) {
    if (meeting.mask == thread.visit.mask) missing &= ~meeting.arrived;
  }
  return is + ", where these lanes are missing: " + text_of_mask(missing);
}

// Neighbours that do the same are told of once.
void Blocks::report_deadlock() const {
  std::string what = "deadlock found: no thread of the block can go on";
  std::string last;
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    const int number = static_cast<int>(t);
    const std::string is = describe(threads_[t], number);
    std::string deed = is.substr(is.find(") ") + 2);
    if (deed != last) what += "\n  from " + is;
    last = std::move(deed);
  }
  if (threads_.size() % warpSize) {
    what += "\n  the last warp has only " + std::to_string(threads_.size() % warpSize) + " lanes";
  }
  fail(what);
}

void Blocks::fail(const std::string& what) const {
  fatal((what + "\n  in block " + text(blockIdx) + " of a grid of " + text(uint3(gridDim)) +
         " blocks of " + text(uint3(blockDim)) + " threads")
            .c_str());
}

}  // namespace

void run(const Kernel& kernel) { blocks().run(kernel); }

std::uint64_t meet_lanes(const LaneVisit& visit, Where where) {
  return blocks().meet_lanes(visit, where);
}
int meet_block(BlockOp op, bool predicate, Where where) {
  return blocks().meet_block(op, predicate, where);
}
void step_aside() { blocks().step_aside(); }
void pause(unsigned nanoseconds) { blocks().pause(nanoseconds); }
int lane() { return blocks().lane(); }
void* block_memory() { return blocks().block_memory(); }

void fatal(const char* text) {
  std::fprintf(stderr, "cuda_on_cpu: %s\n", text);
  std::fflush(stderr);
  std::abort();
}

}  // namespace cuda_on_cpu
