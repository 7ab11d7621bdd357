# SPDX-License-Identifier: Apache-2.0
"""Without an mpi4py for this Python nothing is tested, and said so."""

import pytest

try:
    from mpi4py import MPI  # noqa: F401
except ImportError as error:
    pytest.exit(f"skipped: {error}", returncode=0)
