"""The mutants that are ours: fencing, exact lines, digests of requests, and the limit of the queue."""

from __future__ import annotations

from typing import Any

from strongroom.conformance.mutants.patching import Patches
from strongroom.domains import dispatch
from strongroom.domains.dispatch import dispatcher, transitions
from strongroom.domains.dispatch.contract import Reads, Update
from strongroom.domains.dispatch.dispatcher import Dispatcher
from strongroom.domains.dispatch.journal import Moment
from strongroom.domains.dispatch.records import QUEUED
from strongroom.patterns import Idempotency
from tests.domains.dispatch import test_conformance as suite
from tests.domains.dispatch import test_dispatchers, test_submissions
from tests.domains.dispatch.mutants import caught_by


@caught_by(suite.test_a_completion_without_its_one_record_line_is_not_recorded)
def record_line_not_looked_at(patch: Patches) -> None:
    patch.function(dispatch.is_record_line, lambda record: True)


@caught_by(suite.test_the_chain_has_one_entry_for_each_completed_run_in_the_order_of_completion)
def failed_runs_chained(patch: Patches) -> None:
    append = transitions._append_entry

    def end(moment: Moment, place: Any, ending: Any, interruption: Any = None) -> Any:
        if ending.state is dispatch.EndState.FAILED:
            append(moment, place.run, b"failed")
        return original(moment, place, ending, interruption)

    original = transitions.end_run
    patch.function(original, end)


@caught_by(suite.test_a_claim_is_one_dispatcher_s_whatever_the_clock_does)
def lease_shortened_by_a_clock_that_steps_back(patch: Patches) -> None:
    def extend(moment: Moment, running: Any, lease_ms: int) -> Any:
        extended = running.replace(until_ms=moment.now + lease_ms)
        transitions._replace(moment, running, extended)
        return extended

    patch.function(transitions.extend_lease, extend)


@caught_by(test_dispatchers.test_a_dead_dispatcher_s_run_is_taken_over_and_its_late_finish_refused)
def token_kept_when_a_run_is_taken_over(patch: Patches) -> None:
    def take(moment: Moment, running: Any, holder: str, lease_ms: int) -> Any:
        taken = original(moment, running, holder, lease_ms)
        same = taken.replace(token=running.token)
        transitions._replace(moment, taken, same)
        return same

    original = transitions.take_over_run
    patch.function(original, take)


@caught_by(test_dispatchers.test_a_restart_leaves_live_leases_alone)
def live_leases_interrupted(patch: Patches) -> None:
    def interrupt(self: Any, update: Update, restart: int) -> Any:
        left = [running for running in update.running_runs() if running.token < restart]
        for running in left:
            transitions.end_run(update.moment, running, dispatcher._LEFT, transitions.Interruption(restart))
        return [running.run for running in left] if left else update.abandon([])

    patch.method(Dispatcher, "_interrupt", interrupt)


@caught_by(suite.test_a_replay_is_answered_and_written_once)
def digest_not_compared(patch: Patches) -> None:
    def find(self: Any, reader: Any, *key: Any, digest: str) -> Any:
        return reader.get(self.table, *key)

    patch.method(Idempotency, "find", find)


@caught_by(test_submissions.test_a_full_queue_refuses_new_requests_and_answers_old_ones)
def queue_without_a_limit(patch: Patches) -> None:
    patch.method(Reads, "active_runs", lambda self, limit=10_000: 0)


@caught_by(test_submissions.test_a_full_queue_refuses_new_requests_and_answers_old_ones)
def running_runs_not_counted(patch: Patches) -> None:
    patch.method(Reads, "active_runs", lambda self, limit=10_000: self.port.count(QUEUED, self.workspace, limit=limit))
