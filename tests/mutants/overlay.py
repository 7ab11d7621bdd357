#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sources that have mutants once more, below a folder, with all their mutants in them:
HALOCLINE_MUTANT names the one that acts (mutant.hpp). cmake/mutants.cmake compiles these instead.

usage: overlay.py FOLDER      prints their names, relative to FOLDER and to the root of the tree
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from mutants import MUTANTS, SWITCH  # noqa: E402

HEADER = pathlib.Path(__file__).with_name("mutant.hpp")


def switch(mutant):
    """Is true where the mutant acts."""
    return f'(::halocline::chosen_mutant == ::halocline::mutant("{mutant.name}"))'


def top_level(text):
    """Returns `text` without literals and what is in brackets."""
    text = re.sub(r'"(?:\\.|[^"\\])*"', "0", text)
    while (inner := re.sub(r"\([^()]*\)|\[[^][]*\]|\{[^{}]*\}", "", text)) != text:
        text = inner
    return text


def is_whole(text, before, after):
    """Whether `text` is one operand of what stands around it, and means the same in brackets. It may
    refuse what is."""
    operators = top_level(text)
    if re.search(r"[,;()]|[^=!<>]=[^=]", operators):
        return False
    if re.fullmatch(r"[\w.:]+", operators):  # a name, a call, an element
        return not re.search(r"(\w|\.|->|::)$", re.sub(r"\breturn\s*$", "", before).rstrip())
    opens = re.search(r"([(,{[;]|[^=!<>]=|\breturn)\s*$", before)
    closes = re.match(r"\s*[]),;}]", after)
    if opens and closes:
        return True
    if re.search(r"[?:]|\|\|", operators.replace("::", "")):
        return False
    opens = opens or re.search(r"(&&|\|\||\?|[^:]:)\s*$", before)
    closes = closes or re.match(r"\s*(&&|\|\||\?|:[^:])", after)
    return bool(opens and closes)


def with_switches(found, mutants, before, after):
    """Returns `found` with its mutants, in as many lines."""
    text = found
    for mutant in mutants:
        flat = " ".join(mutant.replace.split())
        if SWITCH in mutant.replace:
            if len(mutants) > 1:
                sys.exit(f"'{mutant.name}': others share its text; give it one that {SWITCH} is not in")
            text = mutant.replace.replace(SWITCH, switch(mutant))
        elif found.endswith(";"):
            text = f"{{ if {switch(mutant)} {{ {flat} }} else {{ {text} }} }}"
        elif is_whole(found, before, after):
            text = f"({switch(mutant)} ? ({flat}) : ({text}))"
        else:
            sys.exit(f"'{mutant.name}': '{found}' is neither statements nor an operand by itself")
    if text.count("\n") != found.count("\n"):
        sys.exit(f"'{mutant.name}' changes the number of lines")
    return text


def mutated(name, text):
    """Returns the text of a source with its mutants in it, each of whose texts it must have once."""
    by_text = {}
    for mutant in MUTANTS:
        if mutant.file == name:
            by_text.setdefault(mutant.find, []).append(mutant)
    places = []
    for found, mutants in by_text.items():
        if text.count(found) != 1:
            sys.exit(f"'{mutants[0].name}': its text stands {text.count(found)} times in {name}; mend "
                     "tests/mutants/mutants.py")
        places.append((text.index(found), found, mutants))
    parts, at = [], 0
    for start, found, mutants in sorted(places, key=lambda place: place[0]):
        if start < at:
            sys.exit(f"'{mutants[0].name}': its text overlaps that of another")
        end = start + len(found)
        parts += [text[at:start], with_switches(found, mutants, text[:start], text[end:])]
        at = end
    return f'#include "mutant.hpp"\n#line 1 "{name}"\n' + "".join(parts) + text[at:]


def texts():
    """Returns the text of each source that has mutants, by its name."""
    return {name: mutated(name, (ROOT / name).read_text())
            for name in sorted({mutant.file for mutant in MUTANTS})}


def write(path, text):
    """Leaves alone what is as it shall be, so that no more is compiled than what changed."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    folder, all_texts = pathlib.Path(sys.argv[1]), texts()
    for name, text in {**all_texts, "src/core/mutant.hpp": HEADER.read_text()}.items():
        write(folder / name, text)
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_file() and name not in all_texts and name != "src/core/mutant.hpp":
            path.unlink()
    print(";".join(all_texts), end="")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
