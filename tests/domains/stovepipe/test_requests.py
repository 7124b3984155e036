"""Requests, and which of them owns a commit."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import BuildStrategy, RequestState
from tests.domains.stovepipe.samples import ALIKE, OTHER, a_processing_request, a_request


def test_an_accepted_request_has_no_strategy_and_no_base_yet(storage: stovepipe.Storage) -> None:
    storage.requests.create(a_request())
    found = storage.requests.get(a_request().id)
    assert (found.state, found.build_strategy, found.base_uri, found.version) == (RequestState.ACCEPTED, None, "", 1)


def test_a_request_with_strategy_and_base_comes_back_as_it_was(storage: stovepipe.Storage) -> None:
    storage.requests.create(a_processing_request(version=2))
    assert storage.requests.get(a_request().id) == a_processing_request(version=2)


def test_a_sparse_update_clears_what_it_leaves_out(storage: stovepipe.Storage) -> None:
    storage.requests.create(a_processing_request())
    storage.requests.update(a_request(state=RequestState.FAILED), 1, 2)
    found = storage.requests.get(a_request().id)
    assert (found.build_strategy, found.base_uri) == (None, "")


def test_an_update_may_give_a_request_the_uri_that_it_lacked(storage: stovepipe.Storage) -> None:
    storage.requests.create(a_request(uri=""))
    storage.requests.update(a_request(state=RequestState.PROCESSING), 1, 2)
    assert storage.requests.get(a_request().id).uri == a_request().uri


def test_ids_that_look_alike_are_different_requests(storage: stovepipe.Storage) -> None:
    for name in ALIKE:
        storage.requests.create(a_request(id=name, uri=f"git://{name}"))
    assert [storage.requests.get(name).uri for name in ALIKE] == [f"git://{name}" for name in ALIKE]


def test_an_id_is_never_taken_apart(storage: stovepipe.Storage) -> None:
    # An id that spells another queue is this queue's all the same.
    storage.requests.create(a_request(id=f"request/{OTHER}/1"))
    assert storage.requests.get(f"request/{OTHER}/1").queue == a_request().queue


@pytest.mark.parametrize("state", list(RequestState))
def test_every_state_can_be_kept(storage: stovepipe.Storage, state: RequestState) -> None:
    storage.requests.create(a_request(state=state))
    assert storage.requests.get(a_request().id).state is state


@pytest.mark.parametrize("strategy", [None, *BuildStrategy])
def test_every_strategy_can_be_kept(storage: stovepipe.Storage, strategy: BuildStrategy | None) -> None:
    storage.requests.create(a_request(build_strategy=strategy))
    assert storage.requests.get(a_request().id).build_strategy is strategy


@pytest.mark.parametrize("state", ["", "done", "Accepted", None])
def test_a_state_that_is_none_is_refused(unasked: stovepipe.Storage, state: str | None) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.requests.create(a_request(state=state))


@pytest.mark.parametrize(
    ("state", "terminal", "outcome"),
    [
        ("accepted", False, False),
        ("processing", False, False),
        ("superseded", True, False),
        ("succeeded", True, True),
        ("failed", True, True),
        ("cancelled", True, True),
    ],
)
def test_which_states_end_a_request_and_which_are_its_builds_doing(state: str, terminal: bool, outcome: bool) -> None:
    assert RequestState(state).is_terminal is terminal
    assert RequestState(state).has_build_outcome is outcome


def test_a_commit_leads_to_the_request_that_owns_it(storage: stovepipe.Storage) -> None:
    storage.request_uris.create("git://monorepo/7", "r-7")
    assert storage.request_uris.get_id_by_uri("git://monorepo/7") == "r-7"


def test_a_commit_that_nobody_owns_is_not_found(storage: stovepipe.Storage) -> None:
    with pytest.raises(stovepipe.NotFound):
        storage.request_uris.get_id_by_uri("git://monorepo/7")


@pytest.mark.parametrize("second", ["r-8", "r-7"])
def test_a_commit_has_one_owner_for_ever(storage: stovepipe.Storage, second: str) -> None:
    storage.request_uris.create("git://monorepo/7", "r-7")
    with pytest.raises(stovepipe.AlreadyExists):
        storage.request_uris.create("git://monorepo/7", second)
    assert storage.request_uris.get_id_by_uri("git://monorepo/7") == "r-7"


def test_a_commit_has_an_owner_in_each_queue(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.request_uris.create("git://monorepo/7", "r-7")
    with pytest.raises(stovepipe.NotFound):
        other.request_uris.get_id_by_uri("git://monorepo/7")
    other.request_uris.create("git://monorepo/7", "r-1")
    assert storage.request_uris.get_id_by_uri("git://monorepo/7") == "r-7"
    assert other.request_uris.get_id_by_uri("git://monorepo/7") == "r-1"


def test_commits_that_look_alike_are_different_commits(storage: stovepipe.Storage) -> None:
    for number, uri in enumerate(ALIKE):
        storage.request_uris.create(uri, f"r-{number}")
    assert [storage.request_uris.get_id_by_uri(uri) for uri in ALIKE] == [f"r-{n}" for n in range(len(ALIKE))]


@pytest.mark.parametrize(("uri", "request_id"), [("", "r-7"), ("git://monorepo/7", ""), ("a\0b", "r"), ("a", "\ud800")])
def test_a_commit_or_owner_without_a_proper_name_is_refused(
    unasked: stovepipe.Storage, uri: str, request_id: str
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.request_uris.create(uri, request_id)
