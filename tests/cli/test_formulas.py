# SPDX-License-Identifier: Apache-2.0
"""Formulas that the machine's compiler compiles when a run begins. That they give the same bits is in
tests/problem_files."""

import shutil
import stat

import pytest

from command import run, solve_json, thorough

UNAVAILABLE = 3
GRAY_SCOTT = ["gray_scott", "--cells", "40x30", "--sweeps", "20", "--backend", "cpu"]
COMPILED = [*GRAY_SCOTT, "--formulas", "compiled"]


@pytest.fixture
def compiler(tmp_path):
    """Makes a compiler that does something before it is the machine's: $source is what it compiles. Each call
    adds a line to the file `calls`."""
    def make(first=":"):
        path = tmp_path / "cxx"
        path.write_text(f"""#!/bin/sh
echo "$@" >>{tmp_path}/calls
for source; do :; done
{first}
exec {shutil.which("c++")} "$@"
""")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"HALOCLINE_CXX": str(path), "HALOCLINE_KERNELS": str(tmp_path / "kept")}
    return make


def calls(tmp_path):
    path = tmp_path / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_smoke_formulas_are_compiled_once(tmp_path, compiler):
    env = compiler()
    interpreted = solve_json(*GRAY_SCOTT, env=env)
    first, second = (solve_json(*COMPILED, "--ranks", "2", env=env) for _ in range(2))
    assert [report["formulas"] for report in (interpreted, first, second)] == ["interpreted", "compiled", "compiled"]
    assert interpreted["checksum"] == first["checksum"] == second["checksum"]
    assert "compile" in first["seconds"] and calls(tmp_path) == 1
    # What is kept costs nothing.
    assert solve_json(*GRAY_SCOTT, env=env)["formulas"] == "compiled"
    assert solve_json(*GRAY_SCOTT, "--formulas", "interpreted", env=env)["formulas"] == "interpreted"
    assert calls(tmp_path) == 1


def test_long_runs_have_their_formulas_compiled(tmp_path, compiler):
    run_to_come = ["poisson", "--backend", "cpu", "--tolerance", "1", "--sweeps"]
    assert solve_json(*run_to_come, "10", env=compiler())["formulas"] == "interpreted"
    assert calls(tmp_path) == 0
    assert solve_json(*run_to_come, "1000000000", env=compiler())["formulas"] == "compiled"
    assert calls(tmp_path) == 1
    report = solve_json(*run_to_come, "1000000000", env={"HALOCLINE_CXX": "off"})
    assert report["formulas"] == "interpreted" and report["notes"] == [
        "formulas are interpreted, since they could not be compiled: HALOCLINE_CXX is 'off'"]


def test_built_in_formulas_need_no_compiler(tmp_path, compiler):
    words = ["laplace", "--backend", "cpu", "--cells", "50x50", "--sweeps", "1000000000", "--tolerance", "0.2"]
    for formulas in "auto", "compiled":
        report = solve_json(*words, "--formulas", formulas, env=compiler("exit 1"))
        assert report["formulas"] == "compiled" and report["notes"] == []
    assert calls(tmp_path) == 0


@pytest.mark.parametrize("first, why", [
    ("echo 'update.cpp:1: error: no vectors today' >&2; exit 1", "does not compile them: update.cpp:1: error: no vec"),
    ("exit 0", "does not compile them"),
    ("kill -9 $$", "does not compile them"),
    ("sed -i 's/= v0 \\* v[0-9]*;/= v0 * v0;/' $source", "gives other bits than it should"),
    ("sed -i 's/put(values\\[0\\]/put(values[1]/' $source", "gives other bits than it should"),
])
def test_compilers_that_fail(compiler, first, why):
    end = run("solve", *COMPILED, env=compiler(first))
    assert end.code == UNAVAILABLE and "formulas cannot be compiled: " in end.err, end
    assert why in end.err.replace("\n", " "), end


def test_smoke_no_compiler():
    for named, why in {"off": "HALOCLINE_CXX is 'off'", "nonesuch": "HALOCLINE_CXX names 'nonesuch', which is no"}.items():
        end = run("solve", *COMPILED, env={"HALOCLINE_CXX": named})
        assert end.code == UNAVAILABLE and why in end.err, end


@thorough
def test_flags_of_others_change_nothing(compiler):
    env = compiler()
    expected = solve_json(*COMPILED, env={**env, "HALOCLINE_KERNELS": "off"})
    env |= {"HALOCLINE_KERNELS": "off", "CXXFLAGS": "-ffast-math -march=native", "CFLAGS": "-Ofast"}
    assert solve_json(*COMPILED, env=env)["checksum"] == expected["checksum"]


@thorough
def test_another_compiler_compiles_anew(tmp_path, compiler):
    solve_json(*COMPILED, env=compiler())
    solve_json(*COMPILED, env=compiler("# a newer one"))
    assert calls(tmp_path) == 2


def test_clang_compiles_formulas():
    if shutil.which("clang++") is None:
        pytest.skip("no clang++")
    env = {"HALOCLINE_CXX": "clang++", "HALOCLINE_KERNELS": "off"}
    assert solve_json(*COMPILED, env=env)["formulas"] == "compiled"
