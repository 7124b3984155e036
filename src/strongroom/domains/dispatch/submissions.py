"""Submissions: asking for a run, once for each request key, and the journal of what was refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from strongroom.domains.dispatch.contract import Bound, Update
from strongroom.domains.dispatch.faults import Conflict, Refused, RequestConflict, Taken
from strongroom.domains.dispatch.journal import RUNNER, Actor, Concerns
from strongroom.domains.dispatch.occurrences import find_occurrence, move_occurrence, trigger_actor
from strongroom.domains.dispatch.records import REFUSALS, REQUESTS, SUBMISSIONS, Job, RefusalMark, Release
from strongroom.domains.dispatch.texts import canonical_json, new_id
from strongroom.domains.dispatch.transitions import Asked, queue_run, submission_of
from strongroom.domains.dispatch.triggers import find_trigger
from strongroom.domains.dispatch.words import JournalKind, OccurrenceState, RefusalCode
from strongroom.errors import InvalidArgument
from strongroom.patterns import Idempotency
from strongroom.patterns import digest as digest_of
from strongroom.records import MAX_LIMIT

QUEUE_LIMIT: Final = 100
"""How many runs may wait or run at once, unless a workspace is opened with another limit."""
TRIGGER_CALLER: Final = "trigger:"
"""What a trigger's name as a caller begins with; no other caller's does."""
REPEATED_MS: Final = 60_000
"""For how long a refusal that is the same as one before is not written to the journal again."""

_requests: Final = Idempotency(REQUESTS, conflict=RequestConflict)


@dataclass(frozen=True, slots=True)
class Submitted:
    """A run that was asked for, and whether it had been before."""

    run: str
    """Its id."""
    replayed: bool


class Submissions:
    """How runs of one workspace are asked for.

    Arguments:
        queue_limit: how many runs may wait or run at once, 1 to 10,000. Each submission counts them.
    """

    def __init__(self, bound: Bound, queue_limit: int = QUEUE_LIMIT) -> None:
        if type(queue_limit) is not int or not 1 <= queue_limit <= MAX_LIMIT:
            raise InvalidArgument(f"the limit of a queue is an integer from 1 to {MAX_LIMIT}")
        self._bound = bound
        self._limit = queue_limit

    def submit(
        self,
        job_id: str,
        key: str,
        input: str,
        *,
        caller: str | None = None,
        requested_by: str = "",
        digest: str | None = None,
        accept: Callable[[Job, Release], object] | None = None,
    ) -> Submitted:
        """See `Workspace.submit`."""
        text = canonical_json(input)
        asked_by = self._bound.owner if caller is None else caller
        if asked_by.startswith(TRIGGER_CALLER):
            raise InvalidArgument(f"{REQUESTS.name}.caller: only triggers' names begin with {TRIGGER_CALLER}")
        SUBMISSIONS.check_value("input", text)
        wanted = digest_of(text.encode()) if digest is None else digest
        run_id = new_id("run_")

        def change(update: Update) -> Submitted:
            job = update.job(job_id)
            asked = Asked(job, asked_by, key, wanted, text, requested_by)
            return self._submit(update, run_id, asked, update.installation, accept)

        return self._bound.update(change)

    def submit_occurrence(self, occurrence_id: str, input: str) -> Submitted:
        """See `Workspace.submit_occurrence`."""
        text = canonical_json(input)
        SUBMISSIONS.check_value("input", text)
        run_id = new_id("run_")

        def change(update: Update) -> Submitted:
            occurrence = find_occurrence(update.port, update.workspace, occurrence_id)
            if occurrence.state not in (OccurrenceState.READY, OccurrenceState.SUBMITTED):
                raise Conflict(
                    f"{occurrence.id} is {occurrence.state}",
                    expected=OccurrenceState.READY,
                    found=occurrence.state,
                )
            trigger = find_trigger(update.port, update.workspace, occurrence.trigger)
            by = trigger_actor(trigger)
            asked = Asked(
                update.job(occurrence.job),
                TRIGGER_CALLER + trigger.id,
                occurrence.identity,
                digest_of(text.encode()),
                text,
                occurrence=occurrence.id,
                trigger=trigger.id,
                trigger_revision=occurrence.trigger_revision,
                trigger_kind=trigger.kind,
                expires_at_ms=occurrence.expires_at_ms,
            )
            submitted = self._submit(update, run_id, asked, by, None)
            if not submitted.replayed:
                move_occurrence(update, occurrence, OccurrenceState.SUBMITTED, by, run=submitted.run)
            return submitted

        return self._bound.update(change)

    def record_refusal(
        self,
        request: str,
        code: str,
        *,
        status: int,
        reason: str = "",
        concerns: Concerns | None = None,
        by: Actor = RUNNER,
    ) -> int | None:
        """See `Workspace.record_refusal`."""
        about = concerns or Concerns()
        same = (request, code, reason, about.job, about.release, about.trigger, about.occurrence, about.run)
        fingerprint = digest_of("\0".join(same).encode(errors="surrogatepass"))

        def change(update: Update) -> int | None:
            mark = update.port.get(REFUSALS, update.workspace, fingerprint)
            if mark is not None and update.now - mark.at_ms < REPEATED_MS:
                return update.abandon(None)
            update.moment.port.put(REFUSALS, RefusalMark(update.workspace, fingerprint, update.now))
            detail: dict[str, Any] = {"code": code, "request": request, "status": status}
            return update.moment.record(JournalKind.ADMISSION_REFUSED, by, about, reason=reason, detail=detail)

        return self._bound.update(change)

    def _submit(
        self,
        update: Update,
        run_id: str,
        asked: Asked,
        by: Actor,
        accept: Callable[[Job, Release], object] | None,
    ) -> Submitted:
        full = update.active_runs(self._limit) >= self._limit
        if full or accept is not None:
            # A retry is answered whatever has become of the queue, or would be refused, meanwhile.
            known = self._replayed(update, asked)
            if known is not None:
                return known
            if full:
                raise Refused(RefusalCode.QUEUE_FULL, f"{self._limit} runs wait or are running")
            if accept is not None:
                accept(asked.job, update.release(asked.job.release))
        try:
            queue_run(update.moment, asked, submission_of(update.moment, run_id, asked), by)
        except Taken:
            known = self._replayed(update, asked)
            if known is None:
                raise
            return known
        return Submitted(run_id, False)

    def _replayed(self, update: Update, asked: Asked) -> Submitted | None:
        """What the request was answered before; None for a new one. `RequestConflict` for another under its key."""
        known = _requests.find(
            update.port, update.workspace, asked.job.id, asked.caller, asked.key, digest=asked.digest
        )
        return None if known is None else update.abandon(Submitted(known.run, True))
