# SPDX-License-Identifier: Apache-2.0
"""One rank fails, and the other waits for it."""

import halocline as hc

grid = hc.Grid((8, 8))
if grid.rank == 1:
    raise ValueError("an error of rank 1")
hc.Exchange(grid, grid.zeros()).run()
