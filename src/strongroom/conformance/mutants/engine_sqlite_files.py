"""The SQLite engine's files, locks and WAL with one safeguard broken."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engines.sqlite import connections
from strongroom.engines.sqlite.engine import SqliteEngine
from strongroom.engines.sqlite.files import HoldLock
from strongroom.engines.sqlite.wal import WalKeeper
from strongroom.errors import StoreHeld

SQLITE = Ground.SQLITE


@mutant("D4", on=SQLITE)
def sqlite_exclusive_lock_is_a_shared_one(patch: Patches) -> None:
    """Whoever asks to hold the store alone shares it."""
    make = HoldLock.__init__
    patch.method(HoldLock, "__init__", lambda self, path, *, exclusive: make(self, path, exclusive=False))


@mutant("D4", on=SQLITE)
def sqlite_lock_taken_only_by_holders(patch: Patches) -> None:
    """Those who share the store take no lock, and a holder does not notice them."""
    make = HoldLock.__init__

    def lenient(self: Any, path: Path, *, exclusive: bool) -> None:
        make(self, path, exclusive=exclusive)
        if not exclusive:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    patch.method(HoldLock, "__init__", lenient)


@mutant("D4", on=SQLITE)
def sqlite_lock_never_released(patch: Patches) -> None:
    """Closing a store keeps its lock, to the end of the process."""
    patch.method(HoldLock, "release", lambda self: None)


@mutant("D4", on=SQLITE)
def sqlite_lock_released_first(patch: Patches) -> None:
    """Closing a store gives up its lock before the writes in flight are done."""
    close = SqliteEngine._close

    def early(self: Any) -> None:
        self._lock.release()
        close(self)

    patch.method(SqliteEngine, "_close", early)


@mutant("D4", on=SQLITE)
def sqlite_holding_is_a_mark_that_outlives_its_holder(patch: Patches) -> None:
    """Whoever holds the store leaves a mark in a file, which stays there when its process is killed."""
    make, release = HoldLock.__init__, HoldLock.release

    def marked(self: Any, path: Path, *, exclusive: bool) -> None:
        make(self, path, exclusive=exclusive)
        self.held = exclusive
        if os.fstat(self._file).st_size:
            release(self)
            raise StoreHeld(f"{path} is marked as held")
        if exclusive:
            os.write(self._file, b"held")

    def unmark(self: Any) -> None:
        if self.held and self._file >= 0:
            os.ftruncate(self._file, 0)
        release(self)

    patch.method(HoldLock, "__init__", marked)
    patch.method(HoldLock, "release", unmark)


@mutant("D5", on=SQLITE)
def sqlite_wal_never_cut(patch: Patches) -> None:
    """The WAL is never copied back while the store is open."""
    patch.method(WalKeeper, "after_commit", lambda self: None)


@mutant("D5", on=SQLITE)
def sqlite_snapshots_never_given_up(patch: Patches) -> None:
    """A reader may keep its snapshot for as long as it likes, and with it the WAL."""
    patch.method(SqliteEngine, "_give_up_snapshots", lambda self: None)


@mutant("D5", on=SQLITE)
def sqlite_wal_has_no_hard_limit(patch: Patches) -> None:
    """Writes go on, and the WAL grows, while a reader elsewhere holds it open."""
    patch.method(WalKeeper, "before_write", lambda self: None)


@mutant("D5", on=SQLITE)
def sqlite_holders_not_named(patch: Patches) -> None:
    """An operator is not told who holds the WAL open."""
    patch.method(SqliteEngine, "_holders", lambda self: [])


@mutant("D2", on=Ground.WATCHED)
def sqlite_flushes_nothing(patch: Patches) -> None:
    """Commits are acknowledged before they reach the disk."""
    connect = connections.connect

    def unflushed(path: str, **options: Any) -> Any:
        connection = connect(path, **options)
        connection.pragma("synchronous", "off")
        return connection

    patch.function(connect, unflushed)


@mutant("D2", on=Ground.WATCHED)
def sqlite_flushes_at_checkpoints_only(patch: Patches) -> None:
    """A store that promises to flush every commit is opened as one that leaves the last ones to luck."""
    connect = connections.connect
    patch.function(connect, lambda path, **options: connect(path, **{**options, "synchronous": "normal"}))
