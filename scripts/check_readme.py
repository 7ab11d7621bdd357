#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that README tells the truth where that can be checked without running anything: its
program is the example that the tests run, and the files it points at are there."""

import pathlib
import re
import sys

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    text = (ROOT / "README.md").read_text()
    wrong = []
    program = re.search(r"```cpp\n(.*?)```", text, re.DOTALL)
    source = (ROOT / "examples/two_fields/two_fields.cpp").read_text()
    if not program or program.group(1) != source.removeprefix(LICENCE):
        wrong.append("its C++ program is not examples/two_fields/two_fields.cpp, letter by letter but for its licence")
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)", prose):
        if "://" not in target and not (ROOT / target).exists():
            wrong.append(f"it points at {target}, which is not there")
    for line in wrong:
        print(f"README.md: {line}")
    sys.exit(1 if wrong else 0)


main()
