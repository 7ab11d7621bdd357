// SPDX-License-Identifier: Apache-2.0
// What XLA calls for the exchanges of halocline.jax. It is linked to no libhalocline, of which
// there is one for each family of MPIs: Python passes the functions of the one that it has loaded.

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <xla/ffi/api/ffi.h>

#include <halocline/halocline.h>

namespace ffi = xla::ffi;

namespace {

struct Library {
  decltype(&halocline_exchange_run_at) run_at = nullptr;
  decltype(&halocline_last_error) last_error = nullptr;
};

/// Plans by their numbers, which are in compiled code, where an address might be another plan's by
/// now. No number is used twice.
struct Plans {
  std::mutex mutex;  // threads of XLA read while Python adds
  Library library;
  std::vector<halocline_exchange*> exchanges;
};

/// Never destroyed: compiled code may run until the process ends.
Plans& plans() {
  static auto& all = *new Plans;
  return all;
}

ffi::ErrorCode code_of(halocline_status status) {
  switch (status) {
    case HALOCLINE_USAGE:
      return ffi::ErrorCode::kInvalidArgument;
    case HALOCLINE_UNAVAILABLE:
      return ffi::ErrorCode::kUnimplemented;
    case HALOCLINE_RESOURCE:
      return ffi::ErrorCode::kResourceExhausted;
    case HALOCLINE_COMMUNICATION:
      return ffi::ErrorCode::kUnavailable;
    default:
      return ffi::ErrorCode::kInternal;
  }
}

/// Fills the halos of the arrays, each of which the result has the memory of. Before them may be a
/// token of JAX's: it keeps exchanges in the order of the program.
ffi::Error fill(void* stream, const ffi::RemainingArgs& arrays, const ffi::RemainingRets& results,
                std::int64_t plan, std::int64_t tokens) {
  halocline_exchange* exchange = nullptr;
  Library library;
  {
    Plans& all = plans();
    const std::lock_guard lock(all.mutex);
    const auto number = static_cast<std::size_t>(plan);
    // The code may be older than this process, from jax.export.
    if (number < all.exchanges.size()) exchange = all.exchanges[number];
    library = all.library;
  }
  if (exchange == nullptr)
    return {ffi::ErrorCode::kInvalidArgument,
            "the exchange of this compiled function is closed, or was another process's; plan one, "
            "and compile the function for it"};
  std::vector<void*> addresses;
  for (auto i = static_cast<std::size_t>(tokens); i < arrays.size(); ++i) {
    const auto array = arrays.get<ffi::AnyBuffer>(i);
    auto result = results.get<ffi::AnyBuffer>(i);
    if (array.has_error() || result.has_error() ||
        array->untyped_data() != (*result)->untyped_data())
      return ffi::Error::Internal("XLA has not given array " + std::to_string(addresses.size()) +
                                  " and its result one memory");
    addresses.push_back(array->untyped_data());
  }
  const halocline_status status =
      library.run_at(exchange, addresses.data(), static_cast<int>(addresses.size()), stream);
  return status == HALOCLINE_OK ? ffi::Error::Success()
                                : ffi::Error(code_of(status), library.last_error());
}

ffi::Error fill_on_host(ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int64_t plan,
                        std::int64_t tokens) {
  return fill(HALOCLINE_HOST_STREAM, arrays, results, plan, tokens);
}

ffi::Error fill_on_gpu(void* stream, ffi::RemainingArgs arrays, ffi::RemainingRets results,
                       std::int64_t plan, std::int64_t tokens) {
  // XLA's stream is CUDA's default one if it is null, which is the host's for Halocline.
  return fill(stream == nullptr ? HALOCLINE_CUDA_DEFAULT_STREAM : stream, arrays, results, plan,
              tokens);
}

}  // namespace

/// Takes the functions that all plans are run with.
extern "C" void halocline_jax_use(decltype(&halocline_exchange_run_at) run_at,
                                  decltype(&halocline_last_error) last_error) {
  const std::lock_guard lock(plans().mutex);
  plans().library = {run_at, last_error};
}

/// Adds a plan; returns its number.
extern "C" std::int64_t halocline_jax_add(halocline_exchange* exchange) {
  const std::lock_guard lock(plans().mutex);
  plans().exchanges.push_back(exchange);
  return static_cast<std::int64_t>(plans().exchanges.size()) - 1;
}

/// From now on calls with this number are errors.
extern "C" void halocline_jax_remove(std::int64_t plan) {
  const std::lock_guard lock(plans().mutex);
  plans().exchanges[static_cast<std::size_t>(plan)] = nullptr;
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    halocline_jax_on_host, fill_on_host,
    ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<std::int64_t>("plan").Attr<std::int64_t>(
        "tokens"));

// An exchange only queues work on the stream, so XLA may record it in its CUDA graphs.
XLA_FFI_DEFINE_HANDLER_SYMBOL(halocline_jax_on_gpu, fill_on_gpu,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::int64_t>("plan")
                                  .Attr<std::int64_t>("tokens"),
                              {ffi::Traits::kCmdBufferCompatible});
