"""The mutants of the contract that this domain is written after: seventeen, and two of its review."""

from __future__ import annotations

import functools
from typing import Any

import strongroom
from strongroom.conformance.mutants.patching import Patches
from strongroom.domains import dispatch
from strongroom.domains.dispatch import transitions
from strongroom.domains.dispatch.chain_store import ChainPage, ChainStore
from strongroom.domains.dispatch.contract import Bound, Reads, Update
from strongroom.domains.dispatch.dispatcher import Dispatcher
from strongroom.domains.dispatch.faults import READ_FAULTS, Taken
from strongroom.domains.dispatch.journal import Moment
from strongroom.domains.dispatch.port import WritePort
from strongroom.domains.dispatch.records import CHAIN_LINES, QUEUED, RUNNING
from strongroom.errors import AlreadyExists
from strongroom.records import Table
from tests.domains.dispatch import test_conformance as suite
from tests.domains.dispatch import test_dispatchers
from tests.domains.dispatch.mutants import caught_by
from tests.domains.dispatch.test_state_and_entry import (
    test_a_change_of_state_and_its_entry_are_never_parted as parted,
)

# 1, 3 and 14: the state that a change expects is not looked at


def _put_back(moment: Moment, queued: Any) -> None:
    """Have the run wait again, wherever it is: what a change that expects nothing amounts to."""
    if moment.port.get(QUEUED, moment.workspace, queued.number) is None:
        moment.port.delete(RUNNING, moment.workspace, queued.number)
        moment.port.insert(QUEUED, queued)


@caught_by(suite.test_a_run_that_was_read_as_queued_is_claimed_once)
def claim_expects_nothing(patch: Patches) -> None:
    def start(moment: Moment, queued: Any, holder: str, lease_ms: int | None) -> Any:
        _put_back(moment, queued)
        return original(moment, queued, holder, lease_ms)

    original = transitions.start_run
    patch.function(original, start)


@caught_by(suite.test_a_run_that_was_read_as_queued_is_claimed_once)
def end_expects_nothing(patch: Patches) -> None:
    def end(self: Update, place: Any, ending: Any, *, seen: bool = False) -> Any:
        _put_back(self.moment, place)
        return original(self, place, ending, seen=seen)

    original = Update.end_run
    patch.method(Update, "end_run", end)


@caught_by(test_dispatchers.test_a_dead_dispatcher_s_run_is_taken_over_and_its_late_finish_refused)
def live_leases_taken_over(patch: Patches) -> None:
    def take_over(self: Any, limit: int = 1) -> Any:
        def change(update: Update) -> Any:
            claims = []
            for running in update.running_runs(limit):
                over = running.replace(until_ms=1)
                transitions._replace(update.moment, running, over)
                taken = transitions.take_over_run(update.moment, over, self.holder, self.lease_ms)
                claims.append(dispatch.Claim(update.submission(running.run), taken))
            return claims

        return self._bound.update(change)

    patch.method(Dispatcher, "take_over", take_over)


@caught_by(suite.test_a_claim_is_ended_once_and_by_its_own_token_alone)
def finish_expects_no_token(patch: Patches) -> None:
    patch.method(Dispatcher, "_held", staticmethod(lambda running, claim: running or claim.running))


# 2 and 15: claims are not exclusive


@caught_by(suite.test_concurrent_claimers_are_granted_every_run_once_and_none_is_lost)
def queue_read_outside_the_transaction(patch: Patches) -> None:
    """What waits is read before the transaction, and taken from there whatever has become of it."""

    def claim(self: Any, limit: int = 1) -> Any:
        reads = self._bound.reads(self._bound.engine)
        waiting = reads.queued_runs(limit)

        def change(update: Update) -> Any:
            claims = []
            for queued in waiting:
                asked = update.submission(queued.run)
                _put_back(update.moment, queued)
                running = transitions.start_run(update.moment, queued, self.holder, None)
                claims.append(dispatch.Claim(asked, running))
            return claims or update.abandon([])

        return self._bound.update(change)

    patch.method(Dispatcher, "claim", claim)


# 4: create-once


@caught_by(suite.test_a_run_is_queued_once_under_its_id_and_once_under_its_request_key)
def request_key_not_held(patch: Patches) -> None:
    def insert(self: Any, table: Table[Any], record: Any) -> None:
        try:
            original(self, table, record)
        except AlreadyExists:
            if table.name != "dispatch_requests":
                raise

    original = WritePort.insert
    patch.method(WritePort, "insert", insert)


@caught_by(suite.test_a_release_is_created_once)
def second_release_passed_over_in_silence(patch: Patches) -> None:
    """As INSERT OR IGNORE does, which is the review's variant."""

    def insert(self: Any, table: Table[Any], record: Any) -> None:
        try:
            original(self, table, record)
        except AlreadyExists:
            return

    original = WritePort.insert
    patch.method(WritePort, "insert", insert)


# 5: what is taken is not called so


@caught_by(suite.test_a_release_is_created_once)
def taken_not_named(patch: Patches) -> None:
    def create(self: Update, release: Any) -> Any:
        try:
            return original(self, release)
        except Taken as fault:
            raise AlreadyExists(str(fault)) from fault

    original = Update.create_release
    patch.method(Update, "create_release", create)


# 6 and 7: a failed commit


@caught_by(suite.test_a_commit_that_fails_is_durability_and_never_a_success)
def failed_commit_ignored(patch: Patches) -> None:
    def update(self: Bound, change: Any) -> Any:
        kept: list[Any] = []

        def noted(inner: Update) -> Any:
            kept[:] = [change(inner)]
            return kept[0]

        try:
            return original(self, noted)
        except dispatch.Durability:
            return kept[0]

    original = Bound.update
    patch.method(Bound, "update", update)


@caught_by(suite.test_a_commit_that_fails_is_durability_and_never_a_success)
def failed_commit_not_named(patch: Patches) -> None:
    def update(self: Bound, change: Any) -> Any:
        return self.engine.write(lambda tx: change(Update(Moment(WritePort(tx), self.workspace, self.owner))))

    patch.method(Bound, "update", update)


# 8, 9 and the review's newest-first: orders


@caught_by(suite.test_the_queue_is_served_in_the_order_in_which_runs_were_queued)
def queue_by_id(patch: Patches) -> None:
    def by_id(self: Reads, limit: int = 10_000) -> Any:
        return sorted(original(self), key=lambda queued: queued.run)[:limit]

    original = Reads.queued_runs
    patch.method(Reads, "queued_runs", by_id)


@caught_by(suite.test_the_queue_is_served_in_the_order_in_which_runs_were_queued)
def running_by_id(patch: Patches) -> None:
    def by_id(self: Reads, limit: int = 10_000) -> Any:
        return sorted(original(self), key=lambda running: running.run)[:limit]

    original = Reads.running_runs
    patch.method(Reads, "running_runs", by_id)


@caught_by(suite.test_the_queue_is_served_in_the_order_in_which_runs_were_queued)
def queue_newest_first(patch: Patches) -> None:
    def newest(self: Reads, limit: int = 10_000) -> Any:
        return self.port.scan(QUEUED, self.workspace, limit=limit, reverse=True)

    patch.method(Reads, "queued_runs", newest)


# 10: the lock


@caught_by(suite.test_one_engine_holds_an_exclusive_store)
def exclusive_store_shared(patch: Patches) -> None:
    shared = strongroom.open
    patch.function(shared, lambda url, **options: shared(url.replace("?exclusive=1", ""), **options))


# 11 and 13: the order of the chain


@caught_by(suite.test_chain_entries_are_read_in_their_order_whatever_order_they_were_made_in)
def chain_read_in_the_order_of_its_lines(patch: Patches) -> None:
    def page(self: Any, *, after: int = 0, limit: int = 1000) -> ChainPage:
        rows = sorted(self._bound.engine.scan(CHAIN_LINES, limit=10_000), key=lambda row: row.line)
        rows = [row for row in rows if row.sequence > after][:limit]
        return ChainPage([row.line for row in rows], rows[-1].sequence if rows else after)

    patch.method(ChainStore, "page", page)


# 12: atomicity


@caught_by(suite.test_a_transaction_that_fails_keeps_nothing)
def transaction_kept_though_it_failed(patch: Patches) -> None:
    def update(self: Bound, change: Any) -> Any:
        raised: list[BaseException] = []

        def noted(inner: Update) -> Any:
            try:
                return change(inner)
            except BaseException as fault:
                raised[:] = [fault]

        result = original(self, noted)
        if raised:
            raise raised[0]
        return result

    original = Bound.update
    patch.method(Bound, "update", update)


# 16 and 17: absent and unreadable are not called so


@caught_by(suite.test_what_is_not_held_reads_absent)
def absent_not_named(patch: Patches) -> None:
    def held(table: Any, record: Any, key: str) -> Any:
        if record is None:
            raise KeyError(key)
        return record

    patch.method(Reads, "_held", staticmethod(held))


@caught_by(suite.test_a_record_that_is_not_what_was_written_is_unreadable)
def unreadable_not_named(patch: Patches) -> None:
    patch.method(type(READ_FAULTS), "__exit__", lambda self, kind, fault, trace: None)


@caught_by(suite.test_a_record_that_is_not_what_was_written_is_unreadable)
def run_claimed_before_it_was_read(patch: Patches) -> None:
    def claim(self: Any, update: Update, limit: int) -> Any:
        return [
            dispatch.Claim(None, transitions.start_run(update.moment, queued, "", None))  # type: ignore[arg-type]
            for queued in update.queued_runs(limit)
        ] or update.abandon([])

    patch.method(Dispatcher, "_claim", claim)


# The review's: journal outside the transaction, and a claim split from its entry


@caught_by(suite.test_a_transaction_that_fails_keeps_nothing)
def journal_written_outside_the_transaction(patch: Patches) -> None:
    """An entry is kept as soon as it is written, whatever becomes of its transaction: the memory kind of mutant."""
    record = Moment.record
    update = Bound.update
    kept: list[Any] = []

    def noted(self: Moment, *args: Any, **given: Any) -> int:
        kept.append((args, given))
        return record(self, *args, **given)

    def outside(self: Bound, change: Any) -> Any:
        kept.clear()
        try:
            return update(self, change)
        except strongroom.StrongroomError:
            raise
        except Exception:
            entries = list(kept)
            update(self, lambda inner: [record(inner.moment, *args, **given) for args, given in entries])
            raise

    patch.method(Moment, "record", noted)
    patch.method(Bound, "update", outside)


@caught_by(parted)
def claim_split_from_its_entry(patch: Patches) -> None:
    """The survivor of the review: the state in one transaction, its entry in the next."""
    claim = Dispatcher.claim
    record = Moment.record

    def split(self: Any, limit: int = 1) -> Any:
        later: list[Any] = []

        def put_off(moment: Moment, *args: Any, **given: Any) -> int:
            later.append((args, given))
            moment._head = (moment._head or 0) + 1
            return moment._head

        with Patches() as inner:
            inner.method(Moment, "record", put_off)
            claims = claim(self, limit)
        for args, given in later:
            self._bound.update(lambda update: record(update.moment, *args, **given))  # noqa: B023
        return claims

    patch.method(Dispatcher, "claim", split)


@caught_by(functools.partial(parted, name="complete"))
def entry_of_an_end_left_out(patch: Patches) -> None:
    record = Moment.record

    def left_out(self: Moment, kind: Any, *args: Any, **given: Any) -> int:
        return 0 if kind is dispatch.JournalKind.RUN_COMPLETED else record(self, kind, *args, **given)

    patch.method(Moment, "record", left_out)
