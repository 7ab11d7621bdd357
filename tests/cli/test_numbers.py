# SPDX-License-Identifier: Apache-2.0
"""Every number on the command line, of every command, in the one grammar that the guide describes: what
is right goes on to the work, what is wrong is a usage error that names the option and the word. Nothing
here comes as far as MPI: ranks are to be started by a launcher that does not exist."""

import concurrent.futures
import os
import re
import subprocess

import pytest

from command import HALOCLINE

USAGE, UNAVAILABLE = 2, 3
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HALOCLINE_LAUNCHER": "/no/such/launcher",
               "HALOCLINE_ASSUME_GPU": "0"}

# Words that are no whole number, of whatever size, and those that are no number.
NOT_WHOLE = ["", "abc", "0x10", "1.5", "1e-1", "1e", "10k", "1KiB", "Ki", " 5", "5 ", "+5", "1_000", "5.",
             "nan", "inf", "1;2", "2e1e1", "٣"]
NOT_FINITE = ["", "abc", "nan", "NaN", "inf", "-inf", "infinity", "1e400", "-1e999", "1e-400", "0x1p3",
              "1,5", "5s", " 5", "5 ", "+5", "1Ki", "e3", "--1"]
BEYOND_32 = ["2147483648", "4294967297", "3Gi", "1e10", "-2147483649"]
BEYOND_64 = ["9223372036854775808", "99999999999999999999", "18446744073709551617", "9007199254740993Ki",
             "1e400", "1e99999999999999999999", "-9223372036854775809"]
BEYOND_64_WITHOUT_SIGN = ["18446744073709551616", "1e20", "-1"]
NOT_A_SIZE = ["", "x", "8x", "x8", "8xx8", "8y8", "8x8x8x8", "1.5x8", "-8x8", "0x1p3x8",
              "8 x8", "8x1e400", "9223372036854775808x1"]

INT = NOT_WHOLE + BEYOND_32 + BEYOND_64
INT64 = NOT_WHOLE + BEYOND_64
UINT64 = NOT_WHOLE + BEYOND_64_WITHOUT_SIGN


def in_lists(words):
    return [*words, *(f"8,{word}" for word in words), ",8", "8,", "8,,16"]


SIZES = in_lists(INT64)

SOLVE = "solve laplace --backend cpu"
HALO = "bench halo --cells-per-rank 64x64"

# The command, the option, good words, bad words.
TABLE = [
    (SOLVE, "--cells", ["64x32", "064x0032", "1e2x1.5e1", "1Kix1Ki", "64X32x8"], NOT_A_SIZE),
    (SOLVE, "--cells-per-rank", ["64x32", "0100x10"], NOT_A_SIZE),
    (SOLVE, "--sweeps", ["0", "010", "1e3", "1.5e3", "2Ki", "9223372036854775807"], INT64),
    (SOLVE, "--tolerance", ["0", "1e-3", ".5", "05", "1e308"], NOT_FINITE),
    (SOLVE, "--norm-every", ["1", "010", "1e2", "9223372036854775807"], INT64),
    (f"{SOLVE} --output /no/such/u.npy", "--output-every", ["1", "010", "1e2"], INT64),
    (f"{SOLVE} --sum u", "--series-every", ["1", "010", "1e2"], INT64),
    (SOLVE, "--verify-every", ["1", "010", "1e2", "9223372036854775807"], INT64),
    ("solve heat", "--set", ["dt=1e-3", "alpha=02.5", "dt=.0001"],
     ["", "dt", "=1", *(f"dt={word}" for word in NOT_FINITE)]),
    (SOLVE, "--seed", ["0", "010", "1e3", "18446744073709551615"], UINT64),
    (SOLVE, "--ranks", ["2", "02", "2e0"], INT),
    (SOLVE, "--process-grid", ["1x2", "01x2", "2e0x1"], NOT_A_SIZE),
    (SOLVE, "--threads", ["1", "04", "4Ki"], INT),
    (SOLVE, "--tune-budget", ["0", "0.5", "1e3"], NOT_FINITE),
    (SOLVE, "--halo-depth", ["1", "02", "2e0"], INT64),
    (SOLVE, "--wait-limit", ["0", "0.5", "1e300"], NOT_FINITE),
    ("plan laplace", "--cells", ["64x32", "064x1e2"], NOT_A_SIZE),
    ("plan laplace", "--cells-per-rank", ["64x32", "1Kix1Ki"], NOT_A_SIZE),
    ("plan laplace", "--ranks", ["1", "010", "1e1"], INT),
    ("plan laplace --ranks 2", "--process-grid", ["1x2", "02x1"], NOT_A_SIZE),
    ("plan laplace --ranks 2", "--halo-depth", ["1", "010", "1e2"], INT64),
    ("doctor --json /no/such/folder/x", "--ranks", ["2", "010"], INT),
    ("doctor --json /no/such/folder/x", "--time-limit", ["1", "1.5", "03e1"], NOT_FINITE),
    ("bench halo", "--cells-per-rank", ["64x64", "1Kix64,064x64x8"], [*NOT_A_SIZE, "8x8,", "8x8,8y8"]),
    (HALO, "--width", ["1", "02,4", "1e1"], in_lists(INT64)),
    (HALO, "--fields", ["1", "02,4", "1e1"], in_lists(INT64)),
    (HALO, "--ranks", ["2", "02", "2e0"], INT),
    (HALO, "--process-grid", ["1x2", "02x1"], NOT_A_SIZE),
    ("bench step", "--cells", ["64x64", "1Kix64,064x64"], [*NOT_A_SIZE, "8x8,", "8x8,8y8"]),
    ("bench step", "--cells-per-rank", ["64x64", "1Kix64,064x64"], [*NOT_A_SIZE, "8x8,", "8x8,8y8"]),
    ("bench step", "--norm-every", ["1", "010,1e2"], in_lists(INT64)),
    ("bench step", "--halo-depth", ["1", "02,4", "1e1"], in_lists(INT64)),
    ("bench step", "--sweeps", ["2", "010", "1Ki"], INT64),
    ("bench step", "--repetitions", ["1", "010", "1Ki"], INT64),
    ("bench step", "--ranks", ["2", "1,02", "1,2e0"], in_lists(INT)),
    ("bench step", "--process-grid", ["1x2", "auto,02x1"], [*NOT_A_SIZE, "1x2,2y1"]),
    ("bench step", "--threads", ["1", "04"], INT),
    ("bench p2p", "--pairs", ["0-1", "00-1,1-0"],
     ["", "0", "0-", "-1", "0-1-2", "0-1,", "0--1", "0-0x1", "0-1.5", "0-2147483648", "a-b"]),
    ("bench p2p", "--sizes", ["8", "010,64Ki,1e3"], SIZES),
    ("bench p2p", "--window", ["1", "010", "1e3"], INT64),
    ("bench p2p", "--ranks", ["2", "04"], INT),
    ("bench layout", "--cells-per-rank", ["16x16x16", "016x1e1x32"], NOT_A_SIZE),
    ("bench layout", "--process-grid", ["1x1x2", "02x1x1"], NOT_A_SIZE),
    ("bench layout", "--steps", ["1", "02,8", "1,2e0"], in_lists(INT64)),
    ("bench layout", "--sweeps", ["8", "016", "1Ki"], INT64),
    ("bench layout", "--repetitions", ["1", "010", "1Ki"], INT64),
    ("bench layout", "--ranks", ["2", "04"], INT),
    ("bench layout", "--threads", ["1", "04"], INT),
]
for _bench in ("halo", "p2p"):
    TABLE += [(f"bench {_bench}", "--repetitions", ["1", "010", "1e3", "1Ki"], INT64),
              (f"bench {_bench}", "--seconds", ["0.5", "1e-3", "010"], NOT_FINITE)]
for _bench in ("halo", "step", "p2p", "layout"):
    TABLE += [(f"bench {_bench}", "--wait-limit", ["0", "0.5", "1e300"], NOT_FINITE)]


def end_of(words, **variables):
    # Smaller than run() of command.py: nothing is started that could be left running.
    end = subprocess.run([HALOCLINE, *words], env={**os.environ, **ENVIRONMENT, **variables},
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    return end.returncode, end.stdout, end.stderr


def words_of(command, option, word):
    words = command.split()
    if words[0] != "doctor" and option != "--ranks" and "--ranks" not in words and words[0] != "plan":
        words += ["--ranks", "2"]
    return [*words, f"{option}={word}" if word.startswith("--") else option,
            *([] if word.startswith("--") else [word])]


def complaint_about_good(command, option, word):
    code, out, err = end_of(words_of(command, option, word))
    if command.startswith("plan"):
        right = code == 0 and err == ""
    elif command.startswith("doctor"):
        right = code == USAGE and "/no/such/folder" in err
    else:
        right = code == UNAVAILABLE and "/no/such/launcher" in err
    return None if right else (word, code, out, err)


def complaint_about_bad(command, option, word):
    code, out, err = end_of(words_of(command, option, word))
    quoted = [f"{option} '{part}'" in err for part in (word, *word.split(","))]
    right = (code == USAGE and out == "" and any(quoted) and re.fullmatch(r"halocline: [^\n]+\n", err))
    return None if right else (word, code, out, err)


@pytest.mark.parametrize("command, option, good, bad", TABLE,
                         ids=[f"{command.split(' -')[0]} {option}".replace(" ", "_")
                              for command, option, _, _ in TABLE])
def test_of_every_option(command, option, good, bad):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [*pool.map(lambda word: complaint_about_good(command, option, word), good),
                 *pool.map(lambda word: complaint_about_bad(command, option, word), dict.fromkeys(bad))]
    assert not any(wrong), [each for each in wrong if each]


def test_the_table_has_every_option_with_numbers():
    """As help names their words: a new option with a number needs a row above."""
    of_numbers = {"N", "K", "S", "T", "NXxNY[xNZ]", "PXxPY[xPZ]", "NAME=VALUE"}
    # Lists of names.
    others = {"--transport", "--memory", "--graph", "--schedule", "--precision", "--norm", "--rivals",
              "--layouts", "--ways"}
    commands = {" ".join(command.split()[:2 if command.startswith("bench") else 1])
                for command, *_ in TABLE}
    tested = {(command.split(" -")[0].removesuffix(" laplace").removesuffix(" heat"), option)
              for command, option, *_ in TABLE}
    for command in commands:
        text = end_of([*command.split(), "--help"])[1]
        for option, kind in re.findall(r"^  (--[\w-]+) (\S+)", text, re.MULTILINE):
            if kind in of_numbers | {"LIST"} and option not in others:
                assert (command, option) in tested


@pytest.mark.parametrize("value, right", [
    ("1", True), ("02", True), ("4096", True), ("1e1", True), ("2,4", True), (" 2", True),
    ("", False), ("0", False), ("-1", False), ("4097", False), ("100000", False), ("1e400", False),
    ("99999999999999999999", False), ("two", False), ("0x2", False), ("1.5", False), ("2;4", False)])
def test_threads_of_openmp(value, right):
    code, out, err = end_of(["solve", "heat", "--cells", "9", "--backend", "cpu", "--quiet"],
                            OMP_NUM_THREADS=value)
    # OpenMP itself may warn of what it cannot read.
    ours = [line for line in err.splitlines() if line.startswith("halocline: ")]
    if right:
        assert (code, ours) == (0, [])
    else:
        assert code == USAGE and len(ours) == 1 and "OMP_NUM_THREADS" in ours[0], (code, out, err)


@pytest.mark.parametrize("value", ["yes", "-1", "1.5", "99999999999"])
def test_gpus_that_are_assumed(value):
    code, _, err = end_of(["bench", "halo", "--ranks", "2"], HALOCLINE_ASSUME_GPU=value)
    assert code == USAGE and f"HALOCLINE_ASSUME_GPU '{value}'" in err


@pytest.mark.parametrize("words", [
    "solve laplace --halo-depth 9223372036854775807", "plan laplace --halo-depth 4611686018427387904",
    "plan laplace --cells 8x8 --halo-depth 9", "solve laplace --cells 8x8 --halo-depth 9"])
def test_depths_beyond_the_grid(words):
    code, out, err = end_of(words.split())
    assert (code, out) == (USAGE, "") and re.search("halo depth.*use at most", err), err


@pytest.mark.parametrize("words, says", [
    ("bench halo --ranks 2 --cells-per-rank 9223372036854775807x2", ["2^63"]),
    ("bench halo --ranks 2 --cells-per-rank 4611686018427387904x8 --process-grid 2x1", ["2^63"]),
    ("bench halo --ranks 2 --cells-per-rank 8x8 --width 4611686018427387904", ["width"]),
    ("bench halo --ranks 2 --fields 9223372036854775807", ["fields", "1 to 1000"]),
    ("bench p2p --ranks 2 --window 9223372036854775807", ["window"]),
    ("bench step --ranks 2 --cells-per-rank 9223372036854775807x2", ["2^63"]),
    ("bench layout --ranks 2 --cells-per-rank 2x2x9223372036854775807", ["2^63"]),
    ("bench layout --ranks 2 --steps 9223372036854775807", ["exchanges"]),
    ("bench layout --ranks 2 --sweeps 9223372036854775800", ["1 to"]),
    ("solve laplace --ranks 2 --cells-per-rank 9223372036854775807x2", ["2^63"])])
def test_products_beyond_64_bits(words, says):
    code, out, err = end_of(words.split())
    assert (code, out) == (USAGE, "") and all(text in err for text in says), err
