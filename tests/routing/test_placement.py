"""The rule by which scopes find their rooms."""

from __future__ import annotations

from collections import Counter

import pytest

from strongroom.errors import InvalidArgument
from strongroom.routing import Placement, rendezvous

ROOMS = ("a", "b", "c", "d")
KNOWN = ["d", "c", "c", "b", "c"]
SCOPES = [f"queue-{number}" for number in range(2000)]


def test_hashing_gives_every_room_about_its_share() -> None:
    shares = Counter(rendezvous(scope, ROOMS) for scope in SCOPES)
    assert set(shares) == set(ROOMS)
    assert all(400 < share < 600 for share in shares.values()), shares


def test_hashing_depends_on_names_alone_and_not_on_their_order() -> None:
    assert [rendezvous(s, ROOMS) for s in SCOPES] == [rendezvous(s, ROOMS[::-1]) for s in SCOPES]


def test_one_more_room_takes_its_own_share_and_moves_nothing_else() -> None:
    before = {scope: rendezvous(scope, ROOMS) for scope in SCOPES}
    after = {scope: rendezvous(scope, (*ROOMS, "e")) for scope in SCOPES}
    gone = [scope for scope in SCOPES if after[scope] != before[scope]]
    assert {after[scope] for scope in gone} == {"e"}
    assert 300 < len(gone) < 500


def test_where_a_scope_is_looked_for_never_changes() -> None:
    """Another answer than these would look for rows where they are not."""
    assert [rendezvous(scope, ROOMS) for scope in ("main", "android", "", "é", "release/1.2")] == KNOWN


def test_a_scope_that_the_table_names_is_where_that_says() -> None:
    placement = Placement("a", hashed=ROOMS, table={"main": "z"})
    assert placement.room_of("main") == "z"
    assert placement.room_of("other") == rendezvous("other", ROOMS)
    assert placement.named_rooms() == {*ROOMS, "z"}
    assert Placement("a", default="b", table={"main": "z"}).room_of("other") == "b"


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"home": "A", "default": "a"}, "a room's name"),
        ({"home": "a", "default": "a b"}, "a room's name"),
        ({"home": "a", "default": "a", "table": {"x": "1"}}, "a room's name"),
        ({"home": "a" * 33, "default": "a"}, "at most 32"),
        ({"home": "a"}, "name either"),
        ({"home": "a", "default": "a", "hashed": ("a",)}, "name either"),
        ({"home": "a", "hashed": ("a", "a")}, "twice"),
    ],
)
def test_a_rule_that_can_t_be_is_refused(said: dict[str, object], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        Placement(**said)  # type: ignore[arg-type]
