"""Who holds a store's WAL open: read from the system's table of file locks, without touching the files (D5).

SQLite's WAL locks are POSIX locks on single bytes of the ``-shm`` file. A process that opened and closed that file
itself would lose its own locks on it, so the locks are looked up in ``/proc/locks``, where the system has it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_LOCKS: Final = Path("/proc/locks")
_ROLES: Final = {120: "writer", 121: "checkpointer", 122: "recovery"}
_READERS: Final = range(123, 128)


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that has a lock on the WAL, and what for."""

    pid: int
    role: str

    def __str__(self) -> str:
        return f"{self.role} pid {self.pid}"


def holders(path: Path) -> list[Holder] | None:
    """The processes that hold locks on the WAL of the database at `path`; None where the system does not tell."""
    try:
        shared = os.stat(f"{path}-shm")
        table = _LOCKS.read_text()
    except FileNotFoundError:
        return [] if _LOCKS.exists() else None
    except OSError:
        return None
    place = f"{os.major(shared.st_dev):02x}:{os.minor(shared.st_dev):02x}:{shared.st_ino}"
    found = set()
    for line in table.splitlines():
        words = line.split()
        # "1: POSIX  ADVISORY  READ 4711 fe:00:1234 124 124"; a waiter has "->" after its number.
        if len(words) == 8 and words[5] == place and words[7].isdigit():
            for byte in range(int(words[6]), min(int(words[7]), _READERS.stop) + 1):
                role = _ROLES.get(byte, "reader" if byte in _READERS else "")
                if role:
                    found.add(Holder(int(words[4]), role))
    return sorted(found, key=lambda holder: (holder.role, holder.pid))
