# SPDX-License-Identifier: Apache-2.0
"""The notebook's cells, in order, as a reader runs them."""

import json
import os
import pathlib

import numpy as np
import pytest
from test_launch import as_no_rank  # noqa: F401

NOTEBOOK = pathlib.Path(__file__).parents[2] / "docs" / "notebook.ipynb"


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="emulated GPUs are of no use to Python")
def test_the_cells_run(as_no_rank, tmp_path, monkeypatch, capfd):  # noqa: F811
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names = {}
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    shown = capfd.readouterr().out
    assert names["on_two"].checksum == names["result"].checksum
    np.testing.assert_array_equal(names["on_two"]["u"], names["result"]["u"])
    assert "u_new" in shown and "rank 1 of 2: (128, 384) cells" in shown
