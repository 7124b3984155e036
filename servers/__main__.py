"""``python -m servers`` says what this machine has of them; ``python -m servers install`` gets what it can of the rest.

``install`` says nothing when all is there, and ends with 1 when something is still missing.
"""

from __future__ import annotations

import sys

from servers.install import InstallFailed, install
from servers.machine import available


def main(arguments: list[str]) -> int:
    """The command line; answers its exit status."""
    match arguments:
        case []:
            for kind, found in available().items():
                print(f"{kind:12} {found}")
            return 0
        case ["install"]:
            try:
                lacking = install()
            except InstallFailed as failure:
                print(failure, file=sys.stderr)
                return 1
            for kind, reason in lacking.items():
                print(f"no {kind}: {reason}", file=sys.stderr)
            return 1 if lacking else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
