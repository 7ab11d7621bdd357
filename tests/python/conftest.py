# SPDX-License-Identifier: Apache-2.0
"""Without an mpi4py for this Python nothing is tested, and said so."""

import os

import pytest

if "PYTHONPATH" in os.environ:  # also for what tests start in folders of their own
    os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(os.pathsep)))

try:
    from mpi4py import MPI  # noqa: F401
except ImportError as error:
    pytest.exit(f"skipped: {error}", returncode=0)
