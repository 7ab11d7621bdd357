// SPDX-License-Identifier: Apache-2.0
// Stands for NVRTC where CUDA runs on the CPU: a library to load with HALOCLINE_NVRTC. The C++
// compiler of this build makes a shared library of the source; its path is the code, which
// cuLibraryLoadData takes. What was compiled before is kept in a folder of the build.
//
// NVRTC_ON_CPU names a fault: "old" (version 11.8), "refuses" (no source compiles), "no-such-gpu"
// (knows compute capability 7.5 alone, so that the driver has to translate).

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/wait.h>

extern char** environ;

namespace {

namespace fs = std::filesystem;

constexpr int success = 0, invalid_input = 3, compilation_failed = 6;

bool has_fault(const char* fault) {
  const char* const set = std::getenv("NVRTC_ON_CPU");
  return set != nullptr && std::strcmp(set, fault) == 0;
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// Runs a program in a folder, where its words go to the file `log`; returns whether it ended with
/// 0.
bool run(std::vector<std::string> command, const fs::path& folder) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, 1, "log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const bool started =
      posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return started && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

struct _nvrtcProgram {
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  // names and texts
  std::vector<std::string> names;
  std::string log, code;
};

namespace {

std::string number_of(const std::string& text) {
  return std::to_string(std::hash<std::string>()(text));
}

/// Returns a call of the compiler with these words, too. -O1: twice as long with -O2. Each thread's
/// own variables are not those of the program, so that they need no place in its static block.
/// ccache, if there is one, knows what other builds have compiled: paths are relative to a folder
/// of theirs.
std::vector<std::string> compilation(const std::vector<std::string>& words) {
  std::vector<std::string> all{NVRTC_ON_CPU_COMMAND};
  all.insert(all.end(),
             {"-std=c++20", "-O1", "-fPIC", "-ffp-contract=off", "-w", "-I", NVRTC_ON_CPU_INCLUDE});
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

/// Returns the name of a folder in `kept` with the headers. The one that the source begins with is
/// compiled there, for all sources that do: they take less than half of the time then.
std::string kept_headers(const _nvrtcProgram& program, const fs::path& kept) {
  std::string all = program.source.substr(0, program.source.find('\n'));
  for (const std::string& word : compilation({})) all += word;
  for (const auto& [name, text] : program.headers) all += name + text;
  const std::string result = "headers-" + number_of(all);
  if (fs::exists(kept / result)) return result;

  const fs::path made = kept / (result + "." + std::to_string(getpid()));
  for (const auto& [name, text] : program.headers) write(made / name, text);
  constexpr std::string_view before = "#include \"";
  if (program.source.starts_with(before)) {
    const std::string first = program.source.substr(
        before.size(), program.source.find('"', before.size()) - before.size());
    run(compilation({"-I.", "-x", "c++-header", first, "-o", first + ".gch"}), made);
  }
  std::error_code another_was_first;
  fs::rename(made, kept / result, another_was_first);
  if (another_was_first) fs::remove_all(made);
  return result;
}

}  // namespace

extern "C" {

using nvrtcProgram = _nvrtcProgram*;

int nvrtcVersion(int* major, int* minor) {
  *major = has_fault("old") ? 11 : 13;
  *minor = has_fault("old") ? 8 : 0;
  return success;
}

const char* nvrtcGetErrorString(int result) {
  return result == compilation_failed ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_INPUT";
}

int nvrtcGetNumSupportedArchs(int* count) {
  *count = 1;
  return success;
}
int nvrtcGetSupportedArchs(int* all) {
  *all = has_fault("no-such-gpu") ? 75 : 90;
  return success;
}

int nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char*, int headers,
                       const char* const* texts, const char* const* names) {
  if (program == nullptr || source == nullptr) return invalid_input;
  *program = new _nvrtcProgram{source, {}, {}, {}, {}};
  for (int i = 0; i < headers; ++i) (*program)->headers.emplace_back(names[i], texts[i]);
  return success;
}

int nvrtcDestroyProgram(nvrtcProgram* program) {
  delete std::exchange(*program, nullptr);
  return success;
}

int nvrtcAddNameExpression(nvrtcProgram program, const char* name) {
  program->names.emplace_back(name);
  return success;
}

int nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  if (has_fault("refuses")) {
    program->log = "formula.cu(1): error: refused, as NVRTC_ON_CPU asks";
    return compilation_failed;
  }
  for (int i = 0; i < count; ++i) program->source += std::string("// ") + options[i] + "\n";
  // A kernel's address, which the driver's stand-in asks for.
  for (std::size_t i = 0; i < program->names.size(); ++i)
    program->source += "extern \"C\" void* kernel_" + std::to_string(i) +
                       "() { return reinterpret_cast<void*>(&" + program->names[i] + "); }\n";
  const fs::path kept(NVRTC_ON_CPU_FOLDER);
  const std::string headers = kept_headers(*program, kept);
  const std::string number = number_of(program->source + headers);
  program->code = (kept / (number + ".so")).string();
  if (fs::exists(program->code)) return success;

  const fs::path folder = kept / (number + "." + std::to_string(getpid()));
  write(folder / "formula.cpp", program->source);
  const fs::path made = folder / "formula.so";
  std::vector<std::string> link{NVRTC_ON_CPU_COMMAND};
  link.erase(link.begin(), std::find(link.begin(), link.end(), NVRTC_ON_CPU_COMPILER));
  link.insert(link.end(), {"-shared", "formula.o", "-o", "formula.so"});
  const bool compiled =
      run(compilation({"-I../" + headers, "-c", "formula.cpp", "-o", "formula.o"}), folder) &&
      run(link, folder);
  program->log = read(folder / "log");
  if (compiled) fs::rename(made, program->code);
  fs::remove_all(folder);
  return compiled ? success : compilation_failed;
}

int nvrtcGetLoweredName(nvrtcProgram program, const char* name, const char** lowered) {
  static std::vector<std::string> names;
  for (std::size_t i = 0; i < program->names.size(); ++i) {
    if (program->names[i] != name) continue;
    while (names.size() <= i) names.push_back("kernel_" + std::to_string(names.size()));
    *lowered = names[i].c_str();
    return success;
  }
  return invalid_input;
}

int nvrtcGetProgramLogSize(nvrtcProgram program, std::size_t* size) {
  *size = program->log.size() + 1;
  return success;
}
int nvrtcGetProgramLog(nvrtcProgram program, char* log) {
  std::strcpy(log, program->log.c_str());
  return success;
}

int nvrtcGetCUBINSize(nvrtcProgram program, std::size_t* size) {
  *size = program->code.size() + 1;
  return success;
}
int nvrtcGetCUBIN(nvrtcProgram program, char* code) {
  std::strcpy(code, program->code.c_str());
  return success;
}
int nvrtcGetPTXSize(nvrtcProgram program, std::size_t* size) {
  return nvrtcGetCUBINSize(program, size);
}
int nvrtcGetPTX(nvrtcProgram program, char* code) { return nvrtcGetCUBIN(program, code); }

}  // extern "C"
