#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds each mutant in a copy of the tree and expects its tests to fail; a few at a time, each in a copy
of its own.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(pathlib.Path(__file__).parent), str(ROOT / "scripts")]
import sources  # noqa: E402
from mutants import MUTANTS  # noqa: E402

# A mutant may hang: tests end themselves after a while. This is far behind, and catches nothing.
SECONDS = 180
NCCL_ON_CPU = "tests/cuda_on_cpu/libnccl.so.2"
NVSHMEM_ON_CPU = "tests/cuda_on_cpu/libnvshmem_host.so.3"
NVRTC_ON_CPU = "tests/cuda_on_cpu/libnvrtc.so.13"
# Each takes a processor most of the time, for one source is compiled, and 300 MB of disk.
MOST_COPIES = 4


def preset():
    return sys.argv[2]


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          **options)


def require(done, what):
    if done.returncode != 0:
        sys.exit(f"{what} failed:\n{done.stdout[-4000:]}")


def copy_tree(tree):
    """Copies the tree, unchanged files with their times so that only changes are built."""
    for name in sources.files():
        source, target = ROOT / name, tree / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def folder_of(tree):
    return tree / "build" / preset()


def build(tree, targets):
    return run(["cmake", "--build", str(folder_of(tree)), "--target", *targets])


def port_threads(tree):
    """The protocol between threads under the thread sanitizer: fences do not show otherwise."""
    program = folder_of(tree) / "port_threads"
    done = run(["g++", "-std=c++20", "-O1", "-fsanitize=thread", f"-I{tree}/include",
                f"-I{tree}/src/core", f"-I{tree}/tests", f"{tree}/tests/unit/test_port_threads.cpp",
                "-lgtest", "-lgtest_main", "-lpthread", "-o", str(program)])
    require(done, "building test_port_threads with the thread sanitizer")
    return [str(program), "--gtest_brief=1"]


def command_for(mutant, tree, launcher):
    """Builds the mutant; returns what runs its tests, or nothing if the compiler refuses it."""
    if mutant.program == "port_threads":
        return port_threads(tree)
    built = build(tree, [mutant.program])
    if built.returncode != 0:
        print(f"building '{mutant.name}':\n{built.stdout[-4000:]}", flush=True)
        return None
    return [*launcher, "-n", str(mutant.ranks), str(folder_of(tree) / "bin" / mutant.program),
            f"--gtest_filter={mutant.filter}", "--gtest_brief=1", "--gtest_fail_fast"]


def end_of(command, tree, mutant):
    """What becomes of the tests."""
    if command is None:
        return "NOT BUILT"
    try:
        environment = {**os.environ, "CUDA_ON_CPU_ORDER": mutant.order,
                       "CUDA_ON_CPU_DEVICES": str(mutant.gpus),
                       "HALOCLINE_ASSUME_GPU": "2", "HALOCLINE_REQUIRE": "gpu",
                       "HALOCLINE_NCCL": str(folder_of(tree) / NCCL_ON_CPU),
                       "HALOCLINE_NVSHMEM": str(folder_of(tree) / NVSHMEM_ON_CPU),
                       "HALOCLINE_NVRTC": str(folder_of(tree) / NVRTC_ON_CPU),
                       "NCCL_MULTI_RANK_GPU_ENABLE": "1"}
        done = run(command, timeout=SECONDS, env=environment)
        return "SURVIVED" if done.returncode == 0 else "caught"
    except subprocess.TimeoutExpired:
        return "NO END"


def remove_what_is_gone(tree):
    """Files that were copied once: a build would take them for sources of ours."""
    for top in tree.iterdir() if tree.is_dir() else []:
        for path in [top, *top.rglob("*")] if top.name != "build" else []:
            if not path.is_dir() and not (ROOT / path.relative_to(tree)).is_file():
                path.unlink()


def prepare(tree, targets):
    """Copies and builds the tree without a mutant."""
    remove_what_is_gone(tree)
    copy_tree(tree)
    # As scripts/test builds it, so that ccache knows every object but the mutant's own; but CUDA
    # runs on the CPU, so that GPU code has mutants too.
    require(run(["cmake", "--preset", preset(), "-DHALOCLINE_TESTS=ON", "-DHALOCLINE_WERROR=ON",
                 "-DHALOCLINE_CUDA=CPU",
                 "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON"], cwd=tree), "configure")
    if targets:
        require(build(tree, targets), "the build without a mutant")


def read_source(mutant, tree):
    """The source that the mutant changes, which must have its text once."""
    original = (tree / mutant.file).read_text()
    if original.count(mutant.find) != 1:
        sys.exit(f"'{mutant.name}': its text stands {original.count(mutant.find)} times in "
                 f"{mutant.file}; mend tests/mutants/mutants.py")
    return original


def survives(mutant, tree, launcher):
    """Whether its tests pass all the same, do not say in time that they fail, or never ran: a mutant that
    does not compile shows nothing of them."""
    source, original = tree / mutant.file, read_source(mutant, tree)
    start = time.monotonic()
    source.write_text(original.replace(mutant.find, mutant.replace))
    try:
        end = end_of(command_for(mutant, tree, launcher), tree, mutant)
    finally:
        source.write_text(original)
    print(f"{end:9}  {mutant.name}  ({time.monotonic() - start:.0f} s)", flush=True)
    return end != "caught"


def count_survivors(todo, tree, launcher):
    """Takes mutants until none is left."""
    return sum(survives(mutant, tree, launcher) for mutant in todo)


def whose_turn(count, sources_hash):
    """So many of them, from all over the list. Hashes are as good as dice: the turn of each comes."""
    first = int(hashlib.sha256(sources_hash.encode()).hexdigest(), 16)
    count = min(count, len(MUTANTS))
    places = {(first + each * len(MUTANTS) // count) % len(MUTANTS) for each in range(count)}
    return [MUTANTS[place] for place in sorted(places)]


def chosen_by(options):
    """Says whose turn it is, for a change is not checked by all of them."""
    if not options.turn:
        return [m for m in MUTANTS if not options.names or m.name in options.names]
    count, sources_hash = options.turn
    chosen = whose_turn(int(count), sources_hash)
    print(f"the turn of {len(chosen)} of {len(MUTANTS)} mutants, by {sources_hash[:16]}:",
          *(mutant.name for mutant in chosen), sep="\n  ", flush=True)
    return chosen


def copies_for(mutants):
    """How many copies of the tree: another is compiled quickly only where ccache knows the first."""
    knows = shutil.which("ccache") is not None and "CCACHE_DISABLE" not in os.environ
    return min(MOST_COPIES, os.cpu_count(), len(mutants)) if knows else 1


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="of the copies")
    parser.add_argument("preset", nargs="?")
    parser.add_argument("launcher", nargs="?", default="", help="in one string")
    parser.add_argument("names", nargs="*", help="choose mutants (default: all)")
    parser.add_argument("--turn", nargs=2, metavar=("COUNT", "HASH"),
                        help="choose so many, whose turn it is by a hash of the sources")
    parser.add_argument("--prepare", action="store_true", help="only build what they need")
    parser.add_argument("--check", action="store_true",
                        help="only check that the texts of all mutants stand in this tree, once each")
    parser.add_argument("--build", metavar="TARGETS",
                        help="only build these, joined by commas, in the first copy: for other tests")
    return parser.parse_args()


def main():
    options = read_options()
    if options.check:
        for mutant in MUTANTS:
            read_source(mutant, ROOT)
        return
    if not options.launcher:
        sys.exit("give a folder, a preset and a launcher, or --check")
    folder, launcher = pathlib.Path(options.folder).resolve(), shlex.split(options.launcher)
    if options.build:
        prepare(folder / "0", options.build.split(","))
        return
    chosen = chosen_by(options)
    if not chosen:
        sys.exit(f"there are no mutants {options.names}")
    programs = sorted({mutant.program for mutant in chosen} - {"port_threads"})
    # One after the other: where ccache is, only the first is compiled.
    trees = [folder / str(copy) for copy in range(copies_for(chosen))]
    for tree in trees:
        prepare(tree, programs)
    if options.prepare:
        return

    todo = iter(chosen)  # shared by all threads
    with concurrent.futures.ThreadPoolExecutor(len(trees)) as pool:
        workers = [pool.submit(count_survivors, todo, tree, launcher) for tree in trees]
        try:
            survivors = sum(done.result() for done in concurrent.futures.as_completed(workers))
        finally:
            list(todo)  # if one worker fails, nothing is left for the others
    print(f"{len(chosen) - survivors} passed, {survivors} failed")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
