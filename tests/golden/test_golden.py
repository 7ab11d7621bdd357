# SPDX-License-Identifier: Apache-2.0
"""Runs of the command as they were recorded by record.py: the same exit codes, the same values bit by
bit, the same keys in reports. A test's name is its run; what it says of itself may change."""

import json
import os

import pytest
from pytest import approx

from record import RUNS, Lanes  # finds the modules of tests/cli
from command import HALOCLINE

KEPT = json.loads(RUNS.read_text())


@pytest.fixture(scope="module")
def ends(request, tmp_path_factory):
    """What comes of the runs of all tests that were chosen, begun at once."""
    if not os.access(HALOCLINE, os.X_OK):
        pytest.exit(f"there is no command {HALOCLINE}; HALOCLINE=PATH names it", returncode=2)
    words = [item.callspec.params["kept"]["run"] for item in request.session.items
             if item.function is test_run]
    with Lanes(words, HALOCLINE, tmp_path_factory.mktemp("golden")) as lanes:
        yield lanes


def is_same(name, kept, now):
    if name == "norms" and kept["norm"] == "l2":  # parts of a sum may be added in another order
        return [[sweep, approx(norm, rel=1e-12)] for sweep, norm in kept[name]] == now.get(name)
    return kept[name] == now.get(name)


@pytest.mark.parametrize("kept", KEPT["runs"], ids=lambda kept: kept["run"])
def test_run(kept, ends):
    now, keys, said = ends[kept["run"]].result()
    wrong = [f"{name}: {now.get(name, 'missing')}, recorded was {kept[name]}"
             for name in kept if name != "more_keys" and not is_same(name, kept, now)]
    if keys:
        wanted = {*KEPT["keys"][kept["run"].split()[0]], *kept.get("more_keys", [])}
        wrong += [f"the report has lost the key {key}" for key in sorted(wanted - keys)]
    if wrong:
        pytest.fail("\n".join([kept["run"], *wrong, said]), pytrace=False)
