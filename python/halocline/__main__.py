# SPDX-License-Identifier: Apache-2.0
"""The command `halocline`, for the MPI that mpi4py finds; `halocline plot` is Python's."""

import os
import sys

from halocline import command
from halocline.errors import Error, UnavailableError, UsageError


def main() -> None:
    try:
        if sys.argv[1:2] == ["plot"]:
            from halocline.plots import command as plot_command

            return plot_command.run(sys.argv[2:])
        program, environment = command.program_and_environment()
    except Error as error:
        print(f"halocline: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 3 if isinstance(error, UnavailableError) else 4)
    os.execve(program, ["halocline", *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
