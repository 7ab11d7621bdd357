#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists what our libraries export, or with --check compares that with exports.txt: a name that users can
link is a promise, so one more or one less is to be seen in a review. --check also looks for calls of MPI outside
libhalocline: all other libraries serve every MPI.

usage: exports.py [--check] LIBRARY ...

Left out are names of the versions that end in PRIVATE, by which our own libraries and the command find each other."""

import pathlib
import re
import subprocess
import sys

KEPT = pathlib.Path(__file__).with_name("exports.txt")


def symbols_of(library, which):
    listed = subprocess.run(["nm", "-D", which, "--with-symbol-versions", library],
                            check=True, capture_output=True, text=True).stdout
    return [line.split()[-1] for line in listed.splitlines()]


def exported(library):
    """Returns the names of functions and data, without arguments, that a program may link."""
    symbols = symbols_of(library, "--defined-only")
    public = [symbol.split("@")[0] for symbol in symbols if not symbol.endswith("PRIVATE")]
    plain = subprocess.run(["c++filt"], check=True, input="\n".join(public), capture_output=True,
                           text=True).stdout.split("\n")
    # The versions themselves are symbols, too.
    return {re.sub(r"\(.*|\[abi:.*", "", name) for name in plain
            if name and not name.startswith("HALOCLINE_")}


def main(arguments):
    check = arguments[:1] == ["--check"]
    lines, calls_mpi = [], []
    for library in arguments[check:]:
        name = pathlib.Path(library).name.split(".")[0]
        lines += [f"{name}: {symbol}" for symbol in sorted(exported(library))]
        if name != "libhalocline":
            calls_mpi += [f"{name} uses {symbol}, and so serves one MPI alone"
                          for symbol in symbols_of(library, "--undefined-only") if re.match("P?MPI_|[om]mpi_", symbol)]
    if not check:
        print("\n".join(lines))
        return 0
    kept = KEPT.read_text().splitlines()
    for symbol in sorted(set(lines) - set(kept)):
        print(f"exported, but not in {KEPT.name}: {symbol}")
    for symbol in sorted(set(kept) - set(lines)):
        print(f"in {KEPT.name}, but not exported: {symbol}")
    print("\n".join(calls_mpi), end="\n" if calls_mpi else "")
    return 0 if lines == kept and not calls_mpi else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
