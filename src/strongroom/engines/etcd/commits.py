"""Commits: one conditional transaction each, and what became of it, for certain (T6).

Each commit writes a mark of its own, a key under which nothing may stand yet. Where its answer is lost, whoever asks
writes a fence under the same key, unless the mark is there. So one of the two is first, and that decides: behind a
fence the commit can't be kept any more, however late it arrives.

The marks of one engine object are numbered in one lane, and those that nobody can ask for any more go with a later
commit. When an answer was lost, the lane is left as it stands, and the next commit begins another one.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

from strongroom.engine import MARK_KEPT_MS, TOKEN_ANSWERED_MS, Backoff, Clock, Rivals
from strongroom.engines.etcd.faults import Full, Lost
from strongroom.engines.etcd.guards import absent
from strongroom.engines.etcd.layout import Layout
from strongroom.engines.etcd.members import Members
from strongroom.engines.etcd.messages import (
    Compare,
    DeleteRangeRequest,
    KeyValue,
    PutRequest,
    RangeRequest,
    RequestOp,
    TxnRequest,
    TxnResponse,
)
from strongroom.engines.etcd.options import Limits
from strongroom.errors import CommitUnknown, Corrupt, InvalidArgument, StrongroomError, TooLarge, Unavailable

_SWEEP_EVERY: Final = 64
"""How many commits leave their marks before one of them removes those."""
_SWEPT_AT_ONCE: Final = 1000
_CHECK_DIGITS: Final = 8
"""How many hex digits at the end of a token show that it is one of this store's."""
_OVERHEAD: Final = 512
"""How many bytes the servers add to a request before they measure it, at most."""


PATIENCE: Final = Backoff(attempts=24, first_ms=4, cap_ms=250)
"""How often to try, and how long to wait between: a rival's commit takes some milliseconds, and there may be many."""


class _Mark(msgspec.Struct, array_like=True, frozen=True):
    """What stands under a mark's key."""

    kept: bool
    """Whether the commit wrote it; otherwise it is a fence."""
    made_at: int


class Outcome(Protocol):
    """Whoever wants to know what became of a commit, also where an exception came in between."""

    kept: bool
    """Whether the commit is known to have taken place."""


class Commits:
    """The commits of one engine, one at a time."""

    def __init__(self, members: Members, layout: Layout, clock: Clock, limits: Limits) -> None:
        self.limits = limits
        self._members = members
        self._layout = layout
        self._clock = clock
        self._turn = threading.Lock()
        self._lane = secrets.token_hex(8)
        self._number = 0

    def send(self, compares: Sequence[Compare], changes: Sequence[RequestOp], outcome: Outcome) -> bool:
        """Carry out the changes if all comparisons hold; whether they did. `outcome` is told what came of it.

        Raises `TooLarge` before anything is sent, `Rivals` where the commit was lost on its way and can't be kept any
        more, `CommitUnknown`, and `Unavailable` where nothing was kept.
        """
        self._members.check_open()  # before the turn: in a forked child a thread of the parent's may have it for ever
        with self._turn:
            deadline = self._members.deadline()
            key = self._next()
            request = self._request(key, compares, changes)
            try:
                outcome.kept = self._carry_out(request, key, deadline)
            except StrongroomError:
                raise
            except BaseException as fault:
                # Its answer was lost; or Ctrl-C, and whoever pressed it is told the truth all the same.
                outcome.kept = outcome.kept or self._find_out(key, deadline, fault)
                if not isinstance(fault, Lost):
                    raise
                if not outcome.kept:
                    raise Rivals(f"a commit was lost on its way ({fault})") from fault.__cause__
            return outcome.kept

    def settle(self, token: str) -> bool:
        """Whether the commit of a token was kept; if it was not, it never will be."""
        named, check = token[:-_CHECK_DIGITS], token[-_CHECK_DIGITS:]
        if len(token) != 40 or not token.isascii() or check != self._check(named):
            raise InvalidArgument("etcd: the token is not one of this store's")
        if self._clock.now() - int(named[-8:], 16) * 1000 > TOKEN_ANSWERED_MS:
            raise InvalidArgument("etcd: the token is older than six days, and its mark may be gone")
        return self._fence(self._layout.marks[0] + named[:-8].encode(), self._members.deadline())

    def close(self) -> None:
        """Remove the marks that nobody can ask for any more, those of engine objects long gone among them."""
        first, end = self._layout.marks
        own = DeleteRangeRequest(key=self._key(0), range_end=self._key(self._number + 1))
        deadline = time.monotonic()  # one try: they cost nothing but their room
        if self._number:
            self._members.repeat(TxnRequest(success=[RequestOp(request_delete_range=own)]), deadline)
        listed = RequestOp(request_range=RangeRequest(key=first, range_end=end, limit=_SWEPT_AT_ONCE))
        pairs = self._members.repeat(TxnRequest(success=[listed]), deadline).responses[0].response_range.kvs
        before = self._clock.now() - MARK_KEPT_MS
        old = [
            RequestOp(request_delete_range=DeleteRangeRequest(key=pair.key))
            for pair in pairs
            if _decoded(pair).made_at < before
        ]
        if old:
            self._members.repeat(TxnRequest(success=old[: self.limits.operations]), deadline)

    def _next(self) -> bytes:
        self._number += 1
        return self._key(self._number)

    def _key(self, number: int) -> bytes:
        return self._layout.marks[0] + f"{self._lane}{number:08x}".encode()

    def _request(self, key: bytes, compares: Sequence[Compare], changes: Sequence[RequestOp]) -> TxnRequest:
        mark = RequestOp(request_put=PutRequest(key=key, value=self._mark(kept=True)))
        operations = [mark, *changes]
        if self._number % _SWEEP_EVERY == 0:
            passed = DeleteRangeRequest(key=self._key(0), range_end=key)
            operations.append(RequestOp(request_delete_range=passed))
        request = TxnRequest(
            compare=[absent(key), *compares],
            success=self._grouped(operations, len(compares) + 1),
            failure=[RequestOp(request_range=RangeRequest(key=key))],
        )
        size, limit = request.ByteSize(), self.limits.request_bytes
        if size > limit - _OVERHEAD:
            raise TooLarge(
                f"etcd: the transaction has {size} bytes, and the servers take {limit} in a request: write less at "
                "once, or raise --max-request-bytes there and max_request_bytes in the URL"
            )
        return request

    def _grouped(self, operations: list[RequestOp], compares: int) -> list[RequestOp]:
        """The operations, in transactions inside of the transaction where one list can't hold them.

        The servers take from what an inner list may hold what the outer ones have.
        """
        most = self.limits.operations
        if len(operations) <= most >= compares:
            return operations
        for groups in range(2, most):
            room = most - max(groups, compares)
            if room * groups >= len(operations):
                return [
                    RequestOp(request_txn=TxnRequest(success=operations[start : start + room]))
                    for start in range(0, len(operations), room)
                ]
        raise TooLarge(
            f"etcd: the transaction has {compares} conditions and {len(operations)} changes, and the servers take "
            f"{most} operations in a list: write less at once, or raise --max-txn-ops there and max_txn_ops in the URL"
        )

    def _carry_out(self, request: TxnRequest, key: bytes, deadline: float) -> bool:
        """Whether all comparisons of a commit held. Raises `Lost`, `Rivals`, and the faults of those that refuse it."""
        try:
            return _was_kept(self._members.once(request, deadline))
        except Full as full:
            try:
                if self._marked(key):
                    return True
            except Unavailable as fault:
                raise Lost(str(fault)) from fault
            raise full

    def _find_out(self, key: bytes, deadline: float, why: BaseException) -> bool:
        """What became of a commit that nobody answered for."""
        named = f"{key[len(self._layout.marks[0]) :].decode()}{self._clock.now() // 1000:08x}"
        # A fence must stand for as long as the commit may arrive, and a mark until its token was asked for.
        self._lane, self._number = secrets.token_hex(8), 0
        try:
            return self._fence(key, deadline)
        except (Unavailable, KeyboardInterrupt) as fault:
            lost = str(why) or "it was interrupted"
            raise CommitUnknown(
                f"etcd: the answer to a commit was lost ({lost}), and what became of it was not found out in time",
                token=named + self._check(named),
            ) from fault

    def _fence(self, key: bytes, deadline: float) -> bool:
        request = TxnRequest(
            compare=[absent(key)],
            success=[RequestOp(request_put=PutRequest(key=key, value=self._mark(kept=False)))],
            failure=[RequestOp(request_range=RangeRequest(key=key))],
        )
        try:
            answer = self._members.repeat(request, deadline)
        except Full:
            marked = self._marked(key)
            if marked is None:
                raise  # where nothing can be written, there is no fence
            return marked
        return not answer.succeeded and _decoded(answer.responses[0].response_range.kvs[0]).kept

    def _marked(self, key: bytes) -> bool | None:
        """Whether the commit of a mark was kept; None where nobody has said so yet."""
        pairs = self._members.range(RangeRequest(key=key)).kvs
        return _decoded(pairs[0]).kept if pairs else None

    def _mark(self, *, kept: bool) -> bytes:
        return msgspec.msgpack.encode(_Mark(kept, self._clock.now()))

    def _check(self, named: str) -> str:
        digest = hashlib.blake2b(self._layout.root, person=b"strongroom.token")
        digest.update(named.encode())
        return digest.hexdigest()[:_CHECK_DIGITS]


def _was_kept(answer: TxnResponse) -> bool:
    """Whether a commit was kept; raises `Rivals` where it never will be, whatever was read."""
    if answer.succeeded or not (there := answer.responses[0].response_range.kvs):
        return answer.succeeded
    # One that was carried twice finds its own mark; one that somebody gave up before it arrived, a fence.
    if not _decoded(there[0]).kept:
        raise Rivals("a commit was given up before it arrived")
    return True


def _decoded(pair: KeyValue) -> _Mark:
    try:
        return msgspec.msgpack.decode(pair.value, type=_Mark)
    except msgspec.MsgspecError as fault:
        raise Corrupt("etcd: the mark of a transaction is not what was written") from fault
