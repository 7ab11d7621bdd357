"""Several nodes, made of network namespaces."""

import json

from command import run
from hosts import hosts


def test_smoke_a_solve_over_two_hosts(tmp_path, mpirun):
    with hosts(tmp_path, ["n1", "n2"]) as pair:
        end = run("solve", "laplace", "--cells", "64x64", "--sweeps", "4", "--json", "-",
                  **pair.mpirun(mpirun, 4))
    report = json.loads(end.out)
    assert (report["ranks"], report["nodes"]) == (4, 2)
    one_node = json.loads(run("solve", "laplace", "--cells", "64x64", "--sweeps", "4", "--json",
                              "-").out)
    assert report["checksum"] == one_node["checksum"]
