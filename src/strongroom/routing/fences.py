"""Fences: whether a room may serve a scope, told from one row of it that is read together with the scope's own rows.

A router remembers where scopes live, and may be wrong: another process may have moved one. So each transaction of a
scope also reads the room's `Fence`. It bears the fencing number under which the room owned the scope last; a router
that remembers another number looks into the home room again. The transaction is serializable, so that no write can
slip past a fence that was put up meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from strongroom.engine import Guard, Rows, WritableRows
from strongroom.records import SEAL, Row, RowCodec
from strongroom.routing.tables import BEFORE_SWITCH, FENCES, Fence, Hold, Route


@dataclass(frozen=True, slots=True)
class Place:
    """Where a scope lives, as the router believes."""

    room: str
    number: int = 0
    moving: bool = False
    """Whether it is about to leave."""

    @classmethod
    def of(cls, route: Route) -> Place:
        """The place that a route names."""
        return cls(route.room, route.number, route.stage in BEFORE_SWITCH)


class Verdict(Enum):
    """What a fence says to a router that believes the scope to be here."""

    HERE = "here"
    """The scope is here."""
    CLAIMED = "claimed"
    """The scope is here, and the fence does not say so yet: a write says it."""
    LEAVING = "leaving"
    """The scope was here and may have left at this moment: reads ask the home room afterwards, writes wait."""
    ELSEWHERE = "elsewhere"
    """The router's belief is not what the room knows."""


class Elsewhere(Exception):
    """Ends a transaction before its function has begun: the room does not serve the scope, at least not now."""


class Fences:
    """Reads and judges fences; `codec` is that of `FENCES` under the router's seal key."""

    def __init__(self, codec: RowCodec[Fence]) -> None:
        self._codec = codec

    def judge(self, row: Row | None, place: Place) -> Verdict:
        """What the fence in `row` (None: there is none) says of `place`."""
        if row is None:
            return Verdict.HERE if place.number == 0 else Verdict.ELSEWHERE
        fence = self._codec.decode(row)
        if fence.number == place.number:
            match fence.hold:
                case Hold.OPEN:
                    return Verdict.HERE
                case Hold.INCOMING | Hold.FENCED:
                    # The home room gave the scope to this room under this very number: the mover has only not come to
                    # say so here.
                    return Verdict.CLAIMED
                case Hold.LEFT:
                    return Verdict.ELSEWHERE
        if fence.number == place.number + 1 and fence.hold is Hold.FENCED:
            return Verdict.LEAVING
        return Verdict.ELSEWHERE

    def admit_reads(self, rows: Rows, scope: str, place: Place) -> Verdict:
        """The verdict for a snapshot of the scope's room; raises `Elsewhere` unless its rows may be read."""
        verdict = self.judge(rows.fetch(FENCES, (scope,)), place)
        if verdict is Verdict.ELSEWHERE:
            raise Elsewhere
        return verdict

    def admit_writes(self, rows: WritableRows, scope: str, place: Place) -> int:
        """Let a transaction of the scope's room go on; the time (Unix ms) that is past there in any case.

        Raises `Elsewhere` unless the room owns the scope, and will own it until the commit.
        """
        row = rows.fetch(FENCES, (scope,))
        verdict = self.judge(row, place)
        if verdict in (Verdict.ELSEWHERE, Verdict.LEAVING):
            raise Elsewhere
        if row is None:
            return 0
        fence = self._codec.decode(row)
        if verdict is Verdict.CLAIMED:
            rows.replace(FENCES, (scope,), self._codec.encode(opened(fence)), Guard(len(row) - 1, SEAL, row[-1]))
        return fence.since


def opened(fence: Fence) -> Fence:
    """The fence as it is once its room says that it owns the scope."""
    return fence.replace(hold=Hold.OPEN, version=fence.version + 1)
