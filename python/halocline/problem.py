# SPDX-License-Identifier: Apache-2.0
"""The text of a problem."""

from __future__ import annotations

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Problem:
    """The text of a problem file; errors call it `name`. Built-in problems and files need none: their names and paths
    will do."""

    text: str
    name: str = "text"


def word_of(problem: str | Problem, folder: pathlib.Path) -> str:
    """Returns what names a problem on the command line; writes a text into a file in the folder."""
    if isinstance(problem, str):
        return problem
    file = folder / f"{problem.name}.toml"
    file.write_text(problem.text, encoding="utf-8")
    return str(file)
