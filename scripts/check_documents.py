#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks documents where that needs no run: README's program is the example that the tests run, the
files and headings that links point to exist, and docs/README.md lists every page."""

import functools
import pathlib
import re
import sys

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def prose(path):
    return re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)


@functools.cache
def anchors(path):
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ +(.*?) *$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def documents():
    yield from ROOT.glob("*.md")
    for folder in ("bindings", "docs", "examples", "lab", "problems", "src", "tests"):
        yield from (ROOT / folder).rglob("*.md")


def faults_of(path):
    text = prose(path)
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        to = path.parent / name if name else path
        if not to.exists():
            yield f"links to {target}, which does not exist"
        elif anchor and anchor not in anchors(to):
            yield f"links to {target}, but {to.name} has no such heading"


def main():
    wrong = [f"{path.relative_to(ROOT)}: {fault}" for path in sorted(documents()) for fault in faults_of(path)]
    program = re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    source = (ROOT / "examples/first_program/first_program.cpp").read_text()
    if not program or program.group(1) != source.removeprefix(LICENCE):
        wrong.append("README.md: its C++ program is not examples/first_program/first_program.cpp, letter by letter but for its licence")
    listed = (ROOT / "docs/README.md").read_text()
    wrong += [f"docs/README.md: does not list {page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
              if page.name != "README.md" and f"]({page.name})" not in listed]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
