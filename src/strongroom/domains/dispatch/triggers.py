"""Triggers: what outside asks for runs of a job. Every configuration that one ever had is kept.

A trigger's key is shown once, when it is made; what is kept is its digest.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from strongroom.domains.dispatch.contract import Bound, Update
from strongroom.domains.dispatch.faults import Absent
from strongroom.domains.dispatch.journal import Concerns
from strongroom.domains.dispatch.port import ReadPort
from strongroom.domains.dispatch.texts import canonical_json, new_id
from strongroom.domains.dispatch.trigger_records import TRIGGER_REVISIONS, TRIGGERS, Trigger, TriggerRevision
from strongroom.domains.dispatch.words import JournalKind, TriggerState
from strongroom.patterns import digest
from strongroom.records import MAX_LIMIT


@dataclass(frozen=True, slots=True)
class NewKey:
    """A trigger's new key, which is shown here and nowhere else."""

    trigger: Trigger
    key: str

    def __repr__(self) -> str:
        return f"<new key of {self.trigger.id}>"


def find_trigger(port: ReadPort, workspace: str, trigger_id: str) -> Trigger:
    """The trigger; `Absent` if there is none."""
    trigger = port.get(TRIGGERS, workspace, trigger_id)
    if trigger is None:
        raise Absent(f"nothing is stored as {TRIGGERS.show((workspace, trigger_id))}")
    return trigger


class TriggerStore:
    """The triggers of one workspace. Each change is one transaction with its journal entry; a repeat writes nothing."""

    def __init__(self, bound: Bound) -> None:
        self._bound = bound

    def create(self, job_id: str, kind: str, config: str = "{}") -> Trigger:
        """A new trigger for a job, active, at revision 1; the journal's entry is ``trigger.configured``.

        Raises `Absent` for a job that is not held, `InvalidArgument` for a kind that is empty or has more than 255
        bytes, and for a configuration that is not one JSON value.
        """
        config = canonical_json(config)
        trigger_id = new_id("trg_")

        def change(update: Update) -> Trigger:
            job = update.job(job_id)
            trigger = Trigger(
                update.workspace, trigger_id, job.id, kind, TriggerState.ACTIVE, 1, config, "", 0, version=1
            )
            update.moment.port.insert(TRIGGERS, trigger)
            self._configured(update, trigger, "")
            return trigger

        return self._bound.update(change)

    def configure(self, trigger_id: str, config: str) -> Trigger:
        """Give the trigger another configuration, which is its next revision; the one that it has writes nothing.

        Raises `Absent`, and `InvalidArgument` for a configuration that is not one JSON value.
        """
        config = canonical_json(config)

        def change(update: Update) -> Trigger:
            trigger = find_trigger(update.port, update.workspace, trigger_id)
            if trigger.config == config:
                return update.abandon(trigger)
            changed = _update(update, trigger, config=config, revision=trigger.revision + 1)
            self._configured(update, changed, changed.state)
            return changed

        return self._bound.update(change)

    def pause(self, trigger_id: str, reason: str = "") -> Trigger:
        """Let nothing come through any more; nothing is written if it is paused. Raises `Absent`."""
        return self._set_state(trigger_id, TriggerState.PAUSED, JournalKind.TRIGGER_PAUSED, reason)

    def resume(self, trigger_id: str, reason: str = "") -> Trigger:
        """Let what happens come through again; nothing is written if it does. Raises `Absent`."""
        return self._set_state(trigger_id, TriggerState.ACTIVE, JournalKind.TRIGGER_RESUMED, reason)

    def rotate_key(self, trigger_id: str) -> NewKey:
        """Make the trigger's next key; the one before is good no more. Raises `Absent`."""
        key = secrets.token_urlsafe(32)

        def change(update: Update) -> NewKey:
            trigger = find_trigger(update.port, update.workspace, trigger_id)
            changed = _update(update, trigger, key_digest=digest(key.encode()), key_revision=trigger.key_revision + 1)
            update.moment.record(
                JournalKind.TRIGGER_KEY_ROTATED,
                update.installation,
                Concerns(job=trigger.job, trigger=trigger.id),
                revision=trigger.revision,
                detail={"keyRevision": changed.key_revision},
            )
            return NewKey(changed, key)

        return self._bound.update(change)

    def check_key(self, trigger_id: str, key: str) -> bool:
        """Whether this is the trigger's key; False where it has none. Raises `Absent`."""
        trigger = self.get(trigger_id)
        given = digest(key.encode(errors="surrogatepass"))
        return bool(trigger.key_digest) and hmac.compare_digest(trigger.key_digest, given)

    def get(self, trigger_id: str) -> Trigger:
        """The trigger as it is configured now; `Absent` if there is none."""
        reads = self._bound.reads(self._bound.engine)
        return find_trigger(reads.port, reads.workspace, trigger_id)

    def revisions(self, trigger_id: str, *, limit: int = MAX_LIMIT) -> list[TriggerRevision]:
        """The configurations that it ever had, oldest first, at most `limit` (1 to 10,000) of them."""
        reads = self._bound.reads(self._bound.engine)
        return reads.port.scan(TRIGGER_REVISIONS, reads.workspace, trigger_id, limit=limit)

    def list(self, *, after: str = "", limit: int = MAX_LIMIT) -> list[Trigger]:
        """The triggers by their ids, at most `limit` (1 to 10,000) of those behind the id `after`."""
        reads = self._bound.reads(self._bound.engine)
        return reads.port.scan(TRIGGERS, reads.workspace, after=(after,) if after else None, limit=limit)

    def _set_state(self, trigger_id: str, state: TriggerState, kind: JournalKind, reason: str) -> Trigger:
        def change(update: Update) -> Trigger:
            trigger = find_trigger(update.port, update.workspace, trigger_id)
            if trigger.state is state:
                return update.abandon(trigger)
            changed = _update(update, trigger, state=state)
            update.moment.record(
                kind,
                update.installation,
                Concerns(job=trigger.job, trigger=trigger.id),
                revision=trigger.revision,
                states=(trigger.state, state),
                reason=reason,
            )
            return changed

        return self._bound.update(change)

    @staticmethod
    def _configured(update: Update, trigger: Trigger, before: str) -> None:
        update.moment.port.insert(
            TRIGGER_REVISIONS,
            TriggerRevision(update.workspace, trigger.id, trigger.revision, trigger.config, update.now),
        )
        update.moment.record(
            JournalKind.TRIGGER_CONFIGURED,
            update.installation,
            Concerns(job=trigger.job, trigger=trigger.id),
            revision=trigger.revision,
            states=(before, trigger.state),
        )


def _update(update: Update, trigger: Trigger, **changes: object) -> Trigger:
    changed = trigger.replace(**changes, version=trigger.version + 1)
    update.moment.port.update(TRIGGERS, changed, expect=trigger.version)
    return changed
