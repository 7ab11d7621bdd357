# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of examples/ as their READMEs say, each within a time limit."""

import contextlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("EXAMPLES", ROOT / "build/release/bin")).absolute()
LAUNCHER = shlex.split(os.environ.get("LAUNCHER", "mpiexec -n"))  # ends before the number of ranks
# With -DHALOCLINE_CUDA=CPU, where CUDA's programs find GPUs that the tests set up.
EMULATED = os.environ.get("EMULATED") == "1"


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(name, *arguments, ranks=1, env=None, limit=30, needs="gpu"):
    """Runs example_<name>, by the launcher if there is more than one rank; a variable that is None is
    taken out of its environment. Skips where it was not built for want of what it needs."""
    program = PROGRAMS / f"example_{name}"
    if not program.exists():
        skip(f"{program.name} was not built", needs)
    words = [*LAUNCHER, str(ranks)] * (ranks > 1) + [str(program), *map(str, arguments)]
    variables = {name: value for name, value in {**os.environ, **(env or {})}.items()
                 if value is not None}
    child = subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # A launcher that is asked to end takes its ranks with it.
        for end in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, end)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
        pytest.fail(f"did not end within {limit} s: {shlex.join(words)}")
    return Ended(child.returncode, out, err)


def output(name, *arguments, **options):
    """What a run prints that has nothing to complain of."""
    end = run(name, *arguments, **options)
    assert end.code == 0, f"{name} {arguments}: exit code {end.code}\n{end.out}{end.err}"
    return end.out


emulation = pytest.mark.skipif(not EMULATED, reason="this is no build with -DHALOCLINE_CUDA=CPU")


def skip(reason, needs):
    """Skips a test that cannot run here, unless HALOCLINE_REQUIRE names what it needs."""
    if needs in os.environ.get("HALOCLINE_REQUIRE", "").split(","):
        pytest.fail(f"{needs} is required, but {reason}")
    pytest.skip(f"{needs}: {reason}")


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+(?:e[-+]\d+)?", text)]
