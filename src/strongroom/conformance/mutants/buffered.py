"""Buffered transactions and their groups, with one safeguard broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import Ground, mutant
from strongroom.engine import BufferedRows, GroupRunner, Job, Work, buffered
from strongroom.records import AnyTable, Key, KeyRange, Row

BUFFERED = Ground.BUFFERED


@mutant("T1", on=BUFFERED)
def buffered_undo_forgotten(patch: Patches) -> None:
    """What a function changed before it failed is sent with its neighbours' changes, or the next attempt's."""
    patch.method(BufferedRows, "undo", lambda self, mark: None)


@mutant("T5", on=BUFFERED)
def buffered_abandoned_is_sent(patch: Patches) -> None:
    """A function that abandons its transaction has its changes sent all the same."""
    attempt = GroupRunner._attempt

    def deaf(self: GroupRunner, job: Job[Work], rows: BufferedRows) -> None:
        work, job.work = job.work, replace(job.work, abandoned=None)
        attempt(self, job, rows)
        job.work = work

    patch.method(GroupRunner, "_attempt", deaf)


@mutant("T1", "W5", on=BUFFERED)
def buffered_reads_miss_own_changes(patch: Patches) -> None:
    """A function reads rows as the database has them, whatever it changed before."""
    patch.method(BufferedRows, "fetch", lambda self, table, key: self._known(self._held(table), key))


@mutant("T1", "T2", on=BUFFERED)
def buffered_pages_miss_own_changes(patch: Patches) -> None:
    """A function scans rows as the database has them, whatever it changed before."""
    patch.method(BufferedRows, "fetch_range", lambda self, table, wanted: self._walk(self._held(table), wanted))


@mutant("T1", "T2", on=BUFFERED)
def buffered_counts_miss_own_changes(patch: Patches) -> None:
    """A function counts rows as the database has them, whatever it changed before."""
    patch.method(BufferedRows, "tally", lambda self, table, prefix, limit: self._base.tally(table, prefix, limit))


@mutant("R5", "T1", on=BUFFERED)
def buffered_pages_come_short(patch: Patches) -> None:
    """A page that rows were removed from is not filled up with those behind it."""
    walk = BufferedRows._walk

    def short(self: BufferedRows, held: Any, wanted: KeyRange) -> list[Row]:
        gone = sum(row is None for row in held.changed.values())
        return walk(self, held, wanted)[: max(1, wanted.limit - gone)]

    patch.method(BufferedRows, "_walk", short)


@mutant("W1", on=BUFFERED)
def buffered_new_rows_put_over_old_ones(patch: Patches) -> None:
    """A row that was taken for new is written over the one that was there."""
    net = buffered._net

    def blind(held: Any) -> Any:
        found = net(held)
        return replace(found, inserts=[], puts=[*found.inserts, *found.puts])

    patch.function(net, blind)


@mutant("W5", "W1", on=BUFFERED)
def buffered_guess_outlives_a_failure(patch: Patches) -> None:
    """A function fails because it was told that a row is new, and nobody looks whether that was so."""
    patch.method(BufferedRows, "verify", lambda self, mark: None)


@mutant("W1", on=BUFFERED)
def buffered_guess_is_repeated(patch: Patches) -> None:
    """A row that was wrongly taken for new is taken for new again."""
    patch.method(GroupRunner, "_assumes", lambda self, table: True)


@mutant("W1", "T2", on=BUFFERED)
def buffered_walk_is_taken_for_longer_than_it_was(patch: Patches) -> None:
    """A page that was cut off by its limit counts as a look at everything behind it."""
    learn = buffered._Held.learn

    def boast(self: Any, wanted: KeyRange, rows: list[Row]) -> None:
        learn(self, wanted, rows)
        self.spans[-1] = wanted.bounds(self.table)

    patch.method(buffered._Held, "learn", boast)


@mutant("W2", on=BUFFERED)
def buffered_version_not_compared(patch: Patches) -> None:
    """An update is accepted whatever version the row has."""

    def trusting(self: BufferedRows, table: AnyTable, key: Key, row: Row, _guard: Any) -> bool:
        if self.fetch(table, key) is None:
            return False
        self._set(self._held(table), key, row)
        return True

    patch.method(BufferedRows, "replace", trusting)


@mutant("W3", on=BUFFERED)
def buffered_guard_not_compared(patch: Patches) -> None:
    """A guarded delete removes the row whatever it is."""
    remove = BufferedRows.remove
    patch.method(BufferedRows, "remove", lambda self, table, key, _guard: remove(self, table, key, None))


@mutant("W3", on=BUFFERED)
def buffered_removals_not_sent(patch: Patches) -> None:
    """What is removed is removed in the buffer only."""
    net = buffered._net
    patch.function(net, lambda held: replace(net(held), removes=[]))


@mutant("T3", "W5", on=BUFFERED)
def buffered_fault_of_a_neighbour_handed_out(patch: Patches) -> None:
    """A function that the database has broken fails all of its group."""
    run = GroupRunner._run_together

    def failing(self: GroupRunner, jobs: Any) -> Any:
        spoiler = run(self, jobs)
        if spoiler is not None:
            for job in jobs:
                job.error = spoiler.error
        return None

    patch.method(GroupRunner, "_run_together", failing)
