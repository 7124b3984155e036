"""The engine: what a store holds on to, and the base that every engine is written on."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

from strongroom.engine import catalog
from strongroom.engine.asynchronous import Runner
from strongroom.engine.operations import Codecs, OpenSnapshot, OpenTransaction, WriteOperations
from strongroom.engine.port import Claims, Guard, Reader, Rows, SchemaRows, Strength, Transaction, WritableRows
from strongroom.errors import Closed, InvalidArgument, Unsupported
from strongroom.records import AnyTable, Key, KeyRange, Record, Row, Schema, Sealer

R = TypeVar("R", bound=Record)
T = TypeVar("T")
P = ParamSpec("P")

_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


class Engine(WriteOperations[WritableRows], ABC):
    """Keeps tables. Threads may share one (C1); a forked child may not (C2).

    A single `get`, `scan`, `insert`, `update` or `delete` asked of the engine means `read` or `write` around that
    one call, and costs one statement. An engine author gives the abstract methods below, and may give `_single`
    quicker single calls; everything else stands here.

    Arguments:
        name: the engine as messages and reports name it, such as ``sqlite``; no secrets.
        seal_key: 16 to 64 bytes that seal every row; None for keyless seals.
    """

    claims: Claims

    # Until it is open, so that whoever shows a failure with the values around it can show this one.
    name = "not open yet"
    _closed = ""

    def __init__(self, name: str, *, seal_key: bytes | None = None) -> None:
        self._codecs = Codecs(Sealer(seal_key))
        self.name = name
        self._closed = ""
        """Why calls are refused; empty while they are not."""
        self._let_go = False
        """Whether nothing is held any more, or nothing that is this process's to let go of."""
        self._inside = _Inside()
        super().__init__(self._single_calls(), self._codecs)
        self._closing = threading.Lock()
        self._runner = Runner(name)
        self._epoch: str | None = None
        self._prepared: dict[str, Schema] = {}
        _engines.add(self)

    # What an author gives.

    @abstractmethod
    def _read(self, work: Callable[[Rows], T]) -> T:
        """Run `work` on one snapshot (R2). Its exception comes out as the same object (T3)."""

    @abstractmethod
    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        """Run `work` in one serializable transaction; its result once that is durable (T1, T2).

        `work` may be run more than once. Its exception rolls everything back and comes out as the same object (T3).
        Where `abandoned()` is true after it, nothing is committed and the result is handed out all the same (T5).
        """

    @abstractmethod
    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        """Run `work` alone among migrations, and in one transaction where the engine's DDL allows that (M3).

        Where it does not, `work` stands being stopped half-way: every step of it may be taken again.
        """

    @abstractmethod
    def _tables(self) -> set[str]:
        """The names of the tables that the store has."""

    def _close(self) -> None:
        """Let go of everything, after the writes in flight. Called again where Ctrl-C, or a fault, stopped it."""

    def _forked(self) -> None:
        """Called in a forked child: make sure that nothing of the parent's is touched, closed or unlocked."""

    def _single_calls(self) -> WritableRows:
        """What single calls are made on: each its own snapshot or transaction."""
        return SingleCalls(self)

    # What a caller uses.

    def read(self, change: Callable[[Reader], T]) -> T:
        """What `change` returns from one consistent snapshot (R2).

        `change` gets a `Reader`, may run more than once, and must touch nothing but what it gets. Raises its
        exception as the same object (T3), `Closed` after `close`, `Unavailable` where the engine can't be reached.
        """

        def work(rows: Rows) -> T:
            snapshot = OpenSnapshot(rows, self._codecs)
            try:
                return change(snapshot)
            finally:
                snapshot.end()

        with self._entered("read"):
            return self._read(work)

    def write(self, change: Callable[[Transaction], T]) -> T:
        """What `change` returns, once all that it wrote is durable (T1, T2, D2).

        `change` gets a `Transaction`, may run more than once (T4), and must touch nothing but what it gets. What it
        raises rolls everything back and comes out as the same object (T3). Raises `Conflict` (retryable) when
        rivals won every retry, `CommitUnknown` where the outcome can't be known (T6), `Unavailable` (retryable)
        where nothing was kept, `Closed` after `close`, and `InvalidArgument` when called from inside another `read`
        or `write` function.
        """
        current: list[OpenTransaction] = []

        def work(rows: WritableRows) -> T:
            transaction = OpenTransaction(rows, self._codecs)
            current[:] = [transaction]
            # A leader runs its neighbours' functions too: each counts as inside a write while it runs.
            outer, self._inside.kind = self._inside.kind, "write"
            try:
                return change(transaction)
            finally:
                self._inside.kind = outer
                transaction.end()

        with self._entered("write"):
            return self._write(work, lambda: bool(current) and current[0].abandoned)

    def prepare(self, schema: Schema) -> None:
        """Bring the store to `schema`: apply the steps that are missing, in order, each once (M1, M3).

        Raises `SchemaTooNew` (the store untouched, M2), `MigrationFailed` where what is recorded is not what this
        code says, and `InvalidArgument` where the store is sealed with another key.
        """
        self._check_outside("prepare")
        if not self._is_prepared(schema):
            self._migrate(lambda rows: self._apply(rows, schema))
        self._prepared[schema.name] = schema

    @property
    def epoch(self) -> str:
        """The store's epoch: 16 hex digits, new with every restore, that cursors carry (R5)."""
        if self._epoch is None:
            self.prepare(catalog.CATALOG)
            self._epoch = self.read(catalog.epoch_of)
        return self._epoch

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """The schemas that this engine object was prepared for, its own catalog among them."""
        return (catalog.CATALOG, *(s for s in self._prepared.values() if s is not catalog.CATALOG))

    def tables(self) -> frozenset[str]:
        """The names of the tables that the store has, known to this code or not. Nothing is created or migrated."""
        self._check_open()
        return frozenset(self._tables())

    def check_seal_key(self) -> str | None:
        """The fingerprint of the key that seals the store: empty for keyless seals, None for a store never prepared.

        Raises `InvalidArgument` where that is another key than the one given here: every row would read as corrupt.
        """
        # It is looked up without checking a seal: that would only say "corrupt".
        known = self._rows.fetch(catalog.FACTS, (catalog.SEAL_KEY,)) if catalog.FACTS.name in self.tables() else None
        if known is None:
            return None
        catalog.check_seal_key(str(known[1]), self._codecs.sealer.fingerprint)
        return str(known[1])

    def describe(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """What only this kind of engine can tell an operator; nothing unless it says so.

        Names are in snake_case and end in their unit. Where an engine has such a thing: `place` (no secrets),
        `flush` (when a commit reaches the disk, D2), `wal_bytes` and `holders` (who has the store open, and who keeps
        the log from being cut, D5). Raises `Closed` and `Unavailable`.
        """
        self._check_open()
        return {}

    def require(self, strength: Strength, user: str) -> None:
        """Raises `Unsupported`, naming `user`, where the engine's transactions are not of this strength (T7)."""
        if self.claims.strength < strength:
            raise Unsupported(f"{user} needs {strength.shown} transactions, which {self.name} does not offer")

    def resolve(self, token: str) -> bool:
        """Whether the transaction of a `CommitUnknown` was kept; True or False for certain (T6).

        Raises `InvalidArgument` for a token that is not this engine's, `Unavailable` while it can't be known.
        """
        raise InvalidArgument(f"{self.name} gives out no tokens")

    async def run(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``method(*args, **kwargs)`` returns, called off the event loop.

        A caller that is cancelled before the call began leaves no trace (C4). One that is cancelled later gets
        `Cancelled`, a `CancelledError` that says what came of the call, once that is known. Raises `Closed` after
        `close` and in a forked child (C2), else what the call raises.
        """
        self._check_open()  # a forked child has none of the threads that would make the call
        return await self._runner.run(method, *args, **kwargs)

    def close(self) -> None:
        """Wait for writes in flight and let go of everything; once more does nothing (C3).

        Raises `InvalidArgument` from inside a read or write function of the engine and from inside a call that `run`
        makes, which it would wait for. Ctrl-C is raised once all is let go of; what a second one leaves, another
        `close` lets go of.
        """
        # Before the lock: another thread may hold it that waits for this one, and in a forked child nobody frees it.
        if self._let_go:
            return
        self._check_no_function("close")
        if self._runner.is_inside():
            raise InvalidArgument("a close inside a call of run: use asyncio.to_thread, or close after the event loop")
        with self._closing:
            try:
                self._end()
            except BaseException:
                self._end()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<engine {self.name}{' closed' if self._closed else ''}>"

    # How it is done.

    def _check_open(self) -> None:
        if self._closed:
            raise Closed(self._closed)

    def _check_outside(self, kind: str) -> None:
        """Raises `Closed`, and `InvalidArgument` from inside a function: there it would wait for itself."""
        self._check_open()
        self._check_no_function(kind)

    def _check_no_function(self, kind: str) -> None:
        outer = self._inside.kind
        if outer is not None:
            raise InvalidArgument(f"a {kind} inside a {outer} function: use what the function was given")

    def _end(self) -> None:
        """What `close` does; may be begun again where Ctrl-C stopped it."""
        if not self._let_go:
            self._runner.close()
            self._closed = self._closed or "the engine is closed"
            self._close()
            self._let_go = True

    @contextlib.contextmanager
    def _entered(self, kind: str) -> Iterator[None]:
        self._check_outside(kind)
        self._inside.kind = kind
        try:
            yield
        finally:
            self._inside.kind = None

    def _is_prepared(self, schema: Schema) -> bool:
        """Whether nothing is to be done; refuses a store of newer code or under another seal key, touching nothing."""
        if not {catalog.FACTS.name, catalog.STEPS.name} <= self._tables():
            return False
        if self.check_seal_key() is None:
            return False
        # Each is looked at, so that a store of newer code is refused whichever part of it is newer.
        missing = [catalog.missing_steps(s, catalog.applied(self, s)) for s in (catalog.CATALOG, schema)]
        return not any(missing)

    def _apply(self, rows: SchemaRows, schema: Schema) -> None:
        # What is applied is read again here: another process may have migrated while this one waited.
        transaction = OpenTransaction(rows, self._codecs)
        try:
            for one in (catalog.CATALOG, schema) if schema is not catalog.CATALOG else (schema,):
                known = catalog.applied(transaction, one) if catalog.STEPS.name in rows.tables() else []
                for step in catalog.missing_steps(one, known):
                    for table in step.tables:
                        rows.create(table, [column for column in table.columns if column.since <= step.number])
                    for table, column in step.columns:
                        rows.add_column(table, column)
                    transaction.insert(catalog.STEPS, catalog.applied_step(one, step, transaction.now()))
            catalog.found_store(transaction, self._codecs.sealer.fingerprint)
        finally:
            transaction.end()


class _Inside(threading.local):
    """What this thread is inside of: a read or write function, or a single call."""

    kind: str | None = None


class SingleCalls(WritableRows):
    """Single calls made of whole snapshots and transactions: right on every engine, quick on none."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def fetch(self, table: AnyTable, key: Key) -> Row | None:
        return self._read(lambda rows: rows.fetch(table, key))

    def fetch_many(self, table: AnyTable, keys: Sequence[Key]) -> list[Row | None]:
        if self._engine.claims.strength < Strength.MULTI_RECORD:
            return super().fetch_many(table, keys)
        return self._read(lambda rows: rows.fetch_many(table, keys))

    def fetch_range(self, table: AnyTable, wanted: KeyRange) -> list[Row]:
        return self._read(lambda rows: rows.fetch_range(table, wanted))

    def tally(self, table: AnyTable, prefix: Key, limit: int) -> int:
        return self._read(lambda rows: rows.tally(table, prefix, limit))

    def insert(self, table: AnyTable, key: Key, row: Row) -> bool:
        return self._write(lambda rows: rows.insert(table, key, row))

    def replace(self, table: AnyTable, key: Key, row: Row, guard: Guard) -> bool:
        return self._write(lambda rows: rows.replace(table, key, row, guard))

    def put(self, table: AnyTable, key: Key, row: Row) -> None:
        return self._write(lambda rows: rows.put(table, key, row))

    def remove(self, table: AnyTable, key: Key, guard: Guard | None) -> bool:
        return self._write(lambda rows: rows.remove(table, key, guard))

    def clock(self) -> int:
        return self._write(lambda rows: rows.clock())

    def _read(self, work: Callable[[Rows], T]) -> T:
        with self._engine._entered("call"):
            return self._engine._read(work)

    def _write(self, work: Callable[[WritableRows], T]) -> T:
        with self._engine._entered("call"):
            return self._engine._write(work, _never)


def _never() -> bool:
    return False


def _after_fork() -> None:
    for engine in list(_engines):
        if not engine._let_go:
            engine._let_go = True
            engine._closed = f"the engine belongs to the process that this one was forked from (pid {os.getppid()})"
            engine._forked()


os.register_at_fork(after_in_child=_after_fork)
