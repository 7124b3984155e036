"""A change of state and the journal entry that tells of it: wherever it is stopped, both are kept or neither."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import pytest

import strongroom
from strongroom.domains import dispatch
from strongroom.domains.dispatch import Asked, Ending, JournalKind, new_id
from strongroom.domains.dispatch.contract import Bound
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.trigger_records import SCHEMA
from tests.domains.dispatch.samples import OWNER, Yard, a_release, completed, failed, state_of

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


def test_a_refused_operation_writes_nothing_and_leaves_its_transaction_usable(yard: Yard) -> None:
    yard.create("run_1", key="k")
    running_run = yard.submit()
    yard.submit()
    first, second, third = yard.workspace.read(lambda reads: reads.queued_runs())
    yard.workspace.update(lambda update: update.start_run(second))
    running = yard.workspace.read(lambda reads: reads.running_runs())[0]

    def asked(**given: Any) -> Asked:
        return Asked(**{"job": yard.job, "caller": "c", "key": "new", "digest": "d", "input": "{}", **given})

    gone = running.replace(token=running.token + 1)
    refused: list[Callable[[dispatch.Update], object]] = [
        lambda update: update.create_release(a_release()),
        lambda update: update.create_release(a_release("")),
        lambda update: update.create_run("run_1", asked()),
        lambda update: update.create_run("run_2", asked(caller=OWNER, key="k")),
        lambda update: update.create_run("", asked()),
        lambda update: update.create_run("run_2", asked(input="{")),
        lambda update: update.create_run("run_2", asked(requested_by="x" * 256)),
        lambda update: update.create_run("run_2", asked(digest="")),
        lambda update: update.start_run(second),
        lambda update: update.start_run(first, holder="x" * 256),
        lambda update: update.start_run(first, lease_ms=0),
        lambda update: update.end_run(second, failed()),
        lambda update: update.end_run(gone, failed()),
        lambda update: update.end_run(first, completed()),
        lambda update: update.end_run(running, completed(record=None)),
        lambda update: update.end_run(running, completed(record=b"x" * 65_536)),
        lambda update: update.end_run(running, completed(result="{")),
        lambda update: update.end_run(running, completed(problem="\0")),
        lambda update: update.end_run(running, completed(signatures="")),
        lambda update: update.end_run(running, completed(review=1)),
        lambda update: update.end_run(running, completed(state="asleep")),
    ]
    before = state_of(yard.engine, SCHEMA.tables)

    def change(update: dispatch.Update) -> int:
        faults = 0
        for operation in refused:
            try:
                operation(update)
            except (dispatch.Taken, dispatch.Conflict, dispatch.Refused, strongroom.InvalidArgument):
                faults += 1
        return faults

    assert yard.workspace.update(change) == len(refused)
    assert state_of(yard.engine, SCHEMA.tables) == before
    assert yard.run(running_run).state is dispatch.RunState.RUNNING
    assert yard.claim().run == first.run
    assert yard.claim().run == third.run
    as_text: Any = "completed"
    yard.workspace.update(lambda update: update.end_run(running, completed(state=as_text)))
    assert len(yard.lines()) == 1
