#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of each mutant with it switched on, and expects them to fail; several at a time.

All mutants are in one image, which is that of other tests as well: a build with -DHALOCLINE_MUTANTS=ON, such
as the preset `emulated`. There overlay.py writes each source that has mutants once more, with
`mutant ? replaced : original` in each place, and HALOCLINE_MUTANT names the mutant that acts in a process; texts
of kernels that are compiled when a program runs have them, too. So a new mutant costs one compilation, and its
run the seconds until its tests fail:

  HALOCLINE_MUTANT="epoch frozen" mpiexec.mpich -n 2 build/emulated/bin/conformance_tests

The tests must pass without a mutant. Those of ctest are the same with other filters; --healthy runs these.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import overlay  # noqa: E402
from mutants import MUTANTS  # noqa: E402

# A mutant may hang: tests end themselves after a while. This is far behind, and catches nothing.
SECONDS = 180
# Of one test, after which it ends itself, and half of it for ranks that wait for those that failed. The slowest
# takes three.
TEST_SECONDS = 30
LIBRARIES = {"HALOCLINE_NCCL": "libnccl.so.2", "HALOCLINE_NVSHMEM": "libnvshmem_host.so.3",
             "HALOCLINE_NVRTC": "libnvrtc.so.13"}


def environment_of(mutant, folder):
    """As for other tests (tests/CMakeLists.txt). What leaks says nothing of a mutant."""
    return {**os.environ, "HALOCLINE_KERNELS": "off", "CUDA_ON_CPU_ORDER": mutant.order, "CUDA_ON_CPU_DEVICES": str(mutant.gpus),
            "HALOCLINE_ASSUME_GPU": "2", "HALOCLINE_REQUIRE": "gpu", "NCCL_MULTI_RANK_GPU_ENABLE": "1",
            **{name: str(folder / "tests/cuda_on_cpu" / file) for name, file in LIBRARIES.items()},
            "HALOCLINE_TEST_SECONDS": str(TEST_SECONDS), "OMP_NUM_THREADS": "1",
            "ASAN_OPTIONS": "detect_leaks=0"}


def output_of(command, environment):
    """Returns the exit code, None after the limit, and what was said."""
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as job:
        try:
            said, _ = job.communicate(timeout=SECONDS)
            return job.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            return None, job.communicate()[0]


def end_of(code):
    """What became of the tests."""
    return "NO END" if code is None else "SURVIVED" if code == 0 else "caught"


def is_as_expected(mutant, options):
    """Whether its tests fail; with --healthy, whether they pass without it."""
    start = time.monotonic()
    environment = environment_of(mutant, options.folder)
    if not options.healthy:
        environment["HALOCLINE_MUTANT"] = mutant.name
    code, said = output_of(
        [*options.launcher, "-n", str(mutant.ranks), str(options.folder / "bin" / mutant.program),
         f"--gtest_filter={mutant.filter}", "--gtest_brief=1", "--gtest_fail_fast"], environment)
    end = end_of(code) if not options.healthy else "passed" if code == 0 else "FAILED"
    good = end == ("passed" if options.healthy else "caught")
    print(f"{end:9}{time.monotonic() - start:6.1f} s  {mutant.name}", flush=True)
    if options.verbose or (options.healthy and not good):
        print(said[-4000:], flush=True)
    return good


def by_turn(options):
    """Returns so many of them: those of changed files, then others. Hashes are as good as dice, so the turn
    of each comes."""
    def turn(mutant):
        return (mutant.file not in options.changed,
                hashlib.sha256(f"{sources_hash} {mutant.name}".encode()).digest())

    count, sources_hash = options.turn
    return sorted(MUTANTS, key=turn)[:int(count)]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="of a build with mutants")
    parser.add_argument("launcher", nargs="?", type=shlex.split, help="in one string")
    parser.add_argument("names", nargs="*", help="choose mutants (default: all)")
    parser.add_argument("--turn", nargs=2, metavar=("COUNT", "HASH"),
                        help="choose so many, whose turn it is by a hash of the sources")
    parser.add_argument("--changed", nargs="+", default=[], metavar="FILE",
                        help="with --turn: those of these files come first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="so many at a time")
    parser.add_argument("--healthy", action="store_true", help="run the same tests without mutants")
    parser.add_argument("--verbose", action="store_true", help="print what the tests say")
    parser.add_argument("--check", action="store_true",
                        help="only check that the texts of all mutants stand in this tree, once each")
    return parser, parser.parse_args()


def chosen_by(options):
    unknown = set(options.names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        sys.exit(f"there are no mutants {sorted(unknown)}")
    if options.turn:
        return by_turn(options)
    return [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]


def has_mutants(folder):
    """Whether a build has them; without them all would survive."""
    cache = folder / "CMakeCache.txt"
    return cache.is_file() and re.search(r"^HALOCLINE_MUTANTS:\w+=ON$", cache.read_text(), re.MULTILINE)


def main():
    parser, options = read_options()
    if options.check:
        overlay.texts()
        return
    if not options.launcher:
        parser.error("give a folder and a launcher, or --check")
    options.folder = options.folder.resolve()
    if not has_mutants(options.folder):
        sys.exit(f"{options.folder} is no build with mutants: configure it with -DHALOCLINE_MUTANTS=ON")
    chosen = chosen_by(options)
    missing = {mutant.program for mutant in chosen
               if not (options.folder / "bin" / mutant.program).is_file()}
    if missing:
        sys.exit(f"build {', '.join(sorted(missing))} first")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        good = sum(pool.map(lambda mutant: is_as_expected(mutant, options), chosen))
    print(f"{good} passed, {len(chosen) - good} failed")
    sys.exit(0 if good == len(chosen) else 1)


if __name__ == "__main__":
    main()
