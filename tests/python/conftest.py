# SPDX-License-Identifier: Apache-2.0
"""Without an mpi4py for this Python nothing is tested, and said so."""

import os

import pytest

# Also for what tests start in folders of their own.
for name in ("HALOCLINE_LIBRARY", "PYTHONPATH"):
    if name in os.environ:
        os.environ[name] = os.pathsep.join(map(os.path.abspath, os.environ[name].split(os.pathsep)))

try:
    from mpi4py import MPI  # noqa: F401
except ImportError as error:
    pytest.exit(f"skipped: {error}", returncode=0)
