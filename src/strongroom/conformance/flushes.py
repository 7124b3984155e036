"""A harness for SQLite files that counts the flushes: what the engine promises to do before it acknowledges (D2).

SQLite goes to the disk through a replaceable layer. The one here is SQLite's own, but for a tally of its flushes; while
any such harness is open it serves every SQLite file that this process opens.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar, Final

import apsw

from strongroom.conformance.harness import Ability
from strongroom.conformance.harnesses.sqlite import SqliteHarness

NAME: Final = "strongroom-flushes"


class FlushCountingHarness(SqliteHarness):
    """As `UrlHarness` for a ``sqlite:///`` URL, and can count what is flushed."""

    _layer: ClassVar[_Counting | None] = None
    _open: ClassVar[int] = 0
    _lock: ClassVar = threading.Lock()

    def __init__(self, template: str, *, seal_key: bytes | None = None) -> None:
        super().__init__(template, seal_key=seal_key)
        with self._lock:
            FlushCountingHarness._open += 1
            if self._layer is None:
                FlushCountingHarness._layer = _Counting()

    @property
    def abilities(self) -> frozenset[Ability]:
        return super().abilities | {Ability.FLUSHES}

    def flushes(self) -> int:
        """How often this process flushed any SQLite file so far."""
        return _Counting.flushes

    def close(self) -> None:
        super().close()
        with self._lock:
            FlushCountingHarness._open -= 1
            if self._layer is not None and not self._open:
                self._layer.unregister()
                FlushCountingHarness._layer = None


class _Counting(apsw.VFS):
    """SQLite's own way to the disk, which counts how often it flushes."""

    flushes: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__(NAME, "", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - the driver's name
        return _CountedFile(SYSTEM, name, flags)


SYSTEM: Final = "unix"
"""SQLite's own layer by name: the default one is by then the one here."""


class _CountedFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:  # noqa: N802 - the driver's name
        super().xSync(flags)
        _Counting.flushes += 1
