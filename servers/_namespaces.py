"""A script: makes so many network namespaces, and holds them open until it ends; then they are gone, links and all.

Argument: how many. They are its open files from number 10 on, so that others find them in ``/proc``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

CLONE_NEWNET = 0x40000000
FIRST = 10


def main(count: int, ready: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(FIRST, FIRST + count):
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "cannot make a network namespace")
        os.dup2(os.open("/proc/self/ns/net", os.O_RDONLY), number)
    ready.touch()
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
