// SPDX-License-Identifier: Apache-2.0
#include "compiler/cuda/compiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <halocline/error.hpp>

#include "base/process/variables.hpp"
#include "compiler/compiler_files.hpp"
#include "compiler/kept_code.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/runtime.hpp"
#include "device/gpu.hpp"

namespace halocline::compiler {
namespace {

/// NVRTC's program, opaque here too.
struct Program;

constexpr int success = 0;

/// The functions that are used, as nvrtc.h declares them.
struct Nvrtc {
  std::string path, version;
  std::uintmax_t bytes = 0;  ///< of its file, which differ where builds of one version do

  const char* (*error_text)(int) = nullptr;
  int (*count_architectures)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
  int (*create)(Program**, const char* source, const char* name, int headers,
                const char* const* texts, const char* const* names) = nullptr;
  int (*destroy)(Program**) = nullptr;
  int (*add_name)(Program*, const char*) = nullptr;
  int (*compile)(Program*, int count, const char* const* options) = nullptr;
  int (*lowered_name)(Program*, const char* name, const char** lowered) = nullptr;
  int (*log_size)(Program*, std::size_t*) = nullptr;
  int (*log)(Program*, char*) = nullptr;
  int (*cubin_size)(Program*, std::size_t*) = nullptr;
  int (*cubin)(Program*, char*) = nullptr;
  int (*ptx_size)(Program*, std::size_t*) = nullptr;
  int (*ptx)(Program*, char*) = nullptr;
};

struct Loaded {
  std::optional<Nvrtc> nvrtc;
  std::string why_not;
};

/// NVRTC opens a library of its own by the name alone, which the loader does not find in the folder
/// of a Python package. One that is loaded already needs no folder.
void load_builtins(const Nvrtc& nvrtc) {
  const std::filesystem::path folder = std::filesystem::path(nvrtc.path).parent_path();
  ::dlopen((folder / ("libnvrtc-builtins.so." + nvrtc.version)).c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Takes the first file for the driver's CUDA version, or an earlier one.
Loaded load() {
  const auto [wanted, files] = find_compiler(device::gpus().driver, current_variables());
  LoadedLibrary opened = load_library(wanted, files);
  if (!opened.problem.empty()) return {std::nullopt, why_not(wanted, opened)};
  Nvrtc nvrtc{.path = opened.found.file.string(), .version = opened.version};
  std::error_code ignored;
  nvrtc.bytes = std::filesystem::file_size(nvrtc.path, ignored);
  Symbols symbols(opened.handle);
  symbols.find("nvrtcGetErrorString", nvrtc.error_text);
  symbols.find("nvrtcGetNumSupportedArchs", nvrtc.count_architectures);
  symbols.find("nvrtcGetSupportedArchs", nvrtc.architectures);
  symbols.find("nvrtcCreateProgram", nvrtc.create);
  symbols.find("nvrtcDestroyProgram", nvrtc.destroy);
  symbols.find("nvrtcAddNameExpression", nvrtc.add_name);
  symbols.find("nvrtcCompileProgram", nvrtc.compile);
  symbols.find("nvrtcGetLoweredName", nvrtc.lowered_name);
  symbols.find("nvrtcGetProgramLogSize", nvrtc.log_size);
  symbols.find("nvrtcGetProgramLog", nvrtc.log);
  symbols.find("nvrtcGetCUBINSize", nvrtc.cubin_size);
  symbols.find("nvrtcGetCUBIN", nvrtc.cubin);
  symbols.find("nvrtcGetPTXSize", nvrtc.ptx_size);
  symbols.find("nvrtcGetPTX", nvrtc.ptx);
  opened.problem = symbols.problem();
  if (!opened.problem.empty()) return {std::nullopt, why_not(wanted, opened)};
  load_builtins(nvrtc);
  return {std::move(nvrtc), ""};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

/// A program of NVRTC's, owned.
class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const Source& source) : nvrtc_(nvrtc), source_(source) {
    std::vector<const char*> texts, names;
    for (const Header& header : source.headers) {
      texts.push_back(header.text);
      names.push_back(header.name);
    }
    check(nvrtc.create(&program_, source.text.c_str(), "formula.cu", static_cast<int>(texts.size()),
                       texts.data(), names.data()),
          "nvrtcCreateProgram");
  }
  ~Compilation() { nvrtc_.destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  Code compile_for(int capability) {
    check(nvrtc_.add_name(program_, source_.kernel.c_str()), "nvrtcAddNameExpression");
    const auto [architecture, is_own] = architecture_for(capability);
    const std::string target =
        fmt::format("--gpu-architecture={}_{}", is_own ? "sm" : "compute", architecture);
    std::vector<const char*> options(std::begin(compiler_options), std::end(compiler_options));
    options.push_back(target.c_str());
    if (nvrtc_.compile(program_, static_cast<int>(options.size()), options.data()) != success)
      throw Error(ErrorKind::internal,
                  fmt::format("NVRTC {} at '{}' refused a kernel: {}", nvrtc_.version, nvrtc_.path,
                              text(nvrtc_.log_size, nvrtc_.log)));
    const char* name = nullptr;
    check(nvrtc_.lowered_name(program_, source_.kernel.c_str(), &name), "nvrtcGetLoweredName");
    return {
        .image = is_own ? text(nvrtc_.cubin_size, nvrtc_.cubin) : text(nvrtc_.ptx_size, nvrtc_.ptx),
        .kernel = name};
  }

 private:
  /// Returns the newest architecture that NVRTC knows up to that of the GPU, and whether it is the
  /// GPU's own; else the driver has to translate.
  std::pair<int, bool> architecture_for(int wanted) const {
    int count = 0;
    check(nvrtc_.count_architectures(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> known(static_cast<std::size_t>(count));
    check(nvrtc_.architectures(known.data()), "nvrtcGetSupportedArchs");
    int best = 0;
    for (const int one : known)
      if (one <= wanted) best = std::max(best, one);
    if (best == 0)
      throw Error(ErrorKind::unavailable,
                  fmt::format("NVRTC {} at '{}' does not know GPUs of compute capability {}.{}",
                              nvrtc_.version, nvrtc_.path, wanted / 10, wanted % 10));
    return {best, best == wanted};
  }

  std::string text(int (*size_of)(Program*, std::size_t*), int (*get)(Program*, char*)) const {
    std::size_t size = 0;
    check(size_of(program_, &size), "a size of NVRTC's");
    std::string result(size, '\0');
    check(get(program_, result.data()), "a result of NVRTC's");
    return result;
  }

  void check(int result, const char* call) const {
    if (result == success) return;
    throw Error(ErrorKind::internal, fmt::format("{} of NVRTC {} at '{}': {}", call, nvrtc_.version,
                                                 nvrtc_.path, nvrtc_.error_text(result)));
  }

  const Nvrtc& nvrtc_;
  const Source& source_;
  Program* program_ = nullptr;
};

/// The driver's functions, as in CUDA 12.0.
struct LibraryFunctions {
  decltype(&cuLibraryLoadData) load;
  decltype(&cuLibraryUnload) unload;
  decltype(&cuLibraryGetKernel) kernel;

  LibraryFunctions() {
    device::cuda::find_in_driver(load, "cuLibraryLoadData");
    device::cuda::find_in_driver(unload, "cuLibraryUnload");
    device::cuda::find_in_driver(kernel, "cuLibraryGetKernel");
  }
};

const LibraryFunctions& library_functions() {
  static const LibraryFunctions functions;
  return functions;
}

/// What a compiled kernel depends on.
std::string key_of(const Source& source, int capability) {
  std::string texts = source.text;
  for (const Header& header : source.headers)
    texts += fmt::format("\n{}\n{}", header.name, header.text);
  const Nvrtc& nvrtc = *loaded().nvrtc;
  return fmt::format("NVRTC {}\nof {} bytes\nfor the driver's {}\nsm_{}\n{}\n{}\n{}", nvrtc.version,
                     nvrtc.bytes, device::gpus().driver, capability,
                     fmt::join(compiler_options, " "), source.kernel, content_hash(texts));
}

/// Where code is kept for later runs, if it is.
std::optional<KeptCode> kept_code() {
  static const std::optional<std::string> folder = folder_of_kept_code(current_variables());
  if (!folder || no_compiler_because()) return std::nullopt;
  return KeptCode(*folder);
}

/// Returns the code that an earlier run kept.
std::optional<Code> kept(const Source& source, int capability) {
  const std::optional<KeptCode> all = kept_code();
  if (!all) return std::nullopt;
  const auto content = all->find(key_of(source, capability));
  if (!content) return std::nullopt;
  const std::size_t end_of_name = content->find('\n');
  if (end_of_name == std::string::npos) return std::nullopt;
  return Code{.image = content->substr(end_of_name + 1), .kernel = content->substr(0, end_of_name)};
}

/// Code that this process has compiled or found.
class Known {
 public:
  std::optional<Code> find(const Source& source, int capability) const {
    const std::lock_guard guard(lock_);
    const auto found = codes_.find(key(source, capability));
    return found == codes_.end() ? std::nullopt : std::optional(found->second);
  }
  Code keep(const Source& source, int capability, Code code) {
    const std::lock_guard guard(lock_);
    return codes_[key(source, capability)] = std::move(code);
  }

 private:
  static std::string key(const Source& source, int capability) {
    return fmt::format("{}\n{}\n{}", capability, source.kernel, source.text);
  }

  mutable std::mutex lock_;
  std::map<std::string, Code> codes_;
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

std::optional<std::string> no_compiler_because() {
  const Loaded& all = loaded();
  return all.nvrtc ? std::nullopt : std::optional(all.why_not);
}

Code compile(const Source& source, int capability) {
  if (auto code = find_compiled(source, capability)) return *std::move(code);
  Code code = compile_for(source, capability);
  if (const auto all = kept_code())
    all->keep(key_of(source, capability), code.kernel + "\n" + code.image);
  return known().keep(source, capability, std::move(code));
}

std::optional<Code> find_compiled(const Source& source, int capability) {
  if (auto code = known().find(source, capability)) return code;
  auto code = kept(source, capability);
  if (code) known().keep(source, capability, *code);
  return code;
}

Code compile_for(const Source& source, int capability) {
  if (const auto why = no_compiler_because()) throw Error(ErrorKind::unavailable, *why);
  return Compilation(*loaded().nvrtc, source).compile_for(capability);
}

Module::Module(const Code& code) : kernel_(code.kernel) {
  CUlibrary library = nullptr;
  device::cuda::require(library_functions().load(&library, code.image.data(), nullptr, nullptr, 0,
                                                 nullptr, nullptr, 0),
                        "cuLibraryLoadData");
  library_.reset(static_cast<void*>(library),
                 [](void* all) { library_functions().unload(static_cast<CUlibrary>(all)); });
}

void* Module::address() const {
  CUkernel kernel = nullptr;
  device::cuda::require(
      library_functions().kernel(&kernel, static_cast<CUlibrary>(library_.get()), kernel_.c_str()),
      "cuLibraryGetKernel");
  return static_cast<void*>(kernel);
}

}  // namespace halocline::compiler
