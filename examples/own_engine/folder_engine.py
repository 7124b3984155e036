"""A store that is a folder: one file to a row, named by the digest of its key, written whole and flushed.

It offers single-record transactions: one insert, update or delete by key, or one read. Any number of threads and
processes of one machine may share a folder. A scan lists every file of its table, so this is for hundreds of rows that
people want to see as files, not for millions.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from strongroom.engine import (
    Claims,
    Clock,
    Durability,
    Engine,
    Guard,
    Rows,
    SchemaRows,
    Sharing,
    StoreUrl,
    Strength,
    WritableRows,
)
from strongroom.errors import CommitUnknown, Corrupt, InvalidArgument, Unavailable, Unsupported
from strongroom.records import AnyTable, Column, Key, KeyRange, Row, decode_key, encode_key

T = TypeVar("T")


class _File(msgspec.Struct, array_like=True):
    """What is in a row's file: its key bytes, by which scans order it, and the stored row."""

    key: bytes
    row: Annotated[tuple[Any, ...], msgspec.Meta(min_length=1)]


class FolderRows(SchemaRows):
    """Rows as they stand in the folder; every change is made at once. `hold` keeps writers out while it lasts."""

    def __init__(self, engine: FolderEngine, hold: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._engine = engine
        self._hold = hold

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        self._begin(table)
        return self._row(table, key)

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        self._begin(table)
        with self._hold():
            keys = sorted(self._keys(table, *wanted.bounds(table)), reverse=wanted.reverse)[: wanted.limit]
            rows = [self._row(table, decode_key(table, key)) for key in keys]
        return [row for row in rows if row is not None]

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        self._begin(table)
        with self._hold():
            keys = self._keys(table, *KeyRange(prefix).bounds(table))
        return min(limit, len(keys))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        self._begin(table)
        return self._row(table, key) is None and self._keep(table, key, row)

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        self._begin(table)
        return self._is(table, key, guard) and self._keep(table, key, row)

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        self._begin(table)
        self._keep(table, key, row)

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        self._begin(table)
        return self._is(table, key, guard) and self._drop(table, key)

    def clock(self) -> int:
        return self._engine.clock.now()

    def tables(self) -> set[str]:
        return self._engine._tables()

    def create(self, table: AnyTable, columns: Sequence[Column]) -> None:
        with reported():
            (self._engine.folder / table.name).mkdir(exist_ok=True)
            flush(self._engine.folder)

    def add_column(self, table: AnyTable, column: Column) -> None:
        """Nothing to do: `_row` gives every older row the column's default when it is read."""

    def _begin(self, table: AnyTable) -> None:
        if not (self._engine.folder / table.name).is_dir():
            raise InvalidArgument(f"{table.name}: no such table; prepare its schema first")

    def _keep(self, table: AnyTable, key: Key, row: Row) -> bool:
        path = self._path(table, key)
        with reported():
            fresh = path.with_name("new")  # whoever writes is alone, and what a dead writer left is written over
            with fresh.open("wb") as file:
                file.write(msgspec.msgpack.encode(_File(encode_key(table, key), row)))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        return self._engine.settle(path.parent)

    def _drop(self, table: AnyTable, key: Key) -> bool:
        path = self._path(table, key)
        with reported():
            path.unlink()
        return self._engine.settle(path.parent)

    def _is(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        row = self._row(table, key)
        return row is not None and (guard is None or row[guard.column] == guard.value)

    def _row(self, table: AnyTable, key: Key) -> Row | None:
        found = self._read(table, self._path(table, key))
        if found is None:
            return None
        *row, seal = found.row
        row += [column.stored_default() for column in table.columns[len(row) :] if column.since > table.since]  # M4
        if len(row) == len(table.columns):
            for part, value in zip(table.key, key, strict=True):
                row[part.index] = value  # a file under another one's name breaks its seal
        return (*row, seal)

    def _keys(self, table: AnyTable, low: bytes, high: bytes | None) -> list[bytes]:
        """The keys in a range. A name is the digest of a key, so that no file is read twice to know its key."""
        folder, known = self._engine.folder / table.name, self._engine.keys
        with reported():
            names = [name for name in os.listdir(folder) if name.endswith(".row")]
        for name in names:
            if name not in known and (found := self._read(table, folder / name)) is not None:
                if named(found.key) != name:
                    raise Corrupt(f"{table.name}: the file {name} is another row's", table=table.name)
                known[name] = found.key
        keys = [known[name] for name in names if name in known]
        return [key for key in keys if low <= key and (high is None or key < high)]

    def _read(self, table: AnyTable, path: Path) -> _File | None:
        with reported():
            try:
                return msgspec.msgpack.decode(path.read_bytes(), type=_File)
            except FileNotFoundError:
                return None
            except msgspec.MsgspecError as fault:
                raise Corrupt(f"{table.name}: the file {path.name} holds no row", table=table.name) from fault

    def _path(self, table: AnyTable, key: Key) -> Path:
        return self._engine.folder / table.name / named(encode_key(table, key))


class OneOperation(FolderRows):
    """Rows of which one operation may be asked (T7). What it changes waits for `commit`."""

    def __init__(self, engine: FolderEngine, hold: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        super().__init__(engine, hold)
        self._begun = False
        self._changes: list[Callable[[], bool]] = []

    def commit(self) -> None:
        for change in self._changes:
            change()

    def _begin(self, table: AnyTable) -> None:
        if self._begun:
            raise Unsupported(f"{table.name}: a folder holds one operation in a transaction, and this is another")
        self._begun = True
        super()._begin(table)

    def _keep(self, table: AnyTable, key: Key, row: Row) -> bool:
        self._changes.append(partial(super()._keep, table, key, row))
        return True

    def _drop(self, table: AnyTable, key: Key) -> bool:
        self._changes.append(partial(super()._drop, table, key))
        return True


class FolderEngine(Engine):
    """An engine over a folder, which is made when the first schema is prepared."""

    claims = Claims(
        strength=Strength.SINGLE_RECORD,
        durability=Durability.FLUSHED,
        sharing=Sharing.HOST,
        guards_immutable=False,
        reopens=True,
    )

    def __init__(self, folder: Path, *, seal_key: bytes | None = None) -> None:
        self.folder = folder.absolute()
        self.clock = Clock()
        self.keys: dict[str, bytes] = {}
        """The keys of the files whose names were met so far."""
        self._unsettled: dict[str, Path] = {}
        super().__init__("folder", seal_key=seal_key)

    def resolve(self, token: str) -> bool:
        """True: what was changed is seen by all already, and once this returns it is durable too (T6)."""
        folder = self._unsettled.get(token)
        if folder is None:
            raise InvalidArgument("folder: the token is not of this engine object")
        with reported():
            flush(folder)
        return True

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        return {**super().describe(), "place": str(self.folder), "flush": "every commit"}

    def settle(self, folder: Path) -> bool:
        """Make a change in `folder`, which everyone sees already, durable: True once it is."""
        try:
            flush(folder)
        except OSError as fault:
            token = secrets.token_hex(8)
            self._unsettled[token] = folder
            raise CommitUnknown("folder: a change was made, but its flush failed", token=token) from fault
        return True

    def _read(self, work: Callable[[Rows], T]) -> T:
        return work(OneOperation(self, lambda: self._locked(fcntl.LOCK_SH)))

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        with self._locked(fcntl.LOCK_EX):
            rows = OneOperation(self)
            result = work(rows)
            if not abandoned():
                rows.commit()
            return result

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        with reported():
            self.folder.mkdir(mode=0o700, exist_ok=True)
            flush(self.folder.parent)
        with self._locked(fcntl.LOCK_EX):
            return work(FolderRows(self))

    def _tables(self) -> set[str]:
        with reported():
            return {path.name for path in self.folder.glob("*/")}

    def _close(self) -> None:
        if self.folder.is_dir():
            with self._locked(fcntl.LOCK_EX):  # whoever writes ends first (C3)
                pass

    @contextmanager
    def _locked(self, kind: int) -> Iterator[None]:
        # The file is opened anew each time: a lock belongs to what was opened, and threads must keep each other out.
        if not self.folder.is_dir():
            raise InvalidArgument(f"folder: there is no store at {self.folder}; prepare a schema first")
        with reported():
            file = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, kind)
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # not only closed: a child that was forked meanwhile has it open too
            os.close(file)


def named(key: bytes) -> str:
    """The name of the file of the row that has this key."""
    return hashlib.blake2b(key, digest_size=32).hexdigest() + ".row"


def flush(folder: Path) -> None:
    """Make the names in `folder` durable."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def reported() -> Iterator[None]:
    """Let no fault of the system out but as one of Strongroom's (E1)."""
    try:
        yield
    except OSError as fault:
        raise Unavailable(f"folder: {fault.strerror}") from fault


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> FolderEngine:
    """The engine for ``folder:///NAME`` (beside you) or ``folder:////PATH`` (from the root); it has no options."""
    url.allow()
    if not url.place.startswith("/") or not url.path:
        raise InvalidArgument("a folder is named folder:///NAME, or folder:////PATH from the root")
    return FolderEngine(Path(url.path), seal_key=seal_key)
