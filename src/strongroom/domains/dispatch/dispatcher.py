"""Dispatchers: who claims runs and ends them. Several may share a workspace, also from several processes.

A claim is fenced by its token. With a lease it is a dispatcher's for that long, and another may take the run over under
a higher token; what the first one then still says is refused. Without one it never expires: the workspace's one
dispatcher says by `restart` that whatever was running is not any more. Each method is one transaction, or several that
are whole each, where many runs are concerned: a transaction of some engines holds 100 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from strongroom.domains.dispatch.contract import Bound, Update
from strongroom.domains.dispatch.faults import Conflict, Refused
from strongroom.domains.dispatch.journal import RUNNER, Concerns
from strongroom.domains.dispatch.occurrences import end_preparing
from strongroom.domains.dispatch.records import (
    OUTCOMES,
    REASON_BYTES,
    RUNNING,
    WORKSPACES,
    Outcome,
    Queued,
    Running,
    Submission,
)
from strongroom.domains.dispatch.texts import cut_bytes
from strongroom.domains.dispatch.transitions import (
    EXPIRED,
    LEFT_RUNNING,
    Ending,
    Interruption,
    check_claim,
    end_run,
    extend_lease,
    start_run,
    take_over_run,
)
from strongroom.domains.dispatch.words import EndState, JournalKind, RefusalCode, RunState
from strongroom.errors import InvalidArgument, ScopeMismatch

BITE: Final = 16
"""The most runs of one transaction: ending one writes five rows, and DynamoDB takes 100 at once."""
BITE_BYTES: Final = 512 * 1024
"""The most bytes of outcomes in one transaction: etcd takes 1.5 MiB at once."""
_EXPIRED: Final = Ending(state=EndState.FAILED, problem=EXPIRED)
_LEFT: Final = Ending(state=EndState.INTERRUPTED, problem=LEFT_RUNNING)


@dataclass(frozen=True, slots=True)
class Claim:
    """A run that a dispatcher holds: what it was asked to do, and the token under which it is held."""

    submission: Submission
    running: Running

    @property
    def run(self) -> str:
        """The run's id."""
        return self.running.run

    @property
    def input(self) -> str:
        """The run's input: canonical JSON."""
        return self.submission.input

    @property
    def token(self) -> int:
        """The fencing token: a later claim of the same run has a higher one."""
        return self.running.token


@dataclass(frozen=True, slots=True)
class Restarted:
    """What a restart found."""

    sequence: int
    """The place of its entry in the journal."""
    interrupted: list[str]
    """The runs that it ended, in the order of the queue."""
    occurrences: list[str]
    """The occurrences that were being prepared and have failed."""


class Dispatcher:
    """One dispatcher of a workspace. Threads may share it (C1).

    Arguments:
        holder: what its claims show of who made them, at most 255 bytes.
        lease_ms: for how many milliseconds a claim holds before others may take the run over; None for ever.
    """

    def __init__(self, bound: Bound, holder: str = "", lease_ms: int | None = None) -> None:
        check_claim(holder, lease_ms)
        self._bound = bound
        self.holder = holder
        self.lease_ms = lease_ms

    # Its life.

    def restart(self, version: str = "", runtime_digest: str = "") -> Restarted:
        """Say that a dispatcher starts, and end what an earlier one left behind.

        The first transaction writes ``runner.started``. Then every running run without a lease, or whose lease is
        over, ends as interrupted, in the order of the queue; nothing is run again. What stands under a live lease is
        another dispatcher's and stays, and so do runs that wait. Without a lease of its own, this is for the one
        dispatcher that has the workspace to itself; it also ends the occurrences that were being prepared. With one,
        nobody's runs are ended: `take_over` has those whose lease is over run again.

        If it is stopped half-way, another restart goes on. Raises `Refused` (``other_owner``) where the workspace
        belongs to somebody else.
        """

        def begin(update: Update) -> int:
            known = update.port.get(WORKSPACES, update.workspace)
            if known is not None and known.owner != self._bound.owner:
                raise Refused(RefusalCode.OTHER_OWNER, f"{WORKSPACES.show((update.workspace,))} has another owner")
            return update.moment.record(
                JournalKind.RUNNER_STARTED,
                RUNNER,
                Concerns(),
                detail={"version": version, "runtimeDigest": runtime_digest},
            )

        sequence = self._bound.update(begin)
        interrupted: list[str] = []
        occurrences: list[str] = []
        if self.lease_ms is None:
            while bite := self._bound.update(lambda update: self._interrupt(update, sequence)):
                interrupted += bite
            while ended := self._bound.update(lambda update: end_preparing(update, LEFT_RUNNING, BITE)):
                occurrences += ended
        return Restarted(sequence, interrupted, occurrences)

    def stop(self) -> int:
        """Say that the dispatcher stops, and answer the entry's place. A killed one says nothing."""
        return self._bound.update(lambda update: update.moment.record(JournalKind.RUNNER_STOPPED, RUNNER, Concerns()))

    # Its runs.

    def claim(self, limit: int = 1) -> list[Claim]:
        """Claim the runs that have waited longest, at most `limit` (1 to 16) of them; none if none waits.

        One transaction. Runs that expired before they were started end as failed instead. A run is claimed once,
        however many claim at the same time. Raises `Unreadable`, nothing claimed, where what a run was asked to do is
        not what was written.
        """
        self._check_bite(limit)
        while True:
            claims = self._bound.update(lambda update: self._claim(update, limit))
            if claims is not None:
                return claims

    def take_over(self, limit: int = 1) -> list[Claim]:
        """Claim running runs whose lease is over, at most `limit` (1 to 16) of them, each under a higher token.

        They are run again, so this is for work that may be. What their earlier dispatchers still say of them is
        refused. Raises `InvalidArgument` for a dispatcher without leases.
        """
        self._check_bite(limit)
        lease_ms = self._leased()

        def change(update: Update) -> list[Claim]:
            over = [one for one in update.running_runs() if one.until_ms and one.until_ms <= update.now][:limit]
            if not over:
                return update.abandon([])
            asked = [update.submission(one.run) for one in over]
            taken = [take_over_run(update.moment, one, self.holder, lease_ms) for one in over]
            return [Claim(*both) for both in zip(asked, taken, strict=True)]

        return self._bound.update(change)

    def renew(self, claim: Claim) -> Claim:
        """The claim with a lease from now on. `Conflict` if the run is not held under its token any more.

        Raises `InvalidArgument` for a dispatcher without leases.
        """
        lease_ms = self._leased()
        self._check_scope(claim)

        def change(update: Update) -> Claim:
            running = self._held(update.running_run(claim.running.number), claim)
            return Claim(claim.submission, extend_lease(update.moment, running, lease_ms))

        return self._bound.update(change)

    def finish(self, claim: Claim, ending: Ending) -> Outcome:
        """End a claimed run: its outcome, its line in the run chain if it completed, and its journal entry, at once.

        An interruption counts as one that was seen. A lease that is over does not matter as long as nobody took the
        run over. The same ending of the same claim again gives the outcome that is there, and writes nothing.

        Raises `Conflict`, nothing written, if the run is not held under this token any more; `Refused`
        (``record_line_required``) for a completion without exactly one record line; `Unreadable` where the chain's
        last line can't be followed: then the run goes on running; `ScopeMismatch` for another workspace's claim.
        """
        self._check_scope(claim)

        def change(update: Update) -> Outcome:
            outcome, written = self._finish(update, claim, ending)
            return outcome if written else update.abandon(outcome)

        return self._bound.update(change)

    def finish_many(self, endings: Sequence[tuple[Claim, Ending]]) -> list[Outcome | Conflict | Refused]:
        """End many claimed runs: for each its outcome, or why it was refused, in their order.

        As `finish`, of up to 16 runs and 512 KiB at a time, each time one transaction. One that is refused is in
        nobody's way. What else is raised ends the call: those before it are kept, and may be ended once more.
        """
        for claim, _ in endings:
            self._check_scope(claim)
        found: list[Outcome | Conflict | Refused] = []
        for bite in _bites(endings):

            def change(
                update: Update, bite: Sequence[tuple[Claim, Ending]] = bite
            ) -> list[Outcome | Conflict | Refused]:
                ended = [self._finished(update, claim, ending) for claim, ending in bite]
                answers = [answer for answer, _ in ended]
                return answers if any(written for _, written in ended) else update.abandon(answers)

            found += self._bound.update(change)
        return found

    def expire(self) -> list[str]:
        """End the runs that wait and have expired, as failed: their ids. `claim` does so for those that it meets."""
        expired: list[str] = []
        while True:

            def change(update: Update) -> list[str]:
                due = [one for one in update.queued_runs() if _is_expired(one, update.now)][:BITE]
                for one in due:
                    end_run(update.moment, one, _EXPIRED)
                return [one.run for one in due] if due else update.abandon([])

            bite = self._bound.update(change)
            expired += bite
            if len(bite) < BITE:
                return expired

    # How it is done.

    def _claim(self, update: Update, limit: int) -> list[Claim] | None:
        """What was claimed; None where all that was met had expired."""
        waiting = update.queued_runs(limit)
        if not waiting:
            return update.abandon([])
        live = [queued for queued in waiting if not _is_expired(queued, update.now)]
        # What they are to do is read first: nothing is claimed that can't be done.
        asked = [update.submission(queued.run) for queued in live]
        for queued in waiting:
            if queued not in live:
                end_run(update.moment, queued, _EXPIRED)
        claims = [
            Claim(submission, start_run(update.moment, queued, self.holder, self.lease_ms))
            for submission, queued in zip(asked, live, strict=True)
        ]
        return claims or None

    def _interrupt(self, update: Update, restart: int) -> list[str]:
        left = [
            running
            for running in update.running_runs()
            # One with a higher token was claimed behind this restart.
            if running.token < restart and running.until_ms <= update.now
        ][:BITE]
        for running in left:
            end_run(update.moment, running, _LEFT, Interruption(restart))
        return [running.run for running in left] if left else update.abandon([])

    def _finish(self, update: Update, claim: Claim, ending: Ending) -> tuple[Outcome, bool]:
        """The outcome, and whether it is new."""
        running = update.running_run(claim.running.number)
        if running is None:
            kept = update.port.get(OUTCOMES, update.workspace, claim.running.number)
            if kept is not None and (kept.run, kept.token) == (claim.run, claim.token) and _is_same(kept, ending):
                return kept, False
        held = self._held(running, claim)
        interruption = Interruption() if ending.state == EndState.INTERRUPTED else None
        return end_run(update.moment, held, ending, interruption), True

    def _finished(self, update: Update, claim: Claim, ending: Ending) -> tuple[Outcome | Conflict | Refused, bool]:
        try:
            return self._finish(update, claim, ending)
        except (Conflict, Refused) as refusal:
            return refusal, False  # it was refused before anything of it was written

    @staticmethod
    def _held(running: Running | None, claim: Claim) -> Running:
        """The run as it is held; `Conflict` unless that is under the claim's token."""
        if running is None or (running.run, running.token) != (claim.run, claim.token):
            raise Conflict(
                f"{claim.run} is not held under the token {claim.token} any more",
                expected=f"{RunState.RUNNING} under {claim.token}",
                found="ended" if running is None else f"{RunState.RUNNING} under {running.token}",
            )
        return running

    def _leased(self) -> int:
        if self.lease_ms is None:
            raise InvalidArgument("this dispatcher's claims have no leases")
        return self.lease_ms

    def _check_scope(self, claim: Claim) -> None:
        """Numbers and tokens are told apart within a workspace only."""
        if claim.running.workspace != self._bound.workspace:
            raise ScopeMismatch(f"{RUNNING.name}: a claim of another workspace")

    @staticmethod
    def _check_bite(limit: int) -> None:
        if type(limit) is not int or not 1 <= limit <= BITE:
            raise InvalidArgument(f"a transaction claims 1 to {BITE} runs")


def _is_expired(queued: Queued, now: int) -> bool:
    return 0 < queued.expires_at_ms <= now


def _is_same(outcome: Outcome, ending: Ending) -> bool:
    problem = None if ending.problem is None else cut_bytes(ending.problem, REASON_BYTES)
    kept = (outcome.state, outcome.problem, outcome.result, outcome.record, outcome.signatures, outcome.review)
    return kept == (ending.state, problem, ending.result, ending.record, ending.signatures, ending.review)


def _bites(endings: Sequence[tuple[Claim, Ending]]) -> Iterator[list[tuple[Claim, Ending]]]:
    bite: list[tuple[Claim, Ending]] = []
    size = 0
    for one in endings:
        more = len(one[1].record or b"") + 4 * len(one[1].result or "") + 4 * len(one[1].signatures or "")
        if bite and (len(bite) == BITE or size + more > BITE_BYTES):
            yield bite
            bite, size = [], 0
        bite.append(one)
        size += more
    if bite:
        yield bite
