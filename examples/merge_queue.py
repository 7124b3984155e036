"""A merge queue's gate: of two requests that want to land the same change, one is refused.

A request claims every change that it wants to land, and only then asks whether somebody else has one of them. Each
claim is one record, so it may stop between any two and begin again. Of two that race, at least one sees the other.

    python examples/merge_queue.py [URL of a store]
"""

from __future__ import annotations

import sys

import strongroom
from strongroom.domains import changes
from strongroom.domains.changes import ChangeRecord, ChangeStore, OwnerState

LANDED = {"request-1"}
"""What a real queue looks up in its own requests."""


def state_of(request_id: str) -> OwnerState:
    return OwnerState.FINISHED if request_id in LANDED else OwnerState.LIVE


def admit(claims: ChangeStore, request_id: str, uris: list[str]) -> str:
    now = claims.engine.now()
    for uri in uris:
        claims.create(ChangeRecord(claims.queue, uri, request_id, created_at=now))  # a repeat is absorbed
    rival = changes.find_duplicates(claims, uris, request_id, state_of)
    return "admitted" if rival is None else f"refused: {rival.uri} is being landed by {rival.request_id}"


def main(url: str) -> None:
    with strongroom.open(url) as room:
        claims = changes.open(room).for_queue("monorepo/main")
        print("request-1:", admit(claims, "request-1", ["change/7"]))  # has landed long ago
        print("request-2:", admit(claims, "request-2", ["change/7", "change/8"]))
        print("request-2:", admit(claims, "request-2", ["change/7", "change/8"]))  # again, after a crash, say
        print("request-3:", admit(claims, "request-3", ["change/9", "change/8"]))
        print("ever claimed change/8:", [claim.request_id for claim in claims.get_by_uri("change/8")])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory://")
