"""Finding duplicates: whether a change that a request wants to land is being landed by another one already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto

from strongroom.domains.changes.records import ChangeRecord
from strongroom.domains.changes.store import ChangeStore
from strongroom.errors import InvalidArgument


class OwnerState(Enum):
    """What has become of the request that made a claim."""

    MISSING = auto()
    """There is no such request: it stopped between its claim and itself, or was removed."""
    FINISHED = auto()
    """It has ended, and its claims are history."""
    LIVE = auto()
    """It is under way."""


# An answer that is neither of these counts as live: a claim is passed over only for a known reason.
_PASSED_OVER = (OwnerState.MISSING, OwnerState.FINISHED)


def find_duplicates(
    claims: ChangeStore,
    uris: Iterable[str],
    request_id: str,
    owner_state: Callable[[str], OwnerState],
) -> ChangeRecord | None:
    """The first claim of another live request on one of the changes, in their order; None if there is none.

    Its own claims, repeated uris, claims without an owner and those of finished owners are passed over. The search
    ends at the first live one: one is enough to refuse the request.

    Arguments:
        claims: the claims of the request's queue.
        uris: the changes that the request wants to land.
        request_id: the request that asks.
        owner_state: what has become of the request of an id. Asked once at most for each, and never for `request_id`.

    Of two requests that both claim first and ask then, at least one sees the other (R1). Raises as
    `ChangeStore.get_by_uri`, what `owner_state` raises, and `InvalidArgument` for a text in place of `uris`.
    """
    if isinstance(uris, str):
        raise InvalidArgument("expected several uris, not one text")
    passed_over = {request_id}
    for uri in dict.fromkeys(uris):
        for claim in claims.get_by_uri(uri):
            if claim.request_id not in passed_over:
                if owner_state(claim.request_id) not in _PASSED_OVER:
                    return claim
                passed_over.add(claim.request_id)
    return None
