"""The store's keys as they stand at one revision, which the first read of them fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from strongroom.engines.etcd.layout import Span
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import KeyValue, RangeRequest, RangeResponse, RequestOp, TxnRequest
from strongroom.errors import StrongroomError

PAGE: Final = 1000
"""The most keys that one request reads: what is sure to come within a request's deadline."""
KEYS_AT_ONCE: Final = 128
"""The most keys that one transaction looks up: etcd's own limit, however it is set for writes."""


@dataclass(slots=True)
class Walked:
    """What a walk found, in key order."""

    pairs: list[KeyValue]
    more: bool
    """Whether the span goes on behind the last pair."""


class View:
    """The keys at one revision: the newest one when it is first read (R1), and that one from then on (R2)."""

    def __init__(self, members: Members, note: Callable[[StrongroomError], None] | None = None) -> None:
        """`note` is told of each fault that a read meets."""
        self.members = members
        self.revision = 0
        self._note = note

    def get(self, key: bytes) -> KeyValue | None:
        """What stands under a key."""
        pairs = self.range(RangeRequest(key=key)).kvs
        return pairs[0] if pairs else None

    def get_many(self, keys: Sequence[bytes], *, keys_only: bool = False) -> list[KeyValue | None]:
        """What stands under many keys, in as few requests as etcd allows."""
        found: list[KeyValue | None] = []
        for start in range(0, len(keys), KEYS_AT_ONCE):
            requests = [RangeRequest(key=key, keys_only=keys_only) for key in keys[start : start + KEYS_AT_ONCE]]
            found += [answer.kvs[0] if answer.kvs else None for answer in self.ranges(requests)]
        return found

    def walk(self, span: Span, limit: int, *, keys_only: bool = False) -> Walked:
        """The first keys of a span, at most `limit` of them."""
        low, high = span
        found = Walked([], True)
        while found.more and len(found.pairs) < limit:
            page = min(PAGE, limit - len(found.pairs))
            answer = self.range(RangeRequest(key=low, range_end=high, limit=page, keys_only=keys_only))
            found.pairs += answer.kvs
            found.more = answer.more
            if answer.kvs:
                low = answer.kvs[-1].key + b"\0"
        return found

    def count(self, span: Span) -> int:
        """How many keys a span has."""
        return self.range(RangeRequest(key=span[0], range_end=span[1], count_only=True)).count

    def range(self, request: RangeRequest) -> RangeResponse:
        """The answer to a request, whose revision is filled in."""
        self._fix(request)
        with self._noting():
            answer = self.members.range(request)
        self.revision = self.revision or answer.header.revision
        return answer

    def ranges(self, requests: Sequence[RangeRequest]) -> list[RangeResponse]:
        """The answers to several requests, which are made as one."""
        if len(requests) == 1:
            return [self.range(requests[0])]
        for request in requests:
            self._fix(request)
        operations = [RequestOp(request_range=request) for request in requests]
        with self._noting():
            answer = self.members.repeat(TxnRequest(success=operations))
        self.revision = self.revision or answer.header.revision
        return [one.response_range for one in answer.responses]

    def _fix(self, request: RangeRequest) -> None:
        if self.revision:
            # What was true at a revision stays true: it need not be agreed upon again, and any member may answer.
            request.revision = self.revision
            request.serializable = True

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except StrongroomError as fault:
            if self._note is not None:
                self._note(fault)
            raise
