"""The one program: every verb of specification 9, for people and, with `--json`, for machines."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the program with the arguments of the process, and exit with its status.

    Raises:
        SystemExit: 0 where something is eligible, released or done; 1 where nothing is; 2 for
            trouble (specification 9).
    """
    try:
        from evidence_adapters.cli.program import run
        from evidence_adapters.cli.verbs import app
    except KeyboardInterrupt:  # loading takes about a fifth of a second
        sys.exit(130)

    sys.exit(run(app, sys.argv[1:]))
