"""The change store: which requests of a queue have claimed which changes.

One record for each change and request, each written by itself: who has several changes to claim goes through them,
and after a failure through all of them again. Nothing is ever deleted; whether a claim still matters is for its
owner's state to say, which is not kept here.
"""

from __future__ import annotations

from typing import Final

from strongroom.domains.changes.faults import FAULTS, VersionMismatch
from strongroom.domains.changes.records import CHANGES, NO_METADATA, SCHEMA, ChangeRecord
from strongroom.engine import Engine, Strength
from strongroom.errors import AlreadyExists, InvalidArgument
from strongroom.patterns import ScopedTable, Subject

SUBJECT: Final = Subject(SCHEMA)
"""What must hold in a store of this domain, for the operator's tools."""


class ChangeStore:
    """The claims of one queue; no other queue's can be seen or made through it (S1, S2).

    Identifiers have 1 to 255 bytes and are compared byte for byte. Making a store asks the engine nothing, and a
    queue needs no registration; `InvalidArgument` for a queue name that is empty or too long (S3).
    """

    def __init__(self, engine: Engine, queue: str) -> None:
        self._claims = ScopedTable(engine, CHANGES, (queue,), FAULTS)
        self.engine = engine
        self.queue = queue

    def __repr__(self) -> str:
        return f"<change store of {self.queue!r} in {self.engine!r}>"

    def create(self, claim: ChangeRecord) -> bool:
        """Keep a claim, or find that the request has made it before: whether it is new.

        The first write wins, whatever the repeat says of metadata, times or version. Empty metadata are kept as
        ``{}``, an `updated_at` of 0 as `created_at`; everything else is kept as it is.

        Raises, before the engine is asked, `ScopeMismatch` for another queue's claim (S2), and `InvalidArgument` for
        an identifier out of range, metadata that are not the text of one JSON value, and an `updated_at` that is
        not `created_at`.
        """
        CHANGES.check_type(claim)
        if claim.updated_at not in (0, claim.created_at):
            raise InvalidArgument(f"{CHANGES.name}.updated_at: expected created_at, in a claim that is new")
        new = claim.replace(metadata=_metadata(claim.metadata), updated_at=claim.created_at)
        try:
            self._claims.insert(new)
        except AlreadyExists:
            return False
        return True

    def get(self, uri: str, request_id: str) -> ChangeRecord:
        """The request's claim on the change; `NotFound` if it has none."""
        return self._claims.get(uri, request_id)

    def get_by_uri(self, uri: str) -> list[ChangeRecord]:
        """Every claim on the change that was ever made in the queue, bytewise by request id; empty if there is none.

        Nobody's is left out, neither the caller's own nor those whose owners have long ended. The list is read in
        pages, not as one snapshot: a claim that is made meanwhile may be missing, one that was made before is not.
        """
        return list(self._claims.walk(uri))

    def update_metadata(
        self,
        uri: str,
        request_id: str,
        metadata: str,
        old_version: int,
        new_version: int,
        *,
        updated_at: int | None = None,
    ) -> ChangeRecord:
        """Put new metadata on a claim if its version is `old_version`, and return the claim as it is now (W2).

        The version becomes exactly `new_version`; `updated_at` (Unix milliseconds) is by default the engine's clock,
        or the last update's time where that is later. Empty metadata are kept as ``{}``. The claim is read first,
        for what an update leaves alone, and that never changes; then comes one conditional write.

        Raises `VersionMismatch` (retryable), nothing written, for another version and for no claim at all;
        `InvalidArgument`, before the engine is asked, for a key, metadata, version or time out of range, and after
        the read for a time before `created_at`.
        """
        metadata = _metadata(metadata)
        for name, value in (
            ("metadata", metadata),
            ("version", old_version),
            ("version", new_version),
            ("updated_at", 0 if updated_at is None else updated_at),
        ):
            CHANGES.check_value(name, value)
        claim = self._claims.find(uri, request_id)
        if claim is None or claim.version != old_version:
            key = (self.queue, uri, request_id)
            raise VersionMismatch(f"{CHANGES.show(key)} is not as expected, or not there")
        if updated_at is None:
            updated_at = max(self.engine.now(), claim.updated_at)
        changed = claim.replace(metadata=metadata, updated_at=updated_at, version=new_version)
        self._claims.update(changed, expect=old_version)
        return changed


class Changes:
    """The changes domain in an engine, and the way to each queue's claims."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def for_queue(self, queue: str) -> ChangeStore:
        """The claims of one queue, whose name has 1 to 255 bytes; `InvalidArgument` for another (S3)."""
        return ChangeStore(self.engine, queue)


def open(engine: Engine) -> Changes:
    """The changes domain on an open engine, its table made or brought up to date. Closing the engine is the caller's.

    Single-record transactions are all that it needs (T7). Raises as `Engine.prepare`.
    """
    engine.require(Strength.SINGLE_RECORD, "changes")
    engine.prepare(SCHEMA)
    return Changes(engine)


def _metadata(text: str) -> str:
    return NO_METADATA if text == "" else text
