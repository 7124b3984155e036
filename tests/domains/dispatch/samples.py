"""What the tests of dispatch are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final, TypeVar

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Asked, Claim, Ending, EndState, Job, JournalEntry, JournalKind, Release, Run
from strongroom.engine import Engine
from strongroom.patterns import digest
from strongroom.records import SEAL_BYTES, AnyTable, Record, RowCodec, Sealer

T = TypeVar("T")

WORKSPACE: Final = "build"
OWNER: Final = "ada"
RECORD: Final = b'{"evaluated":true}'


def a_release(release_id: str = "release_1", **given: Any) -> Release:
    return Release(WORKSPACE, release_id, "Nightly build", created_at_ms=1).replace(**given)


def completed(**given: Any) -> Ending:
    return Ending(**{"state": EndState.COMPLETED, "record": RECORD, "result": '{"ok":true}', **given})


def failed(problem: str = "it broke") -> Ending:
    return Ending(state=EndState.FAILED, problem=problem)


def interrupted() -> Ending:
    return Ending(state=EndState.INTERRUPTED, problem="asked to stop")


class Yard:
    """A workspace with a release and a job in it, and short words for what tests do all the time."""

    def __init__(self, workspace: dispatch.Workspace) -> None:
        self.workspace = workspace
        self.engine: Engine = workspace.engine
        self._keys = count(1)
        workspace.releases.save(a_release(workspace=workspace.name))
        self.job: Job = workspace.jobs.create("nightly", "release_1").job
        self.dispatcher = workspace.dispatcher("here")

    def submit(self, key: str = "", input: str = "{}") -> str:
        return self.workspace.submit(self.job.id, key or f"key-{next(self._keys)}", input).run

    def create(self, run_id: str, key: str = "", caller: str = OWNER) -> None:
        """A run of this very id."""
        asked = Asked(self.job, caller, key or run_id, digest(b"{}"), "{}")
        self.workspace.update(lambda update: update.create_run(run_id, asked))

    def claim(self) -> Claim:
        (claim,) = self.dispatcher.claim()
        return claim

    def complete(self, **given: Any) -> str:
        """A run that has completed."""
        self.submit()
        claim = self.claim()
        self.dispatcher.finish(claim, completed(**given))
        return claim.run

    def run(self, run_id: str) -> Run:
        return self.workspace.runs.get(run_id)

    def entries(self) -> list[JournalEntry]:
        return self.workspace.journal.page(limit=10_000).items

    def kinds(self) -> list[JournalKind]:
        return [entry.kind for entry in self.entries()]

    def kinds_of(self, run_id: str) -> list[JournalKind]:
        return [entry.kind for entry in self.entries() if entry.run == run_id]

    def lines(self) -> list[bytes]:
        return self.workspace.chain.page().lines


def retried(call: Callable[[], T]) -> T:
    """What `call` returns, made again as often as rivals win."""
    while True:
        try:
            return call()
        except strongroom.Conflict:
            continue


def state_of(engine: Engine, tables: tuple[AnyTable, ...]) -> dict[str, list[Record]]:
    """All that is held, to see that nothing was written."""
    return {table.name: engine.scan(table, limit=10_000) for table in tables}


def insert_row(engine: Engine, table: AnyTable, record: Record) -> None:
    """Put in a new row as an intruder would who can write the store: soundly sealed, past every rule of the domain."""
    row = _sealed(table, record)
    assert engine._write(lambda rows: rows.insert(table, table.key_of(row), row), lambda: False)


def overwrite_row(engine: Engine, table: AnyTable, record: Record) -> None:
    """Put a row over another as an intruder would; only the memory engine guards no rows."""
    row = _sealed(table, record)
    engine._write(lambda rows: rows.put(table, table.key_of(row), row), lambda: False)


def _sealed(table: AnyTable, record: Record) -> Any:
    ruleless: Any = type(table)(table.name, table.record, key=table.key_names, scope=table.scope)
    return RowCodec(ruleless, Sealer()).encode(record)


@contextlib.contextmanager
def broken_seals(engine: Engine, *tables: AnyTable) -> Iterator[None]:
    """While it lasts, rows of these tables are written under seals that are not theirs."""
    codecs = [engine._codecs[table] for table in tables]
    sound = [codec._seal for codec in codecs]
    for codec in codecs:
        codec._seal = lambda _values: bytes(SEAL_BYTES)
    try:
        yield
    finally:
        for codec, seal in zip(codecs, sound, strict=True):
            codec._seal = seal


def remove_row(engine: Engine, table: AnyTable, record: Any) -> None:
    """Take a row of the memory engine away, past every rule."""
    key = table.store_key(table.key_in(record))
    engine._write(lambda rows: rows.remove(table, key, None), lambda: False)
