"""A change of state and the journal entry that tells of it: wherever it is stopped, both are kept or neither."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import pytest

from strongroom.domains import dispatch
from strongroom.domains.dispatch import Ending, JournalKind, new_id
from strongroom.domains.dispatch.contract import Bound
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.trigger_records import SCHEMA
from tests.domains.dispatch.samples import Yard, a_release, completed, failed, state_of

T = TypeVar("T")


def _take_over(yard: Yard) -> None:
    assert yard.workspace.dispatcher(lease_ms=1).take_over()


def _expire(yard: Yard) -> None:
    queued = yard.workspace.read(lambda reads: reads.oldest_queued())
    assert queued is not None
    yard.workspace.update(lambda update: update.end_run(queued, failed()))


def _finish(ending: Ending) -> Callable[[Yard], object]:
    def finish(yard: Yard) -> None:
        running = yard.workspace.read(lambda reads: reads.running_runs())[0]
        yard.workspace.update(lambda update: update.end_run(running, ending))

    return finish


def _interrupt(yard: Yard) -> None:
    assert len(yard.workspace.dispatcher().restart().interrupted) == 1


def _a_release(yard: Yard) -> None:
    yard.workspace.releases.save(a_release(new_id("release_")))


def _newest(yard: Yard) -> str:
    return next(entry.release for entry in reversed(yard.entries()) if entry.kind is JournalKind.RELEASE_PREVIEWED)


def _receive(yard: Yard) -> None:
    trigger = yard.workspace.triggers.create(yard.job.id, "schedule")
    yard.workspace.occurrences.receive(trigger.id, "once")


def _prepare(yard: Yard) -> None:
    received = next(entry.occurrence for entry in reversed(yard.entries()) if entry.occurrence)
    states = dispatch.OccurrenceState
    yard.workspace.occurrences.move(received, states.PREPARING, expect=states.RECEIVED)


MOVES: dict[str, tuple[Callable[[Yard], object], Callable[[Yard], object]]] = {
    "queue": (lambda yard: None, lambda yard: yard.submit()),
    "claim": (lambda yard: yard.submit(), lambda yard: yard.claim()),
    "complete": (lambda yard: (yard.submit(), yard.claim()), _finish(completed())),
    "fail": (lambda yard: (yard.submit(), yard.claim()), _finish(failed())),
    "take over": (lambda yard: (yard.submit(), yard.workspace.dispatcher(lease_ms=1).claim()), _take_over),
    "interrupt": (lambda yard: (yard.submit(), yard.claim()), _interrupt),
    "expire": (lambda yard: yard.submit(), _expire),
    "release": (lambda yard: None, _a_release),
    "job": (_a_release, lambda yard: yard.workspace.jobs.create("second", _newest(yard))),
    "prepare": (_receive, _prepare),
    "trigger": (lambda yard: None, lambda yard: yard.workspace.triggers.create(yard.job.id, "schedule")),
}
"""What changes a state: how to come to where it can, and the change, which the journal tells in one entry."""


@pytest.mark.parametrize("name", MOVES)
def test_a_change_of_state_and_its_entry_are_never_parted(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each write of each transaction is made to fail in turn: no state without its entry is kept, nor the reverse."""

    class Stop(Exception):
        pass

    clock = count(1_000_000, 1_000)
    monkeypatch.setattr(WritePort, "now", lambda self: next(clock))
    commits = [0]
    update = Bound.update

    def committed(self: Bound, change: Callable[[dispatch.Update], T]) -> T:
        result = update(self, change)
        commits[0] += 1
        return result

    monkeypatch.setattr(Bound, "update", committed)

    def stopping(original: Callable[..., object], transaction: int, failing: int) -> Callable[..., object]:
        def write(self: Any, *args: object, **kwargs: object) -> object:
            self.writes = getattr(self, "writes", 0) + 1
            if (commits[0], self.writes) == (transaction, failing):  # the same each time that it is run
                raise Stop
            return original(self, *args, **kwargs)

        return write

    prepare, move = MOVES[name]
    for transaction in count():
        prepare(yard)
        before = _whole(yard)
        for failing in count(1):
            commits[0] = 0
            with monkeypatch.context() as patch:
                for operation in ("insert", "update", "put", "delete"):
                    stopped = stopping(getattr(WritePort, operation), transaction, failing)
                    patch.setattr(WritePort, operation, stopped)
                try:
                    move(yard)
                except Stop:
                    assert _whole(yard) == before
                else:
                    break
        after = _whole(yard)
        assert len(after["dispatch_journal"]) == len(before["dispatch_journal"]) + 1
        assert after | {"dispatch_journal": before["dispatch_journal"]} != before
        if failing == 1:
            return  # there is no such transaction any more


def _whole(yard: Yard) -> dict[str, list[Any]]:
    """All that is held, but for the entries that tell of no state: a restart writes one before it ends any run."""
    state: dict[str, list[Any]] = {**state_of(yard.engine, SCHEMA.tables)}
    state["dispatch_journal"] = [
        (entry.kind, entry.run, entry.release, entry.job, entry.trigger)
        for entry in state["dispatch_journal"]
        if entry.kind is not JournalKind.RUNNER_STARTED
    ]
    return state
