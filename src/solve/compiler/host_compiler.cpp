// SPDX-License-Identifier: Apache-2.0
#include "compiler/host_compiler.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <halocline/error.hpp>

#include "base/libraries/find_program.hpp"
#include "base/process/variables.hpp"
#include "compiler/kept_code.hpp"

namespace halocline::compiler {
namespace {

/// Without a library: what is called is in the program. No error numbers, or square roots are
/// calls.
constexpr const char* usual_flags[] = {"-x",
                                       "c++",
                                       "-std=c++20",
                                       "-O3",
                                       "-fPIC",
                                       "-shared",
                                       "-nostdlib",
                                       "-w",
                                       "-fno-fast-math",
                                       "-ffp-contract=off",
                                       "-fno-math-errno",
                                       "-fno-exceptions",
                                       "-fno-rtti",
                                       "-fno-stack-protector",
                                       "-fvisibility=hidden"};
// Longer than any formula takes on a crowded node.
constexpr std::chrono::seconds longest_compilation{300};

Error unavailable(const std::string& text) { return Error(ErrorKind::unavailable, text); }

/// A folder of its own in the system's for temporary files, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
    std::string name = ((failed ? "/tmp" : folder) / "halocline-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw unavailable(fmt::format("cannot make a folder '{}': {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a program to its end; what it prints goes to a file. Returns whether it succeeded in time.
/// No fork: memory that a network's driver has registered must not be copied.
bool run(const std::vector<std::string>& words, const std::filesystem::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, arguments[0], &files, nullptr, arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return false;
  const auto end = std::chrono::steady_clock::now() + longest_compilation;
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    // A program that ignores SIGCHLD gets no status: what the compiler made tells.
    if (ended < 0 && errno == ECHILD) return true;
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

struct HostCompiler {
  std::string path{};
  std::string version{};  ///< what another one would not share
  std::string why_not{};
};

HostCompiler find_host_compiler() {
  const Variables variables = current_variables();
  const std::string named = value_of(variables, "HALOCLINE_CXX");
  if (named == "off") return {.why_not = "HALOCLINE_CXX is 'off'"};
  HostCompiler found;
  for (const std::string& name : named.empty() ? std::vector<std::string>{"c++", "g++", "clang++"}
                                               : std::vector<std::string>{named})
    if (found.path.empty()) found.path = find_program(name, variables);
  if (found.path.empty())
    return {.why_not = named.empty()
                           ? "there is no C++ compiler on PATH (c++, g++, clang++): install one, "
                             "or name one by HALOCLINE_CXX"
                           : fmt::format("HALOCLINE_CXX names '{}', which is no program", named)};
  struct stat facts {};
  if (::stat(found.path.c_str(), &facts) == 0)
    found.version = fmt::format("{} bytes of {}", facts.st_size, facts.st_mtime);
  return found;
}

const HostCompiler& host_compiler() {
  static const HostCompiler once = find_host_compiler();
  return once;
}

std::string key_of(const HostSource& source) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", host_compiler().path, host_compiler().version,
                     fmt::join(usual_flags, " "), fmt::join(source.flags, " "),
                     content_hash(source.text));
}

std::optional<KeptCode> kept_code() {
  static const std::optional<std::string> folder = folder_of_kept_code(current_variables());
  if (!folder) return std::nullopt;
  return KeptCode(*folder);
}

/// What this process has compiled or found, by keys.
struct Known {
  std::mutex lock;
  std::map<std::string, std::string> images;
};
Known& known() {
  static Known all;
  return all;
}

/// Returns the first line of a compiler's output that says what is wrong.
std::string first_error(const std::string& output) {
  const std::size_t at = output.find("error");
  if (at == std::string::npos) return output.substr(0, output.find('\n'));
  const std::size_t begin = output.rfind('\n', at) + 1;  // npos + 1 is 0
  return output.substr(begin, output.find('\n', at) - begin);
}

std::string compiled(const HostSource& source) {
  const TemporaryFolder folder;
  const auto text = folder.file("update.cpp"), image = folder.file("update.so"),
             output = folder.file("output");
  std::ofstream(text, std::ios::binary) << source.text;
  std::vector<std::string> words{host_compiler().path};
  words.insert(words.end(), std::begin(usual_flags), std::end(usual_flags));
  words.insert(words.end(), source.flags.begin(), source.flags.end());
  words.insert(words.end(), {"-o", image.string(), text.string()});
  const bool succeeded = run(words, output);
  std::string made = content_of(image);
  if (!succeeded || made.empty())
    throw unavailable(fmt::format("'{}' does not compile them: {}", host_compiler().path,
                                  first_error(content_of(output))));
  return made;
}

}  // namespace

std::optional<std::string> no_host_compiler_because() {
  const std::string& why_not = host_compiler().why_not;
  return why_not.empty() ? std::nullopt : std::optional(why_not);
}

std::optional<std::string> find_compiled_for_host(const HostSource& source) {
  if (no_host_compiler_because()) return std::nullopt;
  const std::string key = key_of(source);
  const std::lock_guard guard(known().lock);
  if (const auto found = known().images.find(key); found != known().images.end())
    return found->second;
  const auto all = kept_code();
  auto image = all ? all->find(key) : std::nullopt;
  if (image) known().images[key] = *image;
  return image;
}

std::string compile_for_host(const HostSource& source) {
  if (const auto why_not = no_host_compiler_because()) throw unavailable(*why_not);
  if (auto image = find_compiled_for_host(source)) return *std::move(image);
  const std::string key = key_of(source);
  std::string image = compiled(source);
  if (const auto all = kept_code()) all->keep(key, image);
  const std::lock_guard guard(known().lock);
  return known().images[key] = std::move(image);
}

HostCode::HostCode(const std::string& image)
    : file_(std::make_shared<Descriptor>(::memfd_create("halocline-update", MFD_CLOEXEC))) {
  std::size_t written = 0;
  while (file_->is_open() && written < image.size()) {
    const ssize_t some = ::write(file_->get(), image.data() + written, image.size() - written);
    if (some <= 0) break;
    written += static_cast<std::size_t>(some);
  }
  if (written < image.size())
    throw unavailable(fmt::format("cannot put code into memory: {}", std::strerror(errno)));
  const std::string path = fmt::format("/proc/self/fd/{}", file_->get());
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw unavailable(fmt::format("cannot load code: {}", ::dlerror()));
  library_.reset(library, [file = file_](void* one) { ::dlclose(one); });
}

void* HostCode::address(const char* name) const { return ::dlsym(library_.get(), name); }

}  // namespace halocline::compiler
