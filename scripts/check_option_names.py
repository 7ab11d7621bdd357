#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how texts of the libraries name options: programs read them too, so src/core and src/solve
say "option 'wait_limit'" and no flag of the command, which says "--wait-limit" instead: its
flags are in the table of src/solve/solver/options.cpp and in src/tools/cli/flags.cpp. --self-test checks the checker."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

LITERAL = re.compile(r'//[^\n]*|/\*.*?\*/|\'(?:\\.|[^\'\\\n])\'|"((?:\\.|[^"\\\n])*)"', re.DOTALL)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def texts(source):
    """Yields (line, text) of each string; strings that follow each other are one."""
    line, text, end = 0, "", 0
    for match in LITERAL.finditer(source):
        if match[1] is None:
            continue
        if text and source[end:match.start()].strip():
            yield line, text
            text = ""
        line, text, end = line if text else source.count("\n", 0, match.start()) + 1, text + match[1], match.end()
    if text:
        yield line, text


def faults_of(source, flags, table):
    """Yields (line, fault) for each text that names an option as it must not."""
    for line, text in texts(source):
        for flag in FLAG.findall(text):
            if flag in flags:
                yield line, f"{flag} is the command's: name the option, as in \"option 'wait_limit'\""
        for option in re.findall(r"option '(\w+)'", text):
            if option not in table:
                yield line, f"option '{option}' has no row in src/solve/solver/options.cpp"


def check():
    cli = ROOT / "src" / "tools" / "cli"
    rows = ROOT / "src" / "solve" / "solver" / "options.cpp"
    row = re.compile(r'\{"(\w+)",\s*"(--[a-z-]+)"')
    flags = {flag for path in cli.glob("*.cpp") if path.name != "flags.cpp"
             for _, text in texts(path.read_text()) for flag in [text] if FLAG.fullmatch(flag)}
    own = dict(row.findall(rows.read_text()))
    flags |= set(own.values())
    table = own | dict(row.findall((cli / "flags.cpp").read_text()))
    faults = [f"src/tools/cli/flags.cpp: there is no flag {flag}" for flag in table.values() if flag not in flags]
    for library in ("core", "solve"):
        for path in sorted((ROOT / "src" / library).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix not in (".cpp", ".hpp", ".cu", ".cuh") or path == rows:
                continue
            found = list(faults_of(path.read_text(), flags, table))
            faults += [f"{name}:{line}: {fault}" for line, fault in found]
    return faults


def self_test():
    flags, table = {"--backend", "--wait-limit"}, {"backend": "--backend"}
    cases = [
        ('f("use --backend cpu");', 1), ('f("a "\n  "--backend");', 1), ('f("(--wait-limit sets it)");', 1),
        ('f("mpirun --mca x --backends --wait-limits, a--backend");', 0),
        ("// --backend\n/* \"--backend\" */ --backend;", 0), ("f('\"', \"set option 'backend' to 'cpu'\");", 0),
        ("f(\"option \"\n  \"'unknown'\");", 1), ('f("option", "\'unknown\'");', 0),
    ]
    wrong = [case for case, faults in cases if len(list(faults_of(case, flags, table))) != faults]
    for case in wrong:
        print(f"not judged as it should be: {case}")
    return wrong


def main(arguments):
    if arguments not in ([], ["--self-test"]):
        print("usage: scripts/check_option_names.py [--self-test]", file=sys.stderr)
        return 2
    faults = self_test() if arguments else check()
    if not arguments:
        print(*faults, sep="\n", end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
