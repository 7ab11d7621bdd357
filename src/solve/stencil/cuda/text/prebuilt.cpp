// SPDX-License-Identifier: Apache-2.0
#include "stencil/cuda/text/prebuilt.hpp"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#include <halocline/error.hpp>

#include "device/cuda/runtime.hpp"
#include "stencil/cuda/text/kernel_headers.hpp"

namespace halocline::stencil::cuda {
namespace {

/// How a kernel begins in a bundle; names and code follow.
struct Head {
  std::uint64_t text;  ///< text_number() of its source
  std::int32_t capability;
  std::uint32_t kernel_bytes, name_bytes;  ///< as C++ names it, and its name in the code
  std::uint32_t packed_bytes;
  std::uint64_t code_bytes;
};

struct Prebuilt {
  Head head;
  std::string_view kernel, name, packed;

  /// Machine code runs on GPUs of the same generation that are not older.
  bool runs_on(int capability) const {
    return head.capability / 10 == capability / 10 && head.capability <= capability;
  }
};

void mix(std::uint64_t& number, std::string_view text) {
  for (const char byte : text) {  // FNV-1a
    number ^= static_cast<unsigned char>(byte);
    number *= 0x100000001b3u;
  }
  number *= 0x100000001b3u;
}

/// Returns a hash of a text, for all that it may include, and for how it is
/// compiled.
std::uint64_t text_number(const std::string& text) {
  static const std::uint64_t of_headers = [] {
    std::uint64_t number = 0xcbf29ce484222325u;
    for (const char* option : compiler::compiler_options) mix(number, option);
    for (const compiler::Header& header : kernel_headers()) {
      mix(number, header.name);
      mix(number, header.text);
    }
    return number;
  }();
  std::uint64_t number = of_headers;
  mix(number, text);
  return number;
}

/// Takes the first kernel off a bundle.
Prebuilt taken(std::string_view& bundle) {
  Prebuilt one{};
  std::memcpy(&one.head, bundle.data(), sizeof(Head));
  bundle.remove_prefix(sizeof(Head));
  const auto take = [&](std::size_t bytes) {
    const std::string_view text = bundle.substr(0, bytes);
    bundle.remove_prefix(bytes);
    return text;
  };
  one.kernel = take(one.head.kernel_bytes);
  one.name = take(one.head.name_bytes);
  one.packed = take(one.head.packed_bytes);
  return one;
}

/// Compiles a kernel, for a bundle.
std::string compiled(const KernelOfText& one, int capability) {
  const compiler::Code code = compiler::compile_for(
      {.text = one.text, .headers = kernel_headers(), .kernel = one.kernel}, capability);
  std::string packed(compressBound(code.image.size()), 0);
  uLongf bytes = packed.size();
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &bytes,
               reinterpret_cast<const Bytef*>(code.image.data()), code.image.size()) != Z_OK)
    throw Error(ErrorKind::resource, "no memory to compress a kernel");
  packed.resize(bytes);
  const Head head{.text = text_number(one.text),
                  .capability = capability,
                  .kernel_bytes = static_cast<std::uint32_t>(one.kernel.size()),
                  .name_bytes = static_cast<std::uint32_t>(code.kernel.size()),
                  .packed_bytes = static_cast<std::uint32_t>(packed.size()),
                  .code_bytes = code.image.size()};
  return std::string(reinterpret_cast<const char*>(&head), sizeof(Head)) + one.kernel +
         code.kernel + packed;
}

/// Returns the best that `fits` among those of a text that run on such GPUs.
template <class Fits>
std::optional<Prebuilt> best_of(const std::string& text, int capability, const Fits& fits) {
  std::optional<Prebuilt> best;
  const std::uint64_t number = text_number(text);
  for (std::string_view bundle : prebuilt_bundles())
    while (!bundle.empty()) {
      const Prebuilt one = taken(bundle);
      if (one.head.text == number && one.runs_on(capability) && fits(one) &&
          (!best || best->head.capability < one.head.capability))
        best = one;
    }
  return best;
}

}  // namespace

std::optional<compiler::Code> prebuilt_code(const std::string& text, const std::string& kernel,
                                            int capability) {
  const auto found =
      best_of(text, capability, [&](const Prebuilt& one) { return one.kernel == kernel; });
  if (!found) return std::nullopt;
  compiler::Code code{.image = std::string(found->head.code_bytes, 0),
                      .kernel = std::string(found->name),
                      .is_prebuilt = true};
  uLongf bytes = code.image.size();
  const int result =
      uncompress(reinterpret_cast<Bytef*>(code.image.data()), &bytes,
                 reinterpret_cast<const Bytef*>(found->packed.data()), found->packed.size());
  if (result != Z_OK || bytes != code.image.size())
    throw Error(ErrorKind::internal, "a kernel of this program is damaged: " + kernel);
  return code;
}

std::string bundle_of(const std::vector<KernelOfText>& kernels, int capability,
                      std::string_view before) {
  std::map<std::pair<std::uint64_t, std::string_view>, std::string_view> known;
  while (!before.empty()) {
    const std::string_view rest = before;
    const Prebuilt one = taken(before);
    if (one.head.capability == capability)
      known[{one.head.text, one.kernel}] = rest.substr(0, rest.size() - before.size());
  }
  std::string bundle;
  for (const KernelOfText& one : kernels) {
    const auto found = known.find({text_number(one.text), one.kernel});
    bundle += found != known.end() ? std::string(found->second) : compiled(one, capability);
  }
  return bundle;
}

bool is_prebuilt(const std::string& text, const std::optional<std::string>& kernel) {
  if (device::gpus().list.empty()) return false;
  return best_of(text, device::cuda::compute_capability(),
                 [&](const Prebuilt& one) { return !kernel || one.kernel == *kernel; })
      .has_value();
}

compiler::Code code_of(const std::string& text, const std::string& kernel) {
  return codes_of(text, {kernel}).front();
}

std::optional<compiler::Code> code_at_hand(const std::string& text, const std::string& kernel) {
  const int capability = device::cuda::compute_capability();
  if (auto code = prebuilt_code(text, kernel, capability)) return code;
  return compiler::find_compiled({.text = text, .headers = kernel_headers(), .kernel = kernel},
                                 capability);
}

std::vector<compiler::Code> codes_of(const std::string& text,
                                     const std::vector<std::string>& kernels) {
  const int capability = device::cuda::compute_capability();
  std::vector<compiler::Code> codes;
  for (const std::string& kernel : kernels) {
    if (auto code = prebuilt_code(text, kernel, capability))
      codes.push_back(std::move(*code));
    else
      codes.push_back(compiler::compile(
          {.text = text, .headers = kernel_headers(), .kernel = kernel}, capability));
  }
  return codes;
}

}  // namespace halocline::stencil::cuda
