"""Keeping the WAL bounded: when it is copied back into the database, and what is done when something is in the way.

SQLite can only start the WAL over when no reader needs it. One long snapshot therefore makes it grow with every
write. Past the limit the snapshots of this engine are given up (their readers get a retryable `Conflict`); past the
hard limit, when it is another process that holds the WAL open, writes are refused until it lets go (D5).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Final

import apsw

from strongroom.engines.sqlite.connections import patience
from strongroom.errors import Unavailable

_ROUTINE_PAGES: Final = 1_000
"""How much WAL is worth copying back: SQLite's own default."""
_HARD: Final = 4
"""The hard limit is so many times the limit."""
_PATIENCE_MS: Final = 100
"""How long short readers get to be done by themselves."""


class WalKeeper:
    """Watches the WAL through the writer's connection. Used by whoever leads a commit group, one at a time."""

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        limit_bytes: int,
        timeout_ms: int,
        give_up_snapshots: Callable[[], None],
        name_holders: Callable[[], str],
    ) -> None:
        self._connection = connection
        self._limit = limit_bytes // int(connection.pragma("page_size"))
        self._patient = patience(timeout_ms)
        self._brisk = patience(_PATIENCE_MS)
        self._next_try = 0
        self._give_up_snapshots = give_up_snapshots
        self._name_holders = name_holders
        self.pages = 0
        """The pages in the WAL after the last commit."""
        connection.set_wal_hook(self._committed)

    def after_commit(self) -> None:
        """Copy the WAL back when it is worth it, and clear the way for that when it is long."""
        if self.pages < min(_ROUTINE_PAGES, self._limit):
            return
        self._checkpoint(apsw.SQLITE_CHECKPOINT_PASSIVE)
        if self.pages >= max(self._limit, self._next_try) and not self._start_over():
            self._give_up_snapshots()
            self._start_over()
            # Where another process is in the way, every commit would wait for it in vain.
            self._next_try = self.pages + _ROUTINE_PAGES

    def before_write(self) -> None:
        """Raises `Unavailable`, naming the holders, where the WAL is past the hard limit and can't be started over."""
        if self.pages >= self._limit * _HARD and not self._start_over():
            raise Unavailable(f"SQLite: the WAL is past its hard limit and is held open by {self._name_holders()}")

    def _start_over(self) -> bool:
        """Copy all of the WAL back and cut it, if whoever reads is done in time: whether that was done."""
        try:
            self._connection.set_busy_handler(self._brisk)
            done = self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            self._connection.set_busy_handler(self._patient)  # also after Ctrl-C
        if done:
            self.pages = self._next_try = 0
        return done

    def _checkpoint(self, mode: int) -> bool:
        """Whether all of the WAL was copied back; a checkpoint that fails loses nothing, and is tried again later."""
        with contextlib.suppress(apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):
            in_log, copied = self._connection.wal_checkpoint(mode=mode)
            return in_log == copied
        return False

    def _committed(self, _connection: apsw.Connection, _database: str, pages: int) -> int:
        self.pages = pages
        return apsw.SQLITE_OK
