// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL's communicator for the ranks of a Communicator.

#include <memory>
#include <string>
#include <vector>

#include <halocline/communicator.hpp>

#include "comm/state.hpp"
#include "comm/waiting.hpp"
#include "transport/nccl/library.hpp"

namespace halocline::transport::nccl {

/// The connection that the channels and gathers of a communicator share: NCCL takes half a second
/// and 0.4 to 1 GiB of each GPU for it (H200, 2.28.9), so it is made at the first use and kept
/// until the communicator ends. NCCL matches calls by their order, so every rank must make the same
/// calls in one order.
class Connection final : private comm::InFlight {
 public:
  /// Returns that of a communicator. Collective. Throws unavailable or resource, the same on every
  /// rank.
  static std::shared_ptr<Connection> of(const Communicator& communicator);

  Connection(comm::State& state, const Library& library, const UniqueId& id);
  ~Connection();

  const Library& library() const { return library_; }
  /// Throws communication after NCCL has been given up.
  Comm* comm() const;
  bool is_given_up() const { return comm_ == nullptr; }
  /// Throws resource unless NCCL's `call` succeeded.
  void check(int result, const char* call) const;
  /// Throws communication if NCCL has noticed that a peer or the network is lost.
  void check_async();
  /// "NCCL 2.28.9 ('PATH') took 0.5 s and 402 MiB of each GPU to start".
  const std::string& note() const { return note_; }
  /// Whether it may be asked to register memory (window.hpp): until it has refused to.
  bool may_register() const { return may_register_; }
  void register_no_more() { may_register_ = false; }

  /// Users of the connection, whose peers are named when a wait takes too long.
  class User {
   public:
    /// "rank 1 (field 'u', +x)"; empty as long as it has not been started.
    virtual std::string awaited() const = 0;

   protected:
    ~User() = default;
  };
  /// A user is known while this exists.
  class Registration {
   public:
    Registration(Connection& connection, const User& user) : connection_(connection), user_(user) {
      connection_.users_.push_back(&user_);
    }
    ~Registration() { std::erase(connection_.users_, &user_); }
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Connection& connection_;
    const User& user_;
  };

 private:
  void move_on() override { check_async(); }
  std::string give_up() override;
  std::string awaited() const;
  void abort();
  void end_kernels();

  comm::State& state_;
  const Library& library_;
  Comm* comm_ = nullptr;
  std::string note_;
  bool may_register_;
  std::vector<const User*> users_;
};

}  // namespace halocline::transport::nccl
