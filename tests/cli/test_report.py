# SPDX-License-Identifier: Apache-2.0
"""The report as text and as JSON, help, and the examples in help and documents."""

import contextlib
import functools
import json
import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from pytest import approx

from command import ROOT, gpu_name, run, solve, solve_json, started
from schema import BASELINE, PROFILE, check_report

# What help says of each command, as unit/test_help.cpp keeps it.
HELP = {path.name: path.read_text()
        for path in sorted((pathlib.Path(__file__).parent / "golden").glob("*_help.txt"))}


@pytest.mark.parametrize("words", [
    "heat", "heat --sweeps 0", "jacobi --cells 30x20 --sweeps 7 --transport mpi --backend cpu",
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


def test_a_terminal_has_one_line_of_progress_that_goes_away(tmp_path):
    """Behind the launcher's pipe, too. The line itself: unit/test_progress_line.cpp."""
    terminal, stderr = os.openpty()
    text = ""
    with started("solve", "laplace", "--cells", "200x200", "--tolerance", "0", "--sweeps", "1000000000",
                 "--ranks", "2", "--checkpoint", "saved", cwd=tmp_path, stderr=stderr) as job:
        os.close(stderr)
        end = time.monotonic() + 120
        with contextlib.suppress(OSError):  # the end of a terminal without writers
            while time.monotonic() < end:
                if select.select([terminal], [], [], 1)[0]:
                    text += os.read(terminal, 1000).decode()
                    if text.count("\r") == 1:
                        job.child.send_signal(signal.SIGTERM)
        assert job.finish(timeout=60).code == 5
    os.close(terminal)
    assert re.match(r"\rsweep \d+ of 1000000000, norm \S+, \S+ GLUP/s, at most [\d a-z]+ left\x1b\[K", text), text
    assert "\r\x1b[Khalocline: stopped by" in text, text


# Help


@functools.cache
def general_help():
    end = run("--help")
    assert end.code == 0 and end.err == ""
    return end.out


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))


def test_smoke_help():
    assert "solve" in general_help()
    end = run("--version", "--verbose")
    assert (end.code, end.err) == (0, "")
    assert re.match(r"halocline \d+\.\d+\.\d+ \(commit [\w-]+, .+\)\n", end.out)
    assert re.search(r"^  C\+\+ +\w+ [\d.]+ with -.+$", end.out, re.M)


def help_of_plot():
    """What the Python package says of its own command."""
    return subprocess.run([sys.executable, "-m", "halocline", "plot", "--help"], capture_output=True, text=True,
                          check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")}).stdout


def documents():
    """Whose commands are right as they stand. Others name files of yours, or options of compilers, of the
    laboratory and of probes."""
    others = {"bricks.md", "built-in-problems.md", "conversion-gpu.md", "conversion.md", "directives.md", "figures.md",
              "glossary.md", "how-it-works.md", "installing.md", "problem-files.md", "problem-functions.md"}
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md",
             *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in others)]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def test_documents_name_only_options_that_exist():
    known = options_in(general_help()).union(*map(options_in, HELP.values()), options_in(help_of_plot()))
    for name, text in documents().items():
        text = re.sub(r"(```\n\$ [^\n]*\n).*?(?=```)", r"\1", text, flags=re.DOTALL)  # what was printed
        text = re.sub(r"XLA_FLAGS=\S+", "", text)
        for line in text.splitlines():
            if line.startswith("#SBATCH"):
                continue
            if "halocline solve" in line or name.startswith("docs/"):
                ours = line[max(0, line.find("halocline")):]  # in front: the launcher's own
                assert options_in(ours) <= known, (name, line)


def examples():
    """Every line that starts with the command, or with a launcher and the command."""
    texts = {**documents(), "--help": general_help(), **HELP}
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
    """What is run of an example of solve: few cells and sweeps."""
    if "--sweeps" in words:
        del words[words.index("--sweeps"):words.index("--sweeps") + 2]
    axes = {"heat": 1, "star7": 3}.get(words[1], 2)
    for option in ("--cells", "--cells-per-rank"):
        if option in words:
            axes = words[words.index(option) + 1].count("x") + 1
            words[words.index(option) + 1] = "x".join(["24", "20", "16"][:axes])
    if not {"--cells", "--cells-per-rank", "--initial"} & set(words):
        words += ["--cells", "x".join(["24", "20", "16"][:axes])]
    return words + ["--sweeps", "2"]


def test_examples_of_solve_run(tmp_path, mpirun):
    lines = {line: ranks for line, ranks in examples().items() if line.startswith("solve ") and "--help" not in line}
    assert len(lines) >= 8
    np.save(tmp_path / "u.npy", np.random.default_rng(1).random((20, 24)))
    # Some differ only in what is made small.
    for words, ranks in dict.fromkeys((tuple(small(shlex.split(line))), ranks) for line, ranks in lines.items()):
        end = run(*words, cwd=tmp_path, **(mpirun(ranks) if ranks else {}))
        if "--memory" in words and words[words.index("--memory") + 1] != "host" and not gpu_name():
            assert (end.code, end.err.count("memory needs a GPU")) == (3, 1), (words, end)
            continue
        assert end.code == 0, (words, end)
        for option, name in zip(words, words[1:]):
            if option in ("--output", "--json", "--trace") and name != "-":
                name = name.replace(".", "-000000.") if "--output-every" in words else name
                assert (tmp_path / name).stat().st_size > 0, words


def test_examples_of_other_commands_are_right(tmp_path):
    """As far as they go before ranks are started. What these commands do: test_bench*.py, test_doctor.py."""
    lines = {line: ranks for line, ranks in examples().items() if not line.startswith("solve ")}
    assert len(lines) >= 30
    nowhere = {"HALOCLINE_LAUNCHER": "/no/such/launcher", "HALOCLINE_ASSUME_GPU": "0"}
    step = ["bench", "step", "--cells", "64x64", "--ranks", "1", "--sweeps", "2", "--repetitions", "1",
            "--backend", "cpu", "--json", "step.json"]  # for plans
    assert run(*step, cwd=tmp_path).code == 0
    for line, ranks in lines.items():
        words = shlex.split(line)
        if words[0] == "doctor":
            words += ["--json", "no/such/folder.json"] if "--json" not in words else ["--save", "no/such/folder.json"]
        elif words[0] == "bench" and "--ranks" not in words:
            words += ["--ranks", str(ranks or 2)]
        end = run(*words, cwd=tmp_path, env=nowhere)
        if words[0] == "bench":
            assert end.code == 3 and "/no/such/launcher" in end.err, (line, end)
        elif words[0] == "doctor":
            found = "good.json" if "--compare" in words else "no/such"
            assert end.code == 2 and found in end.err, (line, end)
        else:
            assert end.code == 0, (line, end)
