#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the names of all tests, found in the sources, so that none gets lost when much is rewritten.

usage: list.py [--check]

names.txt keeps the names there once were. With --check each of them must still be there, or be
explained by a line of moved.txt, `old -> new` or `old -> (why it is gone)`; a `new` must exist. Tests
that are added need nothing. Once a rewrite is over, and --check passes, take today's names as those to
keep and begin a new moved.txt:

  tests/names/list.py >names.new && mv names.new tests/names/names.txt && : >tests/names/moved.txt

Rows of parametrized tests have no names here.
"""

import ast
import pathlib
import re
import runpy
import sys

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent


def without_comments(text):
    return re.sub(r"^\s*(//|#(?!define)|!).*$", "", text, flags=re.MULTILINE)


def gtest_names():
    """`unit: Box.Intersects`, and `ranks: All/Exchange` for rows that a suite is made with."""
    for path in sorted([*TESTS.glob("*/*.cpp"), *TESTS.glob("*/*.cu"), *TESTS.glob("*/*.hpp")]):
        text = without_comments(path.read_text())
        for suite, name in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+)\s*,\s*(\w+)\s*\)", text):
            yield f"{path.parent.name}: {suite}.{name}"
        for name, suite in re.findall(r"\bINSTANTIATE_TEST_SUITE_P\(\s*(\w+)\s*,\s*(\w+)", text):
            yield f"{path.parent.name}: {name}/{suite}"


def pytest_names():
    """`cli/test_plan.py::test_bad_input`."""
    for path in TESTS.glob("*/test_*.py"):
        stack = [(f"{path.parent.name}/{path.name}", ast.parse(path.read_text()))]
        while stack:
            prefix, node = stack.pop()
            for child in node.body:
                if isinstance(child, ast.FunctionDef) and child.name.startswith("test"):
                    yield f"{prefix}::{child.name}"
                elif isinstance(child, ast.ClassDef) and child.name.startswith("Test"):
                    stack.append((f"{prefix}::{child.name}", child))


def binding_names():
    """`bindings/test_c.c: refuses_wrong_grids`: there, tests are procedures named as verbs like these."""
    for path in TESTS.glob("bindings/test_*"):
        for name in re.findall(r"^ *(?:static )?(?:void|subroutine) ([a-z]+s_\w+)\(", path.read_text(),
                               flags=re.MULTILINE):
            yield f"bindings/{path.name}: {name}"


def ctest_names():
    """`ctest: bindings_stop`; ranks are left out where one entry is made for each number of them."""
    text = without_comments((TESTS / "CMakeLists.txt").read_text())
    yield from (f"ctest: {name}" for name in re.findall(r"(?:add_test\(NAME|add_cli_test\() ?(\w+)\s", text))
    yield from (f"ctest: {name}" for name in re.findall(r"add_rank_test\(\w+ (\w+) ", text))
    yield from (f"ctest: {'.'.join(names)}"
                for names in re.findall(r"add_ordered_test\(\w+ (\w+) ([\w:]+) ", text))
    yield from (f"ctest: {name}.gpu_aware"
                for name in re.findall(r"add_gpu_aware_test\(\w+ (\w+) ", text))


def other_names():
    """Mutants, models for Spin, broken ones among them, and steps on a real GPU."""
    for mutant in runpy.run_path(str(TESTS / "mutants/mutants.py"))["MUTANTS"]:
        yield f"mutant: {mutant.name}"
    for model in runpy.run_path(str(TESTS / "model/run.py"))["MODELS"]:
        yield f"model/{model.file}: {model.name}" + (f" ({model.broken})" if model.broken else "")
    for name in re.findall(r'^ *(?:step|beside) "?([^" ]+)', (TESTS / "gpu/run").read_text(), flags=re.MULTILINE):
        yield f"gpu/run: {name}"


def all_names():
    return sorted({*gtest_names(), *pytest_names(), *binding_names(), *ctest_names(), *other_names()})


def check():
    """Returns what is wrong, one line each."""
    there, wrong = set(all_names()), []
    kept = (HERE / "names.txt").read_text().splitlines()
    moved = {}
    for line in (HERE / "moved.txt").read_text().splitlines():
        old, arrow, new = map(str.strip, line.partition(" -> "))
        if not arrow or not new:
            wrong.append(f"moved.txt: neither `old -> new` nor `old -> (why it is gone)`: {line}")
        elif old not in kept:
            wrong.append(f"moved.txt: names.txt has no {old}")
        elif new not in there and not re.fullmatch(r"\(.+\)", new):
            wrong.append(f"moved.txt: there is no test {new}")
        moved[old] = new
    lost = [name for name in kept if name not in there and name not in moved]
    return wrong + [f"lost, and not in moved.txt: {name}" for name in lost]


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(check()) or 0)
    if sys.argv[1:]:
        sys.exit(__doc__)
    print("\n".join(all_names()))
