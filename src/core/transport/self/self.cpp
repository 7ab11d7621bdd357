// SPDX-License-Identifier: Apache-2.0
#include "transport/self/self.hpp"

#include <halocline/error.hpp>

namespace halocline::transport {

std::optional<std::string> SelfTransport::unavailable(Pair pair, Memory) const {
  if (pair == Pair::self) return std::nullopt;
  return "it only copies inside a rank";
}

std::unique_ptr<Channel> SelfTransport::open(const Communicator&, std::vector<Message>,
                                             Memory) const {
  throw Error(ErrorKind::internal, "a channel was asked for inside a rank, where there is none");
}

}  // namespace halocline::transport
