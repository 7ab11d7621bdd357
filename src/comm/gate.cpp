#include "comm/gate.hpp"

#include <array>

#include <fmt/format.h>

#include <halocline/error.hpp>

namespace halocline::comm {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(ErrorKind::communication,
              fmt::format("{} failed: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

void wait_all(State& state, std::span<MPI_Request> requests, const Wait& wait) {
  wait_until(state, wait, [&] {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                      MPI_STATUSES_IGNORE),
          wait.site);
    return done != 0;
  });
}

}  // namespace halocline::comm
