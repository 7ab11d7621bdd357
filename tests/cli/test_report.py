# SPDX-License-Identifier: Apache-2.0
"""The report as text and as JSON, help, and the examples in help and documents."""

import concurrent.futures
import json
import os
import pathlib
import re
import select
import shlex
import time

import numpy as np
import pytest
from pytest import approx

from command import ROOT, gpu_name, run, solve, solve_json, started
from schema import BASELINE, PROFILE, check_report

GOLDEN = pathlib.Path(__file__).parent / "golden"
BENCHMARKS = ["halo", "step", "p2p", "layout"]
COMMANDS = ["solve", *(f"bench {name}" for name in BENCHMARKS), "plan", "doctor"]


@pytest.mark.parametrize("words", [
    "heat", "heat --sweeps 0", "heat --sweeps 1 --ranks 2", "laplace --cells 40x30 --ranks 3",
    "jacobi --cells 30x20 --sweeps 7 --ranks 4 --process-grid 2x2 --transport mpi "
    "--backend cpu",
    "star7 --cells 8x8x8 --sweeps 4 --ranks 2 --halo-depth 2 --backend reference --verify",
    "laplace --cells 9x9x9 --norm none --precision f32 --schedule overlap --ranks 2"])
def test_json_has_every_key(words):
    check_report(solve_json(*words.split()))


def test_json_of_baseline_and_profile():
    report = solve_json("laplace", "--cells", "300x200", "--sweeps", "40", "--tolerance", "0",
                        "--ranks", "2", "--baseline", "--profile", "--verify")
    check_report(report, baseline=BASELINE, profile=PROFILE)
    baseline = report["baseline"]
    assert baseline["seconds"] > 0
    assert baseline["speedup"] == approx(baseline["seconds"] / report["seconds"]["loop"])
    assert baseline["efficiency"] == approx(baseline["speedup"] / 2)
    assert report["verified"] is True


@pytest.mark.slow
def test_large_runs_are_verified_against_the_fast_backend():
    text = solve("laplace", "--cells", "1000x1000", "--precision", "f32", "--tolerance", "0",
                 "--sweeps", "1001", "--norm-every", "500", "--ranks", "2", "--backend", "cpu",
                 "--verify", timeout=120)
    assert re.search(r"verified +every cell and norm as the cpu backend on one rank alone", text)


def rows_of(text):
    """The words after the name at the start of a line."""
    return dict(re.findall(r"^  (\S+(?: \S+)?) {2,}(.+)$", text, flags=re.MULTILINE))


def test_smoke_text_and_json_tell_the_same(tmp_path):
    end = run("solve", "laplace", "--cells", "60x40", "--ranks", "3", "--halo-depth", "2",
              "--backend", "cpu", "--transport", "mpi", "--verify", "--json", "r.json", cwd=tmp_path)
    assert end.code == 0 and end.err == ""
    report = json.loads((tmp_path / "r.json").read_text())
    check_report(report)
    rows = rows_of(end.out)
    assert end.out.startswith("laplace 2-D, 60x40 cells, f64\n")
    sweeps, norm = re.match(r"(\d+) sweeps, converged: max norm (\S+) <= 0.05",
                            rows["result"]).groups()
    assert int(sweeps) == report["sweeps"]
    assert float(norm) == approx(report["norm_history"][-1][1], rel=1e-5)
    assert float(rows["sum"]) == approx(report["sum"], rel=1e-14)
    assert rows["checksum"] == report["checksum"]
    assert rows["verified"].startswith("every cell and norm as the reference backend")
    grid = "x".join(map(str, report["process_grid"]))
    assert rows["ranks"] == f"3 on 1 node, process grid {grid}, 1 thread each"
    cpu, = report["devices"]
    assert rows["backend"] == (f"cpu ({report['simd']}) on {cpu['name']}, "
                               f"{report['memory']} memory")
    assert rows["MPI"] == report["mpi"]
    assert rows["transport"] == "same-node mpi" and report["transport"] == {"same-node": "mpi"}
    assert rows["schedule"].startswith(report["schedule"])
    assert float(rows["rate"].split()[0]) == approx(report["glups"], rel=1e-3)
    for phase, spread in report["phases"].items():
        assert (re.search(rf"^    {phase} ", end.out, re.MULTILINE) is not None) == (
            spread["max"] > 0)


def test_json_to_standard_output_stands_alone():
    end = run("solve", "heat", "--ranks", "2", "--json", "-")
    assert end.code == 0 and end.err == ""
    assert json.loads(end.out)["problem"] == "heat"


def test_quiet_is_quiet(tmp_path):
    end = run("solve", "laplace", "--cells", "30x20", "--ranks", "2", "--quiet", "--json", "r.json",
              cwd=tmp_path)
    assert end == (0, "", "")
    check_report(json.loads((tmp_path / "r.json").read_text()))
    assert run("solve", "heat", "--quiet") == (0, "", "")
    assert json.loads(run("solve", "heat", "--quiet", "--json", "-").out)["sweeps"] == 3


def test_a_long_history_is_thinned():
    report = solve_json("heat", "--cells", "3", "--sweeps", "25001", "--set", "dt=1e-9")
    check_report(report)
    history = report["norm_history"]
    assert len(history) <= 10_001
    assert history[0][0] == 0 and history[-1][0] == 25_000
    steps = np.diff([sweep for sweep, _ in history[:-1]])
    assert len(set(steps)) == 1
    assert f"norm_history keeps {len(history)} of 25001 norms" in report["notes"]
    whole = solve_json("heat", "--cells", "3", "--sweeps", "10000", "--set", "dt=1e-9")
    assert len(whole["norm_history"]) == 10_000
    assert not any("norm_history" in note for note in whole["notes"])


def test_a_terminal_sees_how_a_long_run_gets_on():
    terminal, stderr = os.openpty()
    text = ""
    with started("solve", "laplace", "--cells", "200x200", "--tolerance", "0", "--sweeps",
                 "1000000000", "--ranks", "2", stderr=stderr):
        end = time.monotonic() + 120
        while text.count("\r") < 2 and time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 1000).decode()
    os.close(stderr)
    os.close(terminal)
    assert re.match(r"\rsweep \d+ of 1000000000, norm \S+, \S+ GLUP/s, at most [\d a-z]+ left\x1b\[K"
                    r"\r", text), text


# Help


def help_of(*words):
    end = run(*words)
    assert end.code == 0 and end.err == ""
    return end.out


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_smoke_help():
    assert help_of() == help_of("--help") == help_of("-h")
    assert "solve" in help_of("--help")
    assert re.fullmatch(r"halocline \d+\.\d+\.\d+ \(commit [\w-]+, .+\)\n", help_of("--version"))


def test_verbose_version_tells_the_flags():
    assert re.search(r"^  C\+\+ +\w+ [\d.]+ with -.+$", help_of("--version", "--verbose"), re.M)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_is_as_kept(words):
    """HALOCLINE_RENEW_GOLDEN=1 keeps what help says now."""
    text = re.sub(r"(--simd .*: ).*", r"\1THOSE OF THE MACHINE", help_of(*words.split(), "--help"))
    path = GOLDEN / f"{words.replace(' ', '_')}_help.txt"
    if os.environ.get("HALOCLINE_RENEW_GOLDEN"):
        path.write_text(text)
    assert text.split() == path.read_text().split()


def test_help_lists_all_benchmarks():
    listed = help_of("bench", "--help").split("ubcommands:\n")[1]
    assert re.findall(r"^  (\S+)  ", listed, re.MULTILINE) == BENCHMARKS


def test_help_of_each_problem():
    general = help_of("solve", "--help")
    problems = re.findall(r"^  (\w+)  ", general.split("Problems")[1], re.MULTILINE)
    assert problems[:4] == ["laplace", "jacobi", "heat", "star7"] and "gray_scott" in problems
    for problem in problems:
        text = help_of("solve", problem, "--help")
        assert options_in(text) >= options_in(general)
        assert text.index(f"\n{problem}: ") < text.index("--cells"), "what differs comes first"
        section = text.split(f"\n{problem}: ")[1].split("\nExamples")[0]
        cells, precision, sweeps = re.search(r"by default (\S+) cells in (\S+), (\d+) sweeps",
                                             section).groups()
        # Those of others belong to a size.
        parameters = re.findall(r"^    (\w+) +(\S+)", section, re.MULTILINE)
        for name, value in parameters if problem in problems[:4] else []:
            report = solve_json(problem, "--set", f"{name}={value}", "--cells",
                                re.sub(r"\d+", "9", cells), "--sweeps", "1")
            assert report["precision"] == precision
        assert int(sweeps) > 0


def documents():
    names = ["README.md", "docs/guide.md", "CONTRIBUTING.md"]
    return {name: (ROOT / name).read_text() for name in names if (ROOT / name).exists()}


def test_documents_name_only_options_that_exist():
    known = options_in(help_of("--help"))
    for words in COMMANDS:
        known |= options_in(help_of(*words.split(), "--help"))
    for name, text in documents().items():
        text = re.sub(r"(```\n\$ [^\n]*\n).*?(?=```)", r"\1", text, flags=re.DOTALL)  # what was printed
        for line in text.splitlines():
            if line.startswith("#SBATCH"):
                continue
            if "halocline solve" in line or name == "docs/guide.md":
                ours = line[max(0, line.find("halocline")):]  # in front: the launcher's own
                assert options_in(ours) <= known, (name, line)


def examples():
    """Every line that starts with the command, or with a launcher and the command."""
    texts = {**documents(), "--help": help_of("--help")}
    for words in COMMANDS:
        texts[f"{words} --help"] = help_of(*words.split(), "--help")
    found = {}
    for name, text in texts.items():
        blocks = [text] if "help" in name else re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
        for line in "\n".join(blocks).splitlines():
            match = re.match(r"\s*(?:\$ )?(?:(mpirun|mpiexec) -n (\d+) )?(?:\S+/)?halocline "
                             r"((?:solve \w|bench \w|plan \w|doctor|--)[^#]*)", line)
            if match and "PROBLEM" not in line and "..." not in line:
                found[match.group(3)] = int(match.group(2) or 0)
    return found


def small(words):
    """The same with few cells and sweeps, or repetitions."""
    if words[:2] == ["bench", "step"]:
        if "--cells" in words:
            words[words.index("--cells") + 1] = "512x512"
        return words + ["--sweeps", "2", "--repetitions", "2", "--backend", "cpu"]
    if words[:2] == ["bench", "layout"]:
        if "--cells-per-rank" in words:
            del words[words.index("--cells-per-rank"):words.index("--cells-per-rank") + 2]
        return words + ["--cells-per-rank", "16x8x8", "--sweeps", "8", "--repetitions", "1"]
    if words[:2] == ["bench", "p2p"]:
        return words + ["--repetitions", "2"] + ([] if "--sizes" in words else ["--sizes", "8"])
    if words[0] == "bench":
        if "--cells-per-rank" not in words:
            words += ["--cells-per-rank", "24x20,8x8x8"]
        at = words.index("--cells-per-rank") + 1
        words[at] = re.sub(r"\d\d+", "32", words[at])
        return words + ["--repetitions", "2"]
    axes = {"heat": 1, "star7": 3}.get(words[1], 2)
    for option in ("--cells", "--cells-per-rank"):
        if option in words:
            axes = words[words.index(option) + 1].count("x") + 1
            words[words.index(option) + 1] = "x".join(["24", "20", "16"][:axes])
    if not {"--cells", "--cells-per-rank", "--initial"} & set(words):
        words += ["--cells", "x".join(["24", "20", "16"][:axes])]
    return words + ["--sweeps", "2"]


def words_of(line):
    """What is run for an example."""
    words = shlex.split(line)
    if words[0] in ("solve", "bench") and "--help" not in words:
        if "--sweeps" in words:
            del words[words.index("--sweeps"):words.index("--sweeps") + 2]
        if "--seconds" in words:
            del words[words.index("--seconds"):words.index("--seconds") + 2]
        words = small(words)
    return words


def run_example(line, ranks, folder, mpirun):
    words = words_of(line)
    end = run(*words, cwd=folder, **(mpirun(ranks) if ranks else {}))
    memory = words[words.index("--memory") + 1] if "--memory" in words else "host"
    if memory != "host" and not gpu_name():
        assert (end.code, end.err.count("memory needs a GPU")) == (3, 1), (line, end)
        return
    # What doctor finds depends on the machine.
    assert end.code in ((0, 1, 3) if words[0] == "doctor" else (0,)), (line, end)
    for option in ("--output", "--json", "--trace"):
        if option in words and words[words.index(option) + 1] != "-":
            name = words[words.index(option) + 1]
            if option == "--output" and "--output-every" in words:
                name = name.replace(".", "-000000.")
            assert (folder / name).stat().st_size > 0, line


def test_examples_of_help_and_documents_run(tmp_path, mpirun):
    lines = examples()
    assert len(lines) >= 4
    np.save(tmp_path / "u.npy", np.random.default_rng(1).random((20, 24)))
    # Some examples differ only in what is made small.
    lines = {(tuple(words_of(line)), ranks): line for line, ranks in lines.items()}
    # In their order, since some read what others wrote; but only files of the same command, of a benchmark's
    # or of one's that plans by them. Doctor waits a lot, and so does every launcher.
    groups = {}
    for (words, ranks), line in lines.items():
        groups.setdefault({"plan": "bench"}.get(words[0], words[0]), []).append((line, ranks))

    def run_all(some):
        for line, ranks in some:
            run_example(line, ranks, tmp_path, mpirun)

    with concurrent.futures.ThreadPoolExecutor(len(groups)) as pool:
        list(pool.map(run_all, groups.values()))
