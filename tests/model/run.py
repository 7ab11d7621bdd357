#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Spin look at every way the models can go, and at models that are broken on purpose.

usage: run.py [--keep FOLDER]     (FOLDER: what Spin makes stays there, trails of errors among it)
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
# For all models, compiling included: they take 9 s on 2 cores, 40 s where these have other work.
SECONDS = 118
MEBIBYTES = 1000  # the largest needs 176

OVERWRITTEN = "a slot is written again before it was read"
TOO_EARLY = "a slot is read before it was written"
DEADLOCK = "ranks wait for ever"
STOPS = "ranks do not stop after the right sweep"
# What pan says of a failed check: the variables in it tell which one it is.
CHECKS = {"is_unread": OVERWRITTEN, "epoch_on_way": OVERWRITTEN, "epoch_held": TOO_EARLY,
          "counted": STOPS, "invalid end state": DEADLOCK}


class Model(NamedTuple):
    name: str
    ranks: int
    sweeps: int
    broken: str = ""
    faults: tuple = ()  # any of which is to be found
    file: str = "port.pml"
    numbers: int = 1  # that a rank sends at once


MODELS = [
    Model("2 ranks, 8 sweeps", 2, 8),
    Model("3 ranks in a line or a ring, 4 sweeps", 3, 4),
    Model("the flag overtakes the data", 2, 5, "FLAG_OVERTAKES_DATA", (TOO_EARLY,)),
    Model("reads go on after the next flag", 2, 5, "READ_AFTER_RAISE", (OVERWRITTEN, TOO_EARLY)),
    Model("reads begin before the flag is seen", 2, 5, "READ_BEFORE_WAIT", (TOO_EARLY,)),
    Model("stores begin before the flag is seen", 2, 5, "STORE_BEFORE_WAIT",
          (OVERWRITTEN, TOO_EARLY)),
    Model("one window instead of two", 2, 5, "ONE_WINDOW", (OVERWRITTEN, TOO_EARLY)),
    Model("no signal without data", 2, 5, "SILENT_WITHOUT_DATA", (OVERWRITTEN, TOO_EARLY)),
    Model("each rank stops once it sees the norm", 2, 5, "STOP_WHEN_SEEN", (STOPS, DEADLOCK)),
    Model("the norm is looked at a sweep later", 2, 5, "STOP_TOO_LATE", (STOPS,)),
] + [Model(name, *rest, file="all_reduce.pml") for name, *rest in [
    ("2 ranks meet 8 times", 2, 8),
    ("3 ranks meet 3 times", 3, 3),
    ("a number is sent before the last ones are read", 2, 4, "SEND_BEFORE_READ",
     (OVERWRITTEN, TOO_EARLY)),
    ("one place for a rank's number", 2, 4, "ONE_PLACE", (OVERWRITTEN, TOO_EARLY)),
    ("numbers are read without a look at their reductions", 2, 4, "READ_BEFORE_WAIT", (TOO_EARLY,)),
]] + [Model(name, *rest, file="all_reduce.pml", numbers=2) for name, *rest in [
    ("2 ranks meet 7 times, mostly with 2 numbers", 2, 7),
    ("one number is looked at for all", 2, 4, "LOOK_AT_FIRST", (TOO_EARLY,)),
]] + [Model(name, *rest, file="chunks.pml") for name, *rest in [
    ("2 GPUs exchange chunks in 4 kernels", 2, 4),
    ("the flag overtakes the chunk", 2, 4, "FLAG_OVERTAKES_DATA", (TOO_EARLY,)),
    ("a chunk is read without a look at its flag", 2, 4, "READ_BEFORE_WAIT", (TOO_EARLY,)),
    ("one slot instead of two", 2, 4, "ONE_WINDOW", (OVERWRITTEN, TOO_EARLY)),
    ("a block runs ahead of its kernel", 2, 3, "BLOCKS_RUN_AHEAD", (OVERWRITTEN, TOO_EARLY)),
    ("the last chunk has no flag", 2, 4, "LAST_FLAG_MISSING", (DEADLOCK,)),
]] + [Model(name, *rest, file="edges.pml") for name, *rest in [
    ("2 threads send edges 8 times", 2, 8),
    ("one slot instead of two", 2, 4, "ONE_WINDOW", (OVERWRITTEN, DEADLOCK)),
    ("words are read without a look at their epochs", 2, 4, "READ_BEFORE_WAIT", (TOO_EARLY,)),
    ("one word is looked at for all", 2, 4, "ONE_LOOK", (TOO_EARLY,)),
    ("a thread goes on without the other's edge", 2, 4, "ONE_WAY", (OVERWRITTEN,)),
    ("a launch after the stop sends", 2, 4, "SENDS_AFTER_STOP", (OVERWRITTEN,)),
]] + [Model(name, *rest, file="permission.pml") for name, *rest in [
    ("2 blocks do 9 sweeps, any of which may be the last", 2, 9),
    ("one place for a part", 2, 6, "ONE_SLOT", (OVERWRITTEN, TOO_EARLY, DEADLOCK)),
    ("parts are read without a look at their sweeps", 2, 6, "READ_BEFORE_WAIT", (TOO_EARLY,)),
    ("one sweep more is permitted", 2, 6, "PERMITS_MORE", (OVERWRITTEN, TOO_EARLY, STOPS, DEADLOCK)),
    ("the result is always what was kept", 2, 6, "ALWAYS_KEPT", (STOPS,)),
    ("the result is never what was kept", 2, 6, "NEVER_KEPT", (STOPS,)),
]]


def run(command, folder, end):
    """Returns the exit status and what was written; 124 if it did not end in time."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=max(end - time.monotonic(), 0.1))
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, f"{command[0]} has not ended in time: all models have {SECONDS} s"


def search(model, folder, end):
    """Returns pan's output; raises RuntimeError if there was no search to its end."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    macros = [f"-DRANKS={model.ranks}", f"-DSWEEPS={model.sweeps}", f"-DNUMBERS={model.numbers}"]
    if model.broken:
        macros.append(f"-D{model.broken}")
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    for command in (["spin", "-a", *macros, str(HERE / model.file)],
                    [compiler, "-O1", "-w", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEBIBYTES}",
                     "-o", "pan", "pan.c"],
                    ["./pan", "-w22"]):
        status, said = run(command, folder, end)
        if status != 0:
            raise RuntimeError(f"{command[0]} ended with {status}:\n{said[-3000:]}")
    if "errors: " not in said or ("errors: 0" in said and "Search not completed" in said) or (
            "max search depth too small" in said):
        raise RuntimeError(f"the search did not come to its end:\n{said[-3000:]}")
    return said


def fault_in(said):
    """Returns what pan found wrong, or nothing."""
    if "errors: 0" in said:
        return ""
    line = re.search(r"^pan:\d+: (.*)$", said, re.MULTILINE)
    for sign, fault in CHECKS.items():
        if line and sign in line[1]:
            return fault
    return line[1] if line else said[-3000:]


def never_reached(said):
    """Returns the statements that no run comes to: a check there would check nothing."""
    return [line.strip() for line in said.splitlines()
            if re.match(r"\s+\S+\.pml:\d+, state", line) and '"-end-"' not in line]


def judge(model, folder, end):
    """Returns whether the model is as it should be, and a line to say so."""
    try:
        said = search(model, folder, end)
    except RuntimeError as error:
        return False, f"FAILED  {model.name}: {error}"
    states = re.search(r"(\d+) states, stored", said)[1]
    fault = fault_in(said)
    if model.broken:
        good = fault in model.faults
        text = f"broken, {model.name}: " + (fault or "nothing was found wrong")
    else:
        unreached = never_reached(said)
        good = not fault and not unreached
        text = f"{model.name}: " + (fault or f"right in all {states} states")
        if unreached:
            text += "; never reached: " + "; ".join(unreached)
    return good, f"{'passed' if good else 'FAILED'}  {text}"


def is_spin_here():
    # Other programs of that name know no -V.
    if not shutil.which("spin"):
        return False
    return "Spin Version" in run(["spin", "-V"], None, time.monotonic() + 10)[1]


def main():
    if sys.argv[1:] and (len(sys.argv) != 3 or sys.argv[1] != "--keep"):
        sys.exit(__doc__)
    if not is_spin_here():
        missing = "Spin, the model checker, is not installed (scripts/setup)"
        if "spin" in os.environ.get("HALOCLINE_REQUIRE", "").split(","):
            sys.exit(f"HALOCLINE_REQUIRE has spin, but {missing}")
        print(f"skipped: {missing}")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(sys.argv[2] if sys.argv[1:] else temporary)
        folder.mkdir(parents=True, exist_ok=True)
        # The largest first.
        models = sorted(enumerate(MODELS), key=lambda item: item[1].ranks, reverse=True)
        end = time.monotonic() + SECONDS
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            verdicts = pool.map(lambda item: judge(item[1], folder / f"model-{item[0]}", end), models)
            all_good = True
            for good, text in verdicts:
                print(text, flush=True)
                all_good = all_good and good
    return 0 if all_good else 1


if __name__ == "__main__":
    sys.exit(main())
