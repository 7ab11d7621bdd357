# SPDX-License-Identifier: Apache-2.0
"""The command `halocline`, for the MPI that mpi4py finds."""

import os
import sys

from halocline import command
from halocline.errors import Error


def main() -> None:
    try:
        program, environment = command.program_and_environment()
    except Error as error:
        sys.exit(f"halocline: {error}")
    os.execve(program, ["halocline", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
