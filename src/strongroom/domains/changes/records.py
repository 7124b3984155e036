"""The record of the changes domain: one request's claim on one change of one queue, and the table that keeps it."""

from __future__ import annotations

from typing import Annotated, Final

from strongroom.records import VERSIONED, Identifier, Integer, Json, Millis, Record, Schema, Table

NO_METADATA: Final = "{}"
"""The JSON text of a claim that nothing more is known of yet."""


class ChangeRecord(Record):
    """A claim: the request `request_id` is about to land the change `uri` in the queue `queue`.

    These three identify it and never change. Claims of several requests on one change stand beside each other, and
    none is ever removed.
    """

    queue: Annotated[str, Identifier(255)]
    uri: Annotated[str, Identifier(255)]
    request_id: Annotated[str, Identifier(255)]
    created_at: Annotated[int, Millis()]
    """Unix milliseconds, as the caller has them."""
    metadata: Annotated[str, Json()] = NO_METADATA
    """The exact text of one JSON value, at most 65,535 bytes."""
    updated_at: Annotated[int, Millis()] = 0
    """Equal to `created_at` until the first update. 0, in a claim that is about to be created, stands for that."""
    version: Annotated[int, Integer(1, 2**31 - 1)] = 1


def _rule(claim: ChangeRecord) -> str | None:
    return "updated_at is before created_at" if claim.updated_at < claim.created_at else None


CHANGES: Final = Table(
    "changes",
    ChangeRecord,
    key=("queue", "uri", "request_id"),
    scope=1,
    changes=VERSIONED("version"),
    rule=_rule,
)

SCHEMA: Final = Schema("changes", CHANGES)
"""All tables of the domain."""
