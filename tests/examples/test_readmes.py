# SPDX-License-Identifier: Apache-2.0
"""What the READMEs of examples/ say: the index is complete, and commands print what is shown."""

import re
import shlex

import pytest

from gallery import ROOT, run

EXAMPLES = ROOT / "examples"
FOLDERS = sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir())
PROGRAM = re.compile(r"(?:mpiexec -n (\d+) )?build/release/bin/example_(\w+)(.*)")


def sessions(folder):
    """(variables, ranks, program, arguments, lines shown) for each command with its output."""
    block, = re.findall(r"```\n(.*?)```", (EXAMPLES / folder / "README.md").read_text(), re.DOTALL)
    for session in block.split("$ ")[1:]:
        command, *shown = session.splitlines()
        set_here, command = re.fullmatch(r"((?:\w+=\w+ )*)(.*)", command).groups()
        ranks, program, arguments = PROGRAM.fullmatch(command).groups()
        yield (dict(one.split("=") for one in set_here.split()), int(ranks or 1), program,
               shlex.split(arguments), shown)


def shape(lines):
    """Without times and rounding errors, which differ, and the order of ranks."""
    return sorted(re.sub(r"threads(.*?): \d+", r"threads\1: N", re.sub(
        r"off (.*?)by [-\de]+| +\S+ ms", "#", line)) for line in lines)


def test_says_how_to_start_more_ranks_than_cores():
    """Open MPI starts no more than there are cores, unless told so, and many machines have two."""
    for path in EXAMPLES.rglob("README.md"):
        text = path.read_text()
        most = max(map(int, re.findall(r"mpiexec -n (\d+)", text)), default=1)
        assert most <= 2 or f"mpiexec --oversubscribe -n {most}" in text, path


def test_index_says_which_plain_programs_need_openmp():
    """Those for which its first command is not enough."""
    index = (EXAMPLES / "README.md").read_text()
    line, = (line for line in index.splitlines() if " -fopenmp " in line)
    plain = [path for path in EXAMPLES.rglob("*.cpp") if "halocline" not in path.read_text()]
    threaded = [path.stem for path in plain if re.search(r"omp\.h|pragma omp", path.read_text())]
    assert threaded and [name for name in threaded if name not in line] == []


def test_index_names_every_folder():
    rows = [line for line in (EXAMPLES / "README.md").read_text().splitlines() if "](" in line]
    named = [name for row in rows for name in re.findall(r"\[(\w+)\]\(\1\)", row)]
    assert sorted(named) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_readme_is_short_and_names_every_program(folder):
    text = (EXAMPLES / folder / "README.md").read_text()
    assert text.startswith("# ") and "\nShows " in text and len(text.splitlines()) <= 27
    programs = [path.stem for path in (EXAMPLES / folder).iterdir() if path.suffix != ".md"
                and re.search("^(int main|program )", path.read_text(), re.MULTILINE)]
    assert programs and [name for name in programs if name not in text] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_readme_shows_what_is_printed(folder):
    for variables, ranks, program, arguments, shown in sessions(folder):
        if (EXAMPLES / folder / f"{program}.cu").exists() or program == "affinity":
            continue  # depends on the machine
        end = run(program, *arguments, ranks=ranks, env=variables, needs="fortran")
        printed = end.out.splitlines()
        if shown[-1] == "...":
            shown, printed = shown[:-1], printed[:len(shown) - 1]
        assert (end.code, shape(printed)) == (0, shape(shown))
