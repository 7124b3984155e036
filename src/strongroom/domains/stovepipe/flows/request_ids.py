"""Request ids: canonical positive decimals, whose numeric order is the order that their commits were taken in.

Stores treat ids as opaque bytes, where "10" comes before "9". Whoever asks which of two requests is the newer one
asks here.
"""

from __future__ import annotations

from strongroom.errors import InvalidArgument, clip
from strongroom.records import MAX_INTEGER


def request_number(request_id: str) -> int:
    """The number that a request id stands for, from 1 to 2^63 - 1.

    Raises `InvalidArgument` for anything but its one canonical form: ASCII digits without a sign, a leading zero or
    space around them.
    """
    digits = type(request_id) is str and request_id.isascii() and request_id.isdigit() and request_id[0] != "0"
    # Digits are counted before they are read: a number is never made of a text of any length.
    if not digits or len(request_id) > 19 or int(request_id) > MAX_INTEGER:
        raise InvalidArgument(f"a request id is a canonical positive decimal, not {clip(request_id)}")
    return int(request_id)


def is_newer(request_id: str, other: str) -> bool:
    """Whether the first request was taken in after the second; an `other` that is empty is older than any.

    Raises `InvalidArgument` as `request_number`.
    """
    return request_number(request_id) > (request_number(other) if other else 0)
