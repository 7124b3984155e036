"""The store's files: made private, held by a lock that dies with its process, and told apart from others' files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

from strongroom.errors import InvalidArgument, NotFound, StoreHeld, Unavailable

APPLICATION_ID: Final = 0x53_52_4F_4D
"""Written in the file's header ("SROM"), so that another program's database is never taken for a store."""


def make_file(path: Path, *, create: bool) -> None:
    """See that the store's file is there, readable by its owner alone if it is new (0600).

    Raises `NotFound` if it is not there and `create` is false, `InvalidArgument` for a path that can't be a store,
    `Unavailable` where the system refuses.
    """
    try:
        if path.exists():
            if not stat.S_ISREG(path.stat().st_mode):
                raise InvalidArgument(f"{path} is not a regular file")
            return
        if not create:
            raise NotFound(f"there is no store at {path}")
        if not path.parent.is_dir():
            raise InvalidArgument(f"there is no folder {path.parent}: make it first")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as fault:
        raise Unavailable(f"{path} can't be opened: {fault.strerror}") from fault


class HoldLock:
    """The store's lock: one exclusive holder, or any number that share (D4). The kernel frees it on death."""

    def __init__(self, path: Path, *, exclusive: bool) -> None:
        """Raises `StoreHeld` at once if the lock is held in a way that this one does not go with."""
        self.path = path.with_name(path.name + ".lock")
        try:
            self._file = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as fault:
            raise Unavailable(f"{self.path} can't be opened: {fault.strerror}") from fault
        try:
            fcntl.flock(self._file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            how = "is in use, and can't be held exclusively" if exclusive else "is held exclusively by another"
            raise StoreHeld(f"{path} {how}") from None
        except OSError as fault:
            os.close(self._file)
            raise Unavailable(f"{self.path} can't be locked: {fault.strerror}") from fault

    def release(self) -> None:
        """Give the lock up; in a forked child this lets go of the child's copy alone."""
        if self._file >= 0:
            # In one breath: Ctrl-C can't come between, and nothing is closed twice.
            file, self._file = self._file, -1
            os.close(file)
