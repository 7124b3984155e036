"""The SQLite engine: one file, one writer with group commit, readers that never wait for it (WAL).

Any number of threads share an engine, and several processes a file; or one engine holds the file exclusively. Single
reads share one connection behind one lock: without it, threads that read at once hand the interpreter's lock to and
fro at every row, and all of them together are slower than one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from strongroom.engine import (
    Claims,
    Clock,
    Committer,
    Durability,
    Engine,
    Guard,
    Rows,
    SchemaRows,
    Sharing,
    SingleCalls,
    Strength,
    WritableRows,
)
from strongroom.engines.sql import Gone
from strongroom.engines.sqlite.connections import connect
from strongroom.engines.sqlite.faults import FAULTS, translate, translated
from strongroom.engines.sqlite.files import APPLICATION_ID, HoldLock, make_file
from strongroom.engines.sqlite.holders import holders
from strongroom.engines.sqlite.rows import ConnectionRows, TableStatements
from strongroom.engines.sqlite.snapshots import Snapshots
from strongroom.engines.sqlite.wal import WalKeeper
from strongroom.engines.sqlite.writer import GroupWriter, Work
from strongroom.errors import Closed, Conflict, InvalidArgument, Unsupported
from strongroom.records import AnyTable, Key, KeyRange, Row

T = TypeVar("T")

_leaked: Final[list[object]] = []
"""What a forked child must never close: closing would let go of the parent's locks."""
_inherited: Final[set[Path]] = set()
"""The files that were open when this process was forked: SQLite in here believes that it holds the parent's locks."""


@dataclass(frozen=True, slots=True)
class SqliteOptions:
    """How a file is opened.

    exclusive: hold the file alone; `StoreHeld` if anyone else has it (D4).
    create: make the file if it is not there; otherwise that is `NotFound`.
    synchronous: ``full`` flushes every commit (D2); ``normal``, asked for by name, leaves the last commits to the
        mercy of a power cut.
    timeout_ms: how long to wait for another process that writes.
    wal_limit_mib: how long the WAL may get before snapshots are given up; writes are refused at four times as much.
    vfs: the name of a registered SQLite VFS, for encryption or fault injection; None is SQLite's own.
    """

    exclusive: bool = False
    create: bool = True
    synchronous: str = "full"
    timeout_ms: int = 30_000
    wal_limit_mib: int = 64
    vfs: str | None = None


class SqliteEngine(Engine):
    """An engine over the file at `path`."""

    def __init__(self, path: str, options: SqliteOptions | None = None, *, seal_key: bytes | None = None) -> None:
        """Raises as `strongroom.open`."""
        # Links are followed, so that the lock stands beside the file itself whatever it was called by.
        self.path = Path(path).resolve()
        if self.path in _inherited:
            raise Unsupported(
                f"{self.path} was open when this process was forked, and SQLite can't open it again here: start the "
                "process with 'spawn', or fork before the store is opened"
            )
        self.options = options or SqliteOptions()
        self.claims = Claims(
            strength=Strength.MULTI_RECORD,
            durability=Durability.FLUSHED if self.options.synchronous == "full" else Durability.PROCESS,
            sharing=Sharing.ENGINE if self.options.exclusive else Sharing.HOST,
            guards_immutable=True,
            reopens=True,
            exclusive=True,
            bounded_log=True,
        )
        self._gate = threading.Lock()
        self._statements = TableStatements()
        self._clock = Clock()
        make_file(self.path, create=self.options.create)
        with contextlib.ExitStack() as undo:
            self._lock = HoldLock(self.path, exclusive=self.options.exclusive)
            undo.callback(self._lock.release)
            self._writer = self._connect()
            undo.callback(self._writer.close)
            self._reader = self._connect()
            undo.callback(self._reader.close)
            super().__init__("sqlite", seal_key=seal_key)
            undo.pop_all()
        self._writer_rows = ConnectionRows(self._writer, self._statements, self._clock)
        self._reader_rows = ConnectionRows(self._reader, self._statements, self._clock)
        self._snapshots = Snapshots(self._connect, self._statements, self._clock, self._gate)
        self._wal = WalKeeper(
            self._writer,
            limit_bytes=self.options.wal_limit_mib * 2**20,
            timeout_ms=self.options.timeout_ms,
            give_up_snapshots=self._give_up_snapshots,
            name_holders=lambda: ", ".join(self._holders()) or "an unknown process",
        )
        self._group = GroupWriter(self._writer, self._writer_rows, self._wal)
        self._committer: Committer[Work] = Committer(self._group.run)

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept (T6).

        A commit whose flush failed is settled by the next one that succeeds, which overwrites it: the answer is then
        False for certain. Raises `Unavailable` while no commit succeeds, `InvalidArgument` for a token that is not
        this engine's.
        """
        if token != self._group.token:
            raise InvalidArgument("sqlite: the token is not of this engine object: read what was written instead")
        self._submit(lambda _rows: self._writer_rows.touch())
        return False

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """The file, its flush setting, the WAL's length, and who holds it open (D2, D5)."""
        self._check_open()
        with self._gate, translated():
            pages = {name: int(self._reader.pragma(name)) for name in ("page_size", "page_count")}
        wal = Path(f"{self.path}-wal")
        return {
            "place": str(self.path),
            "sqlite_version": apsw.sqlite_lib_version(),
            "flush": "every commit" if self.options.synchronous == "full" else "at checkpoints (asked for by name)",
            "exclusive": self.options.exclusive,
            "database_bytes": pages["page_size"] * pages["page_count"],
            "wal_bytes": wal.stat().st_size if wal.exists() else 0,
            "wal_limit_bytes": self.options.wal_limit_mib * 2**20,
            "holders": tuple(self._holders()),
        }

    def _single_calls(self) -> WritableRows:
        return _QuickCalls(self)

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self._snapshots.read(work)

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        result: T = self._committer.submit(Work(work, abandoned))
        return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        def migrate(rows: SchemaRows) -> T:
            with translated():
                self._writer.pragma("application_id", APPLICATION_ID)
            return work(rows)

        result: T = self._committer.submit(Work(migrate, lambda: False))
        return result

    def _submit(self, change: Callable[[WritableRows], T], inserts: tuple[AnyTable, Row] | None = None) -> T:
        """Run one statement, alone or in whatever group is forming."""
        self._check_outside("call")
        result: T = self._committer.submit(Work(change, None, inserts))
        return result

    def _tables(self) -> set[str]:
        with self._gate:
            return self._reader_rows.tables()

    def _connect(self) -> apsw.Connection:
        options = self.options
        return connect(str(self.path), synchronous=options.synchronous, timeout_ms=options.timeout_ms, vfs=options.vfs)

    def _give_up_snapshots(self) -> None:
        limit = self.options.wal_limit_mib
        self._snapshots.give_up(
            Conflict(f"the snapshot was given up: it kept the WAL above {limit} MiB; read in pages, or raise wal_limit")
        )

    def _holders(self) -> list[str]:
        own = self._snapshots.holders()
        found = holders(self.path)
        return own + ([] if found is None else [str(holder) for holder in found])

    def _close(self) -> None:
        self._committer.close()
        self._snapshots.close(Closed(self._closed))
        with self._gate:
            self._reader.close()
        self._writer.close()
        self._lock.release()

    def _forked(self) -> None:
        _inherited.add(self.path)
        _leaked.extend([self._writer, self._reader, *self._snapshots.connections()])
        # A child that was forked inside of a function goes on in it: it must not write on the parent's connection.
        gone: Any = Gone(self._closed)
        self._writer_rows._connection = self._group._connection = gone
        self._snapshots.forsake(gone)
        self._lock.release()


class _QuickCalls(SingleCalls):
    """Single calls, each one statement."""

    def __init__(self, engine: SqliteEngine) -> None:
        super().__init__(engine)
        self._quick = engine
        self._gate = engine._gate
        self._inside = engine._inside
        self._statements = engine._statements
        self._execute = engine._reader.execute

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        # The most frequent call of all: as little as can be stands between it and the driver.
        engine = self._quick
        # Before the gate: in a forked child a thread of the parent's may hold it for ever.
        if engine._closed or self._inside.kind is not None:
            engine._check_outside("call")
        with self._gate:
            try:
                # The cursor goes at once, also after a fault, and with it the statement's hold on the database.
                row: Row | None = self._execute(self._statements[table].fetch, key).fetchone()
            except FAULTS as fault:
                raise translate(fault) from fault
            return row

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        engine = self._quick
        engine._check_outside("call")
        with engine._gate:
            return engine._reader_rows.fetch_range(table, wanted)

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        engine = self._quick
        engine._check_outside("call")
        with engine._gate:
            return engine._reader_rows.tally(table, prefix, limit)

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._quick._submit(lambda rows: rows.insert(table, key, row), (table, row))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._quick._submit(lambda rows: rows.replace(table, key, row, guard))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._quick._submit(lambda rows: rows.put(table, key, row))

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._quick._submit(lambda rows: rows.remove(table, key, guard))

    def clock(self) -> int:
        self._quick._check_outside("call")
        return self._quick._clock.now()
