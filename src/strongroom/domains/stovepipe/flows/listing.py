"""The list of a queue's requests: newest acceptance first, page by page, each as it is shown now.

A page is read from the acceptances and made of summaries; where the two disagree there is no page at all. The first
page fixes the window in time, and a token carries it on, so that requests accepted meanwhile come into none of the
later pages. What a page shows of a request is its present state: a list is no snapshot.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final, NamedTuple

import msgspec

from strongroom.domains.stovepipe.flows._common import moment
from strongroom.domains.stovepipe.records import RequestAcceptance, RequestSummary
from strongroom.domains.stovepipe.requests import AcceptanceCursor, AcceptanceRange
from strongroom.domains.stovepipe.storage import BY_ACCEPTANCE, Storage
from strongroom.errors import CursorExpired, InvalidArgument

DEFAULT_PAGE: Final = 50
MAX_PAGE: Final = 200
_TOKEN_VERSION: Final = 1


class RequestPage(NamedTuple):
    """Some of a queue's requests."""

    summaries: list[RequestSummary]
    token: str
    """What the next page goes on from; "" where there was no further request."""


class _Token(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    queue: str
    epoch: str
    accepted_at_or_after_ms: int
    accepted_before_ms: int
    last_accepted_at_ms: int
    last_request_id: str


def list_requests(
    storage: Storage,
    *,
    accepted_at_or_after_ms: int | None = None,
    accepted_before_ms: int | None = None,
    limit: int = DEFAULT_PAGE,
    token: str = "",
    now: int | None = None,
) -> RequestPage:
    """The requests accepted in a window of time, latest first, and bytewise from the last id where times are equal.

    The window is from `accepted_at_or_after_ms` (included; by default 0) to `accepted_before_ms` (excluded; by
    default `now`, which is by default the engine's clock), in Unix ms. `token` is that of the page before: it has
    the window, which may be given again but not changed; `limit`, from 1 to 200, may change.

    Reads only. Raises `InvalidArgument`, before any request is read, for a window that is negative or empty, a limit
    out of range, and a token that is none, is another queue's or has another window; `CursorExpired` for a token
    from before the store was restored; `Corrupt`, and no partial page, where an acceptance has no summary or one
    with another time.
    """
    check_page(limit)
    if token:
        wanted = _continued(storage, token, accepted_at_or_after_ms, accepted_before_ms, limit + 1)
    else:
        lower = 0 if accepted_at_or_after_ms is None else accepted_at_or_after_ms
        upper = moment(storage, now) if accepted_before_ms is None else accepted_before_ms
        wanted = AcceptanceRange(accepted_at_or_after_ms=lower, accepted_before_ms=upper, limit=limit + 1)
    found = storage.acceptances.list(wanted)
    page = found[:limit]
    # A token is only given where a further request was seen.
    further = _token(storage, wanted, page[-1]) if len(found) > limit else ""
    return RequestPage(BY_ACCEPTANCE.records(storage.engine, page), further)


def check_page(limit: int) -> None:
    """Raises `InvalidArgument` for a page of fewer than 1 or more than 200."""
    if type(limit) is not int or not 1 <= limit <= MAX_PAGE:
        raise InvalidArgument(f"a page has a limit from 1 to {MAX_PAGE}")


def _token(storage: Storage, wanted: AcceptanceRange, last: RequestAcceptance) -> str:
    token = _Token(
        _TOKEN_VERSION,
        storage.queue,
        storage.engine.epoch,
        wanted.accepted_at_or_after_ms,
        wanted.accepted_before_ms,
        last.accepted_at_ms,
        last.request_id,
    )
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _continued(storage: Storage, text: str, lower: int | None, upper: int | None, limit: int) -> AcceptanceRange:
    token = _read(text)
    if token is None:
        raise InvalidArgument("this is not a token of a list of requests; begin without one")
    if token.queue != storage.queue:
        raise InvalidArgument("the token belongs to another queue; begin without one")
    if lower not in (None, token.accepted_at_or_after_ms) or upper not in (None, token.accepted_before_ms):
        raise InvalidArgument("the token belongs to another window; begin without one")
    if token.epoch != storage.engine.epoch:
        raise CursorExpired("the store was restored after this token was made; begin without one")
    return AcceptanceRange(
        accepted_at_or_after_ms=token.accepted_at_or_after_ms,
        accepted_before_ms=token.accepted_before_ms,
        before=AcceptanceCursor(token.last_accepted_at_ms, token.last_request_id),
        limit=limit,
    )


def _read(text: str) -> _Token | None:
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(data, type=_Token)
    except (binascii.Error, ValueError, TypeError, msgspec.MsgspecError):
        return None
    lower, upper = token.accepted_at_or_after_ms, token.accepted_before_ms
    inside = 0 <= lower <= token.last_accepted_at_ms < upper and token.last_accepted_at_ms > 0
    made_here = token.version == _TOKEN_VERSION and inside and token.last_request_id
    return token if made_here else None
