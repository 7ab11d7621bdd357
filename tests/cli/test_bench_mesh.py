# SPDX-License-Identifier: Apache-2.0
"""`halocline bench mesh`, from outside."""

import json
import re

import pytest

from command import run
from schema import check_bench_mesh

USAGE = 2
MESH = ["bench", "mesh", "--repetitions", "3"]


def mesh_json(*words, **options):
    end = run(*MESH, *words, "--json", "-", **options)
    assert (end.code, end.err) == (0, ""), f"{words}: exit code {end.code}\n{end.out}{end.err}"
    report = json.loads(end.out)
    check_bench_mesh(report)
    return report


def deadlocks_in(report):
    return [(case["order"], case["circle"]) for case in report["cases"] if case["deadlock"]]


def test_smoke_a_deadlock_is_a_finding(tmp_path):
    end = run(*MESH, "--ranks", "2", "--sizes", "8,1Mi", "--json", "r.json", "--trace", "t.json",
              cwd=tmp_path)
    assert (end.code, end.err) == (0, "")
    report = json.loads((tmp_path / "r.json").read_text())
    check_bench_mesh(report)
    assert [(case["bytes"], case["order"]) for case in report["cases"]] == [
        (size, order) for size in (8, 1 << 20)
        for order in ("send-first", "ordered", "irecv-send", "irecv-isend")]
    assert deadlocks_in(report) == [("send-first", [0, 1])]
    assert re.search(r"^    send-first  1 MiB: 0 -> 1 -> 0: each waits in a send whose "
                     r"receive is not posted$", end.out, re.MULTILINE)
    assert re.search(r"^    1 MiB +send-first  +- +- +- +-  deadlock$", end.out, re.MULTILINE)
    assert len(re.findall(r"^    rank [01]  \|[srx. ]{64}\| ", end.out, re.MULTILINE)) == 8
    assert max(map(len, end.out.splitlines())) <= 100

    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    sends = [event for event in events if event["name"].startswith("send to rank ")]
    assert {event["pid"] for event in sends} == {0, 1}
    assert {event["cat"] for event in sends} == {"send-first", "ordered", "irecv-send",
                                                 "irecv-isend"}
    assert any(event["name"] == "send-first, 1048576 bytes: deadlock" for event in events)


def test_ordered_calls_deadlock_around_an_axis():
    report = mesh_json("--ranks", "4", "--process-grid", "2x2", "--periodic", "xy",
                       "--sizes", "1Mi", "--orders", "ordered,irecv-send")
    assert deadlocks_in(report) == [("ordered", [0, 1])]
    assert report["cases"][0]["others_stuck"] == 2
    assert report["cases"][1]["relative"] is None
    assert report["messages"] == 4


def test_smoke_under_a_launcher(mpirun):
    report = mesh_json("--sizes", "64", **mpirun(3))
    assert report["process_grid"] == [1, 3]
    assert deadlocks_in(report) == []
    assert {message["rank"] for message in report["timeline"]} == {0, 1, 2}


@pytest.mark.parametrize("words, says", [
    ("--ranks 1", ["one rank has no neighbour", "--ranks 4", "--periodic x"]),
    ("--ranks 6 --process-grid 2x2", ["2x2 is for 4 ranks", "use 2x3"]),
    ("--ranks 2 --orders sideways", ["'sideways'", "irecv-isend"]),
    ("--ranks 2 --sizes 0", ["0 bytes"]),
    ("--ranks 2 --sizes 2Gi", ["2147483648 bytes"]),
    ("--ranks 2 --periodic z", ["no axis z"]),
    ("--ranks 2 --seconds 0", ["0 seconds"]),
    ("--ranks 2 --sizes 8 --trace no/such/file", ["no/such/file"]),
])
def test_bad_input(words, says, tmp_path):
    end = run("bench", "mesh", *words.split(), cwd=tmp_path)
    assert (end.code, end.out) == (USAGE, "")
    for text in says:
        assert text in end.err, end.err
