// SPDX-License-Identifier: Apache-2.0
// What is wrong with a command line is told before ranks are started, in one line, with the words
// that are wrong and what to write instead. What only ranks can find:
// tests/ranks/test_refused_solves.cpp.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "support/npy_bytes.hpp"
#include "support/temporary_folder.hpp"
#include "unit/checked_command.hpp"

namespace halocline::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct BadLine {
  std::string_view words;  // '' is an empty word, ~ a folder
  std::string_view says;   // parts of the error, with a bar between them
};

constexpr BadLine bad_lines[] = {
    // Commands and words
    {"nothing", "'nothing'|--help"},
    {"slove laplace --cells 4x4", "'slove'|solve?|halocline --help"},
    {"plot u.npy", "Python package: pip install 'halocline[plot]', then halocline plot FILE..."},
    {"solve", "PROBLEM|--restart|solve --help"},
    {"solve nothing", "'nothing'|laplace, jacobi, heat, star7"},
    {"solve ''", "problem ''"},
    {"solve heat extra", "'extra'|--help"},
    {"solve heat --no-such-option", "--no-such-option|solve --help"},
    {"solve heat --rank 2", "'--rank'|--ranks?"},
    {"solve heat more --nothing --yet", "'more'|'--nothing'|'--yet'"},
    {"solve heat --cells", "--cells|--help"},
    {"solve heat --json --verify", "--json|--json=--verify"},
    {"solve heat --verify=no", "--verify|'--verify=no'"},
    {"solve heat --sweeps 2 --sweeps 3", "--sweeps|'2' and '3'"},
    {"solve heat --json a --ranks 2 --json=a", "--json|once"},
    {"solve laplace --trace -", "--trace|--json"},
    {"solve laplace --tune -", "--tune|--json"},
    {"solve laplace --cells ''", "--cells ''|--help"},
    {"solve heat --proofs ''", "--proofs ''"},
    {"solve heat --trace=", "--trace ''"},
    {"solve heat --initial ''", "--initial ''"},
    {"solve heat --output ''", "--output ''"},
    {"solve heat --json ''", "--json ''"},
    {"solve heat --initial a.npy --initial b.npy --cells 9", "--initial|'a.npy'|'b.npy'"},
    {"problem", "list, show, check|problem --help"},
    {"problem check ~/none.toml", "none.toml"},
    {"problem show none", "'none'|laplace"},
    {"solve ~/none.toml", "none.toml"},
    {"plan ~/none.toml", "none.toml"},
    {"plan telepathy", "'telepathy'"},
    {"plan laplace --rank 3", "'--rank'|plan --help"},
    {"bench", "halo, step, p2p|bench --help"},
    {"bench nothing", "'nothing'|halo"},
    {"--verbose", "--version"},

    // Cells, sweeps and norms
    {"solve laplace --cells 0x5", "--cells '0x5'|at least 1"},
    {"solve heat --cells 1 --ranks 2", "1 cell cannot be split|2 ranks"},
    {"solve laplace --cells -1x4", "'-1x4'|at least 1"},
    {"solve laplace --cells 4x4x4x4", "'4x4x4x4'|3 axes"},
    {"solve laplace --cells 4294967296x4294967296 --ranks 2", "4294967296|2^63"},
    {"solve laplace --cells 16 --ranks 2", "laplace|2 to 3 axes|cells 16 have 1"},
    {"solve star7 --cells 4x4 --ranks 2", "star7|3 axes|cells 4x4 have 2"},
    {"solve jacobi --cells 4x4x4", "jacobi|2 axes|cells 4x4x4 have 3"},
    {"solve laplace --cells 8x8 --cells-per-rank 4x4 --ranks 2", "not both"},
    {"solve laplace --ranks 2 --cells-per-rank 9223372036854775807x2", "2^63"},
    {"solve laplace --sweeps -1 --ranks 2", "-1 sweeps"},
    {"solve laplace --tolerance -1 --ranks 2", "tolerance -1"},
    {"solve laplace --tolerance 1 --norm none --ranks 2", "norm|max or l2"},
    {"solve laplace --norm most --ranks 2", "'most'|max, l2, none"},
    {"solve laplace --norm-every 0 --ranks 2", "norm every 0|at least 1"},
    {"solve laplace --precision f16", "'f16'|f32, f64"},
    {"plan laplace --precision f16", "'f16'|f32, f64"},

    // Parameters
    {"solve heat --set speed=1 --ranks 2", "'speed'|alpha, dt, dx"},
    {"solve laplace --set speed=1 --ranks 2", "laplace|'speed'"},
    {"solve heat --set dt=1e-3 --set alpha=1 --set dt=1e-4", "dt twice"},
    {"solve heat --set dt=0 --ranks 2", "dt|positive"},
    {"solve heat --set alpha=-2", "alpha|positive|-2"},
    {"solve heat --set dt=0.01", "dt 0.01|0.0025"},
    {"solve heat --cells 9x9x9 --set dt=0.001 --ranks 2", "dt 0.001|0.00083333"},

    // Ranks and their grid
    {"solve laplace --ranks 0", "0 ranks|at least 1"},
    {"solve laplace --ranks -3", "-3 ranks|at least 1"},
    {"plan laplace --ranks 0", "0 ranks|at least 1"},
    {"doctor --ranks 1", "--ranks 1|2 or more"},
    {"doctor --time-limit 0.5", "0.5|1 to 3600"},
    {"doctor --batch lsf", "--batch 'lsf'|slurm"},
    {"solve laplace --cells 8x8 --ranks 65", "8x8 cells|65 ranks|at most 64"},
    {"solve laplace --cells 4x4 --ranks 1000000", "1000000 ranks|at most 16"},
    {"plan laplace --cells 2x2 --ranks 9", "9 ranks|at most 4"},
    {"solve laplace --cells 8x8 --ranks 4 --process-grid 3x1", "3x1|3 ranks|there are 4"},
    {"plan laplace --ranks 4 --process-grid 3x2", "3x2|6 ranks|there are 4"},
    {"solve laplace --cells 8x8 --ranks 2 --process-grid 2", "1 axis|has 2"},
    {"solve laplace --cells 8x8 --ranks 2 --process-grid 0x2", "0x2|at least 1"},
    {"solve laplace --cells 8x2 --ranks 3 --process-grid 1x3", "3 parts along y|2 cells"},
    {"solve laplace --wait-limit -1", "wait limit -1|--wait-limit"},

    // Halos, layouts, threads, backends
    {"solve laplace --halo-depth 0 --ranks 2", "halo depth 0|at least 1"},
    {"solve laplace --cells 64x64 --ranks 4 --process-grid 1x4 --halo-depth 17",
     "17|16 cells|along y"},
    {"solve laplace --cells 8x8 --ranks 4 --halo-depth 5", "8x8 cells|4 ranks|at least 5"},
    {"solve laplace --cells 8x8 --halo-depth 9", "halo depth 9|at most 8"},
    {"solve laplace --halo-depth 9223372036854775807", "halo depth|at most 1024"},
    {"plan laplace --cells 8x8 --halo-depth 9", "halo depth 9|at most 8"},
    {"plan laplace --halo-depth 4611686018427387904", "halo depth|at most 1024"},
    {"solve laplace --layout bricks", "'bricks'|auto, array, brick, brick:32x8"},
    {"solve laplace --layout brick:8x6", "'brick:8x6'|powers of 2"},
    {"solve laplace --layout brick:8x0", "'brick:8x0'|at least 1"},
    {"solve laplace --layout brick:8x8x8x8 --ranks 2", "'brick:8x8x8x8'|one per axis"},
    {"solve laplace --layout brick:8x8x8", "3 sizes|2 axes"},
    {"solve laplace --layout brick:8x1048576", "'1048576'|65536"},
    {"solve laplace --layout brick:", "'brick:'"},
    {"solve laplace --threads -1 --ranks 2", "-1 threads"},
    {"solve heat --threads 1000000000", "1000000000 threads"},
    {"solve laplace --backend gpu --ranks 2", "'gpu'|reference|cpu"},
    {"solve laplace --memory paper --ranks 2",
     "'paper'|auto, device, pinned, managed, system, host"},
    {"solve laplace --memory device --backend cpu --ranks 2",
     "cpu backend|device memory|--memory host"},
    {"solve laplace --memory host --backend cuda",
     "cuda backend|host memory|pinned, managed or device"},
    {"solve laplace --simd mmx --ranks 2", "'mmx'|auto, scalar"},
    {"solve laplace --graph maybe", "'maybe'|auto"},
    {"solve laplace --writing never", "'never'|beside"},
    {"solve laplace --tune-budget -1", "-1 seconds"},

    // What is looked at on the way
    {"solve ~/s.toml --output u.npy --output-every 0", "every 0|--output-every"},
    {"solve ~/s.toml --output u.npy --output-every -2", "every -2|--output-every"},
    {"solve ~/s.toml --output-every 5", "--output-every|--output"},
    {"solve ~/s.toml --output u --output-every 5", "'u'|.npy|.png"},
    {"solve ~/s.toml --probe v@40,3", "(40, 3)|40x30|0 to 39"},
    {"solve ~/s.toml --probe v@3", "--probe|2 axes"},
    {"solve ~/s.toml --probe -1,0", "(-1, 0)|0 to 39"},
    {"solve ~/s.toml --probe v@x,3", "--probe|'x'"},
    {"solve ~/s.toml --probe w@1,3", "--probe|'w'|u, v"},
    {"solve ~/s.toml --sum w", "--sum|'w'|u, v"},
    {"solve ~/s.toml --series a.csv", "--series|--sum|--probe"},
    {"solve ~/s.toml --sum u --series-every 0", "every 0|--series-every"},
    {"solve ~/s.toml --range 0,1 --output u.npy", "--range|picture"},
    {"solve ~/s.toml --range 1,0 --output u.png", "--range|1 to 0"},
    {"solve ~/s.toml --range 0 --output u.png", "--range|1 number"},

    // Files
    {"solve heat --output u.txt --ranks 2", "u.txt|.npy|.png"},
    {"solve heat --output u", "'u'|.npy|.png"},
    {"solve heat --checkpoint ~/c --checkpoint-every 10ms", "'10ms'|--checkpoint-every|90s"},
    {"solve heat --checkpoint ~/c --checkpoint-every 3weeks", "'3weeks'|--checkpoint-every|2h"},
    {"solve heat --checkpoint ~/c --checkpoint-every 99999999999h", "3.6e+14 seconds|three years"},
    {"solve heat --output ~/nowhere/u.npy --ranks 2", "nowhere/u.npy|no folder|create it"},
    {"solve heat --output ~/nowhere/u.png", "no folder"},
    {"solve heat --output ~/folder.npy --ranks 2", "folder.npy|is a folder"},
    {"solve heat --output ~/file/u.npy", "file/u.npy|is not a folder"},
    {"solve heat --json ~/nowhere/r.json", "nowhere/r.json|no folder"},
    {"solve heat --json ~/folder.npy --ranks 2", "is a folder"},
    {"solve heat --trace ~/nowhere/t.json --ranks 2", "no folder"},
    {"solve heat --sum u --series ~/nowhere/s.csv", "no folder"},
    {"solve ~/s.toml --output ~/no/u.npy --output-every 5", "no/u-000000.npy"},
    {"solve ~/s.toml --output ~/numbered.npy --output-every 20", "numbered-000020.npy"},
    {"bench halo --json ~/nowhere/r.json", "no folder"},
    {"solve heat --initial ~/none.npy", "none.npy|no such file"},
    {"solve heat --initial ~/folder.npy", "folder.npy|folder"},
    {"solve heat --initial ~/file", "file'|not a .npy file"},

    // Two options with one file
    {"solve heat --output ~/same.npy --trace ~/same.npy", "--output|--trace|same.npy"},
    {"solve heat --output ~/same.npy --json ~/same.npy", "--output|--json|same.npy"},
    {"solve heat --trace ~/same --json ~/./same", "--trace|--json|same"},
    {"solve heat --tune ~/same --json ~/same", "--tune|--json|same"},
    {"solve heat --proofs ~/same --trace ~/same", "--proofs|--trace|same"},
    {"solve heat --tune ~/same.npy --output ~/same.npy", "--tune|--output|same.npy"},
    {"solve heat --sum u --series ~/same.csv --json ~/same.csv", "--series|--json|same.csv"},
    {"solve heat --cells 9 --initial ~/file --trace ~/file", "--initial|--trace|file"},
    {"solve heat --cells 9 --initial u=~/file --json ~/file", "--initial|--json|file"},
    {"solve ~/s.toml --output ~/u.npy --output v=~/./u.npy --output-every 5", "u-000000.npy"},
    {"solve ~/s.toml --output ~/u.npy --output-every 5 --json ~/u-000010.npy",
     "--json|--output|u-000010.npy"},
    {"bench p2p --ranks 2 --json ~/r.json --trace ~/./r.json", "--json|--trace|r.json"},
    {"bench halo --proofs ~/same --json ~/same", "--proofs|--json|same"},

    // Benchmarks whose sizes no 64 bits hold
    {"bench halo --ranks 2 --cells-per-rank 9223372036854775807x2", "2^63"},
    {"bench halo --ranks 2 --cells-per-rank 4611686018427387904x8 --process-grid 2x1", "2^63"},
    {"bench halo --ranks 2 --cells-per-rank 8x8 --width 4611686018427387904", "width"},
    {"bench halo --ranks 2 --fields 9223372036854775807", "fields|1 to 1000"},
    {"bench p2p --ranks 2 --window 9223372036854775807", "window"},
    {"bench step --ranks 2 --cells-per-rank 9223372036854775807x2", "2^63"},
    {"bench layout --ranks 2 --cells-per-rank 2x2x9223372036854775807", "2^63"},
    {"bench layout --ranks 2 --steps 9223372036854775807", "exchanges"},
    {"bench layout --ranks 2 --sweeps 9223372036854775800", "1 to"},
};

constexpr std::string_view two_fields = R"toml(axes = 2
cells = [40, 30]
[fields.u]
initial = 1
boundary = "periodic"
[fields.v]
initial = 2
boundary = "periodic"
[update]
u = "u + 0.1*laplace(u)"
v = "v + 0.1*laplace(v)"
[stop]
sweeps = 45
)toml";

class CommandLineErrors : public testing::Test {
 protected:
  CommandLineErrors() {
    folder_.put("s.toml", std::string(two_fields));
    folder_.put("file", "kept");
    for (const char* name : {"folder.npy", "numbered-000020.npy"})
      std::filesystem::create_directory(folder_ / name);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  Caught refusal_of_line(std::string_view line) const {
    return refusal_of(words_in(line, folder_.path()));
  }

  TemporaryFolder folder_;
};

TEST_F(CommandLineErrors, NameTheWordsThatAreWrong) {
  const std::vector<std::string> before = names();
  for (const BadLine& line : bad_lines) {
    SCOPED_TRACE(line.words);
    const Caught error = refusal_of_line(line.words);
    EXPECT_THAT(error, says(ErrorKind::usage, Not(HasSubstr("\n"))));
    for (const std::string& part : parts_of(line.says, '|'))
      EXPECT_THAT(error.text, HasSubstr(part));
  }
  EXPECT_EQ(names(), before) << "nothing is left behind";
  std::ifstream kept(folder_ / "file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "kept");
}

TEST_F(CommandLineErrors, NameAFileWhoseNameIsTooLong) {
  const std::string name(300, 'x');
  const Caught error = refusal_of({"solve", "heat", "--json", name});
  EXPECT_THAT(error, says(ErrorKind::usage, name, "too long"));
}

TEST_F(CommandLineErrors, ShowNothingThatATerminalObeys) {
  EXPECT_THAT(refusal_of_line("solve heat --initial ~/\x1b[31m\x07\xc2\x9bred.npy").text,
              HasSubstr("\\x1b[31m\\x07\\x9bred.npy"));
  folder_.put("u.npy", npy_file("\x1b]0;x\x07", "(3,)", std::string(24, '\0')));
  EXPECT_THAT(refusal_of_line("solve heat --initial ~/u.npy").text, HasSubstr("\\x1b]0;x\\x07"));
}

TEST_F(CommandLineErrors, TellWhatIsNoFile) {
  ::mkfifo((folder_ / "pipe").c_str(), 0600);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder_ / "listener";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const Caught error = refusal_of_line("solve heat --initial ~/listener");
  EXPECT_THAT(error, says(ErrorKind::usage, "/listener'", "socket"));
  ::close(listener);
  ::mkfifo((folder_ / "pipe.toml").c_str(), 0600);
  for (const char* line : {"solve heat --initial ~/pipe", "solve ~/pipe.toml"}) {
    const Caught pipe = refusal_of_line(line);
    EXPECT_THAT(pipe, says(ErrorKind::usage, "a pipe")) << line;
  }
}

TEST_F(CommandLineErrors, TellATruncatedArrayByItsSize) {
  folder_.put("u.npy", npy_file("<f8", "(300000, 300000)", std::string(1000, '\0')));
  const Caught error = refusal_of_line("solve laplace --initial ~/u.npy");
  EXPECT_THAT(error, says(ErrorKind::usage, "u.npy", "truncated", "720000000000"));
}

TEST_F(CommandLineErrors, AreNotThereForWhatIsRight) {
  for (const char* line :
       {"solve laplace", "solve heat --cells 9 --initial u=a.npy --output u.npy",
        "solve heat --cells 9 --initial ~/file --output ~/file.npy", "bench halo --ranks 2",
        "plan star7", "solve heat --json /dev/null --trace /dev/null", "doctor", "problem list",
        "solve ~/s.toml --output ~/u.npy --output v=~/v.png --output-every 5 --range v=0,1",
        "solve ~/s.toml --sum u"})
    EXPECT_FALSE(refusal_of_line(line).kind) << line << ": " << refusal_of_line(line).text;
}

TEST_F(CommandLineErrors, AreToldOfArraysBeforeAnyRun) {
  std::string text(two_fields);
  text.replace(text.find("= 2\nboundary"), 3, "= { file = \"v.npy\" }");
  text += "[coefficients]\nk = { file = \"k.npy\" }\n";
  text.replace(text.find("0.1*laplace(v)"), 3, "k");
  folder_.put("p.toml", text);
  const std::string right = npy_file("<f8", "(30, 40)", std::string(30 * 40 * 8, '\0'));
  const std::string single = npy_file("<f4", "(30, 40)", std::string(30 * 40 * 4, '\0'));
  const std::string turned = npy_file("<f8", "(40, 30)", std::string(30 * 40 * 8, '\0'));
  folder_.put("k.npy", right);
  const auto expect_refusal = [&](const char* says) {
    for (const char* line : {"problem check ~/p.toml", "solve ~/p.toml --explain"}) {
      const Caught error = refusal_of_line(line);
      EXPECT_EQ(error.kind, ErrorKind::usage) << line << says;
      for (const std::string& part : parts_of(says, '|'))
        EXPECT_THAT(error.text, HasSubstr(part)) << line;
    }
  };
  expect_refusal("v.npy|no such file");
  folder_.put("v.npy", turned);
  expect_refusal("v.npy|(40, 30)|40x30 cells");
  folder_.put("v.npy", right);
  folder_.put("k.npy", single);
  expect_refusal("k.npy|<f4|<f8");
  folder_.put("k.npy", right);
  EXPECT_FALSE(refusal_of_line("problem check ~/p.toml").kind);
  const Caught error = refusal_of_line("solve ~/p.toml --explain --initial u=~/none.npy");
  EXPECT_THAT(error.text, HasSubstr("none.npy"));
}

/// A mistake in a problem file, and parts of what is said of it.
struct Mistake {
  std::string_view right, wrong, says;
};

constexpr Mistake mistakes[] = {
    {"laplace(v)", "laplcea(v)", "p.toml:11:|laplcea|'laplace'|^"},
    {"\"periodic\"\n[fields.v]", "\"cyclic\"\n[fields.v]", "p.toml:5|'cyclic'|\"periodic\""},
    {"[update]", "[updates]", "p.toml:9|updates|'update'"},
    {"cells = [40, 30]", "cells = [40]", "2 axes"},
    {"sweeps = 45", "tolerance = 1e-3", "when to stop"},
    {"axes = 2", "axes = ", "p.toml:1"},
    {"[fields.u]", "[parameters]\nlaplace = 2\n[fields.u]", "'laplace'"},
    {"u = \"u +", "u = \"v[9,0] + u +", "p.toml:10|8 are the most"},
};

TEST_F(CommandLineErrors, OfProblemFilesTellTheirLine) {
  for (const Mistake& mistake : mistakes) {
    std::string text(two_fields);
    text.replace(text.find(mistake.right), mistake.right.size(), mistake.wrong);
    folder_.put("p.toml", text);
    for (const char* line :
         {"problem check ~/p.toml", "solve ~/p.toml --ranks 2", "plan ~/p.toml"}) {
      const Caught error = refusal_of_line(line);
      EXPECT_EQ(error.kind, ErrorKind::usage) << mistake.wrong;
      for (const std::string& part : parts_of(mistake.says, '|'))
        EXPECT_THAT(error.text, HasSubstr(part)) << line;
    }
  }
}

}  // namespace
}  // namespace halocline::test
