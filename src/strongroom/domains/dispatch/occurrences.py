"""Occurrences: what triggers heard of, each received once, and its way to a run or to an end without one."""

from __future__ import annotations

from dataclasses import dataclass

from strongroom.domains.dispatch.contract import Bound, Reads, Update
from strongroom.domains.dispatch.faults import Absent, Conflict, Refused
from strongroom.domains.dispatch.journal import EXAMINED, PAGE, RUNNER, Actor, Concerns
from strongroom.domains.dispatch.listings import Listing, check_page, one_of, walk
from strongroom.domains.dispatch.port import ReadPort
from strongroom.domains.dispatch.records import REASON_BYTES
from strongroom.domains.dispatch.texts import cut_bytes, new_id
from strongroom.domains.dispatch.trigger_records import (
    OCCURRENCE_IDENTITIES,
    OCCURRENCE_PLACES,
    OCCURRENCES,
    PREPARING,
    Occurrence,
    OccurrenceIdentity,
    OccurrencePlace,
    Preparing,
    Trigger,
)
from strongroom.domains.dispatch.triggers import find_trigger
from strongroom.domains.dispatch.words import ActorKind, JournalKind, OccurrenceState, RefusalCode, TriggerState
from strongroom.patterns import OrderedMapping

ARRIVALS = OrderedMapping(
    OCCURRENCE_PLACES,
    OCCURRENCES,
    locate=lambda place: (place.workspace, place.occurrence),
    agrees=lambda place, occurrence: (place.trigger, place.number) == (occurrence.trigger, occurrence.number),
)
"""A trigger's occurrences in the order of their arrival."""
IDENTITIES = OrderedMapping(
    OCCURRENCE_IDENTITIES,
    OCCURRENCES,
    locate=lambda entry: (entry.workspace, entry.occurrence),
    agrees=lambda entry, occurrence: (entry.trigger, entry.identity) == (occurrence.trigger, occurrence.identity),
)
"""What a trigger's identities stand for."""


@dataclass(frozen=True, slots=True)
class Received:
    """An occurrence, and whether it had been received before."""

    occurrence: Occurrence
    replayed: bool


class OccurrenceStore:
    """The occurrences of one workspace's triggers. Each change is one transaction with its journal entry."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def receive(self, trigger_id: str, identity: str, *, expires_at_ms: int = 0, by: Actor | None = None) -> Received:
        """Take in what a trigger heard of, once for each identity (at most 255 bytes).

        It is ``received``, or ``skipped`` where the trigger is paused. The same identity again gives the occurrence
        that is there, and writes nothing. `by` is by default the trigger at its revision; one that came with the
        trigger's key is by its credential. Raises `Absent` for a trigger that is not held, `InvalidArgument`.
        """
        occurrence_id = new_id("occ_")

        def change(update: Update) -> Received:
            port = update.moment.port
            trigger = find_trigger(port, update.workspace, trigger_id)
            known = port.get(OCCURRENCE_IDENTITIES, update.workspace, trigger_id, identity)
            if known is not None:
                return update.abandon(Received(find_occurrence(port, update.workspace, known.occurrence), True))
            paused = trigger.state is TriggerState.PAUSED
            occurrence = Occurrence(
                update.workspace,
                occurrence_id,
                update.moment.next_sequence,
                trigger.id,
                identity,
                trigger.revision,
                trigger.job,
                OccurrenceState.SKIPPED if paused else OccurrenceState.RECEIVED,
                update.now,
                update.now,
                expires_at_ms,
                reason="the trigger is paused" if paused else "",
            )
            port.insert(OCCURRENCES, occurrence)
            port.insert(
                OCCURRENCE_IDENTITIES, OccurrenceIdentity(update.workspace, trigger.id, identity, occurrence.id)
            )
            port.insert(
                OCCURRENCE_PLACES,
                OccurrencePlace(update.workspace, trigger.id, occurrence.number, occurrence.id),
            )
            _record(update, occurrence, "", by or trigger_actor(trigger))
            return Received(occurrence, False)

        return self._bound.update(change)

    def move(
        self,
        occurrence_id: str,
        to: OccurrenceState,
        *,
        expect: OccurrenceState,
        reason: str = "",
        by: Actor = RUNNER,
    ) -> Occurrence:
        """Bring an occurrence from the state `expect` into another.

        Only what `OccurrenceState.next_states` allows; that one is submitted is for `Workspace.submit_occurrence` to
        say. A reason of more than 1,024 bytes is cut. Raises, nothing written, `Absent`; `Conflict` in another state
        than the expected one; `Refused` (``illegal_transition``).
        """

        def change(update: Update) -> Occurrence:
            occurrence = find_occurrence(update.port, update.workspace, occurrence_id)
            if occurrence.state is not expect:
                raise Conflict(f"{occurrence.id} is {occurrence.state}", expected=expect, found=occurrence.state)
            if to is OccurrenceState.SUBMITTED:
                raise Refused(RefusalCode.ILLEGAL_TRANSITION, f"{occurrence.id} is submitted with its run")
            return move_occurrence(update, occurrence, to, by, reason=reason)

        return self._bound.update(change)

    def get(self, occurrence_id: str) -> Occurrence:
        """The occurrence as it stands; `Absent` if there is none."""
        reads = self._bound.reads(self._bound.engine)
        return find_occurrence(reads.port, reads.workspace, occurrence_id)

    def list(
        self, trigger_id: str, *, state: OccurrenceState | None = None, after: int = 0, limit: int = PAGE
    ) -> Listing[Occurrence]:
        """Some occurrences of a trigger, newest first; cursor and limit are those of `RunStore.list`."""
        check_page(after, limit)
        wanted = one_of(OccurrenceState, state)

        def read(reads: Reads) -> Listing[Occurrence]:
            def chunk(before: int, size: int) -> list[Occurrence]:
                stop = (before,) if before else None
                places = reads.port.scan(
                    OCCURRENCE_PLACES, reads.workspace, trigger_id, stop=stop, limit=size, reverse=True
                )
                return ARRIVALS.records(reads.port, places)

            return walk(
                chunk,
                lambda occurrence: occurrence.number,
                lambda occurrence: wanted is None or occurrence.state is wanted,
                after=after,
                limit=limit,
                most=EXAMINED,
            )

        return self._bound.read(read)


def find_occurrence(port: ReadPort, workspace: str, occurrence_id: str) -> Occurrence:
    """The occurrence; `Absent` if there is none."""
    occurrence = port.get(OCCURRENCES, workspace, occurrence_id)
    if occurrence is None:
        raise Absent(f"nothing is stored as {OCCURRENCES.show((workspace, occurrence_id))}")
    return occurrence


def move_occurrence(
    update: Update, occurrence: Occurrence, to: OccurrenceState, by: Actor, *, reason: str = "", run: str = ""
) -> Occurrence:
    """Bring an occurrence, which was read in this transaction, into another state: the record and its journal entry.

    Raises `Refused` (``illegal_transition``), nothing written, for a state that does not follow.
    """
    if to not in occurrence.state.next_states:
        raise Refused(
            RefusalCode.ILLEGAL_TRANSITION, f"{occurrence.id} is {occurrence.state}, which {to} does not follow"
        )
    port = update.moment.port
    moved = occurrence.replace(
        state=to,
        changed_at_ms=update.now,
        run=run,
        reason=cut_bytes(reason, REASON_BYTES),
        version=occurrence.version + 1,
    )
    port.update(OCCURRENCES, moved, expect=occurrence.version)
    if occurrence.state is OccurrenceState.PREPARING:
        port.delete(PREPARING, update.workspace, occurrence.id)
    if to is OccurrenceState.PREPARING:
        port.insert(PREPARING, Preparing(update.workspace, occurrence.id))
    _record(update, moved, occurrence.state, by, reason)
    return moved


def end_preparing(update: Update, reason: str, limit: int) -> list[str]:
    """Have occurrences that are being prepared fail, at most `limit` of them: their ids."""
    left = update.port.scan(PREPARING, update.workspace, limit=limit)
    for entry in left:
        occurrence = find_occurrence(update.port, update.workspace, entry.occurrence)
        move_occurrence(update, occurrence, OccurrenceState.FAILED, RUNNER, reason=reason)
    return [entry.occurrence for entry in left] if left else update.abandon([])


def trigger_actor(trigger: Trigger) -> Actor:
    """The trigger at its revision, as an actor."""
    return Actor(ActorKind.TRIGGER, trigger.id, trigger.revision)


def credential_actor(trigger: Trigger) -> Actor:
    """Whoever has the trigger's key, as an actor."""
    return Actor(ActorKind.TRIGGER_CREDENTIAL, trigger.id, trigger.key_revision or None)


def _record(update: Update, occurrence: Occurrence, before: str, by: Actor, reason: str = "") -> None:
    update.moment.record(
        JournalKind(f"occurrence.{occurrence.state}"),
        by,
        Concerns(occurrence.job, "", occurrence.trigger, occurrence.id, occurrence.run),
        revision=occurrence.trigger_revision,
        states=(before, occurrence.state),
        reason=reason or occurrence.reason,
    )
