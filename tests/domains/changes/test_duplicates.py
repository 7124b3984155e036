"""The search for duplicates: what it passes over, where it stops, and how it asks another domain who is alive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import strongroom
from strongroom.domains import changes, stovepipe
from strongroom.domains.changes import ChangeRecord, ChangeStore, OwnerState, find_duplicates
from strongroom.domains.stovepipe import RequestState
from strongroom.engine import Engine


class Owners:
    """Requests and what has become of them; keeps count of who was asked for."""

    def __init__(self, **states: OwnerState) -> None:
        self.states = states
        self.asked: list[str] = []

    def __call__(self, request_id: str) -> OwnerState:
        self.asked.append(request_id)
        return self.states.get(request_id, OwnerState.MISSING)


def claim(claims: ChangeStore, *pairs: tuple[str, str]) -> None:
    for uri, request_id in pairs:
        claims.create(ChangeRecord(claims.queue, uri, request_id, 1000))


def found(claims: ChangeStore, uris: list[str], owners: Callable[[str], OwnerState]) -> tuple[str, str] | None:
    duplicate = find_duplicates(claims, uris, "mine", owners)
    return None if duplicate is None else (duplicate.uri, duplicate.request_id)


def test_changes_that_nobody_else_claimed_have_no_duplicates(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "mine"), ("pr/2", "mine"), ("pr/3", "live"))
    owners = Owners(mine=OwnerState.LIVE, live=OwnerState.LIVE)
    assert found(claims, ["pr/1", "pr/2", "pr/4"], owners) is None
    assert found(claims, [], owners) is None
    assert owners.asked == []


def test_a_live_requests_claim_is_a_duplicate(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "mine"), ("pr/1", "live"))
    assert found(claims, ["pr/1"], Owners(live=OwnerState.LIVE)) == ("pr/1", "live")


def test_a_requests_own_claims_are_never_its_duplicates(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "mine"))
    assert found(claims, ["pr/1"], Owners(mine=OwnerState.LIVE)) is None


def test_orphans_and_finished_owners_are_passed_over(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "finished"), ("pr/1", "orphan"), ("pr/2", "live"), ("pr/2", "another orphan"))
    owners = Owners(finished=OwnerState.FINISHED, live=OwnerState.LIVE)
    assert found(claims, ["pr/1"], owners) is None
    assert found(claims, ["pr/1", "pr/2"], owners) == ("pr/2", "live")


def test_the_search_stops_at_the_first_live_claim(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "a"), ("pr/2", "b"), ("pr/2", "c"), ("pr/3", "d"))
    owners = Owners(b=OwnerState.LIVE, c=OwnerState.LIVE, d=OwnerState.LIVE)
    assert found(claims, ["pr/1", "pr/2", "pr/3"], owners) == ("pr/2", "b")
    assert owners.asked == ["a", "b"]


def test_changes_are_searched_in_the_order_that_they_are_given_in(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "a"), ("pr/2", "b"))
    owners = Owners(a=OwnerState.LIVE, b=OwnerState.LIVE)
    assert found(claims, ["pr/2", "pr/1"], owners) == ("pr/2", "b")


def test_repeated_changes_and_owners_are_asked_for_once(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "finished"), ("pr/2", "finished"), ("pr/2", "orphan"))
    owners = Owners(finished=OwnerState.FINISHED)
    assert found(claims, ["pr/1", "pr/1", "pr/2", "pr/1", "pr/2"], owners) is None
    assert owners.asked == ["finished", "orphan"]


def test_a_repeated_changes_claims_are_read_once(room: Engine) -> None:
    class Counting(ChangeStore):
        def __init__(self, engine: Engine) -> None:
            super().__init__(engine, "main")
            self.read: list[str] = []

        def get_by_uri(self, uri: str) -> list[ChangeRecord]:
            self.read.append(uri)
            return super().get_by_uri(uri)

    changes.open(room)
    counting = Counting(room)
    assert found(counting, ["pr/2", "pr/1", "pr/2", "pr/2", "pr/1"], Owners()) is None
    assert counting.read == ["pr/2", "pr/1"]


def test_a_claim_far_down_the_list_is_found(claims: ChangeStore) -> None:
    claim(claims, *[("pr/1", f"r-{number:04}") for number in range(210)], ("pr/1", "the last"))
    assert found(claims, ["pr/1"], Owners(**{"the last": OwnerState.LIVE})) == ("pr/1", "the last")


def test_another_queues_claims_are_no_duplicates(claims: ChangeStore, other: ChangeStore) -> None:
    claim(other, ("pr/1", "live"))
    assert found(claims, ["pr/1"], Owners(live=OwnerState.LIVE)) is None


def test_a_claim_is_passed_over_only_for_a_known_reason(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "live"))
    assert found(claims, ["pr/1"], lambda _request_id: True) == ("pr/1", "live")  # type: ignore[arg-type, return-value]


def test_what_goes_wrong_with_asking_comes_out_as_it_is(claims: ChangeStore) -> None:
    claim(claims, ("pr/1", "live"))
    trouble = strongroom.Unavailable("down")

    def ask(_request_id: str) -> OwnerState:
        raise trouble

    with pytest.raises(strongroom.Unavailable) as caught:
        found(claims, ["pr/1"], ask)
    assert caught.value is trouble


@pytest.mark.parametrize("uris", ["pr/1", ["pr/1", ""], ["pr/1", "u" * 256]])
def test_changes_that_can_not_be_are_refused(claims: ChangeStore, uris: list[str]) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        found(claims, uris, Owners())


def test_liveness_may_be_asked_of_stovepipes_requests(room: Engine) -> None:
    claims, requests = changes.open(room).for_queue("main"), stovepipe.open(room).for_queue("main").requests

    def owner_state(request_id: str) -> OwnerState:
        try:
            return OwnerState.FINISHED if requests.get(request_id).state.is_terminal else OwnerState.LIVE
        except stovepipe.NotFound:
            return OwnerState.MISSING

    claim(claims, ("pr/1", "r-1"), ("pr/1", "r-2"), ("pr/1", "r-3"))
    requests.create(stovepipe.Request("main", "r-2", "git://2", RequestState.SUPERSEDED))
    assert found(claims, ["pr/1"], owner_state) is None
    requests.create(stovepipe.Request("main", "r-3", "git://3", RequestState.PROCESSING))
    assert found(claims, ["pr/1"], owner_state) == ("pr/1", "r-3")
    requests.update(stovepipe.Request("main", "r-3", "git://3", RequestState.FAILED), 1, 2)
    assert found(claims, ["pr/1"], owner_state) is None
