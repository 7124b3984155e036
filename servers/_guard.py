"""A script: waits for a run's owner to end, however it ends, and then removes the run's folder.

Arguments: the owner's process id, the folder. The keepers of the run's servers wait for this process in their turn;
so when it goes, the servers go. ``SIGTERM`` ends it at once, and leaves the folder to whoever sent it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import sys
from pathlib import Path


def main(owner: int, folder: Path) -> None:
    if os.fork():
        return
    os.setsid()
    print(os.getpid(), flush=True)
    quiet = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(quiet, standard)
    with contextlib.suppress(ProcessLookupError):  # It may have ended before we look.
        select.select([os.pidfd_open(owner)], [], [])
    if os.fork():
        return  # Now the keepers end their servers.
    with contextlib.suppress(FileNotFoundError), (folder / "alive").open() as alive:
        fcntl.flock(alive, fcntl.LOCK_EX)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
