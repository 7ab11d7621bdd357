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
  std::string all = program->source;
  for (const auto& [name, text] : program->headers) all += name + text;
  const fs::path kept(NVRTC_ON_CPU_FOLDER);
  const std::string number = std::to_string(std::hash<std::string>()(all));
  program->code = (kept / (number + ".so")).string();
  if (fs::exists(program->code)) return success;

  const fs::path folder = kept / (number + "." + std::to_string(getpid()));
  for (const auto& [name, text] : program->headers) write(folder / name, text);
  write(folder / "formula.cpp", program->source);
  const fs::path made = folder / "formula.so";
  // -O1: twice as long to compile with -O2. Each thread's own variables are not those of the
  // program, so that they need no place in its static block. ccache, if there is one, knows what
  // other builds have compiled; paths from the folder are the same there.
  std::vector<std::string> compile{NVRTC_ON_CPU_COMMAND};
  compile.insert(compile.end(),
                 {"-std=c++20", "-O1", "-fPIC", "-ffp-contract=off", "-w", "-I",
                  NVRTC_ON_CPU_INCLUDE, "-I.", "-c", "formula.cpp", "-o", "formula.o"});
  std::vector<std::string> link{NVRTC_ON_CPU_COMMAND};
  link.erase(link.begin(), std::find(link.begin(), link.end(), NVRTC_ON_CPU_COMPILER));
  link.insert(link.end(), {"-shared", "formula.o", "-o", "formula.so"});
  const bool compiled = run(compile, folder) && run(link, folder);
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
