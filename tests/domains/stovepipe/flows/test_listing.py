from __future__ import annotations

import base64
import json
from typing import Any

import pytest

import strongroom
from strongroom import Corrupt, CursorExpired, InvalidArgument, Unavailable
from strongroom.conformance.stopping import StoppingEngine
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import (
    Request,
    RequestAcceptance,
    RequestState,
    RequestSummary,
    Storage,
)
from strongroom.domains.stovepipe.flows import RequestPage, ingest, list_requests, process
from strongroom.domains.stovepipe.records import ACCEPTANCES
from strongroom.engine import Engine
from tests.domains.stovepipe.flows.support import QUEUE, before_first, refuse

LATEST = 2**63 - 2


def accept(storage: Storage, *times: int) -> None:
    """Ingest a commit at each of the times."""
    for at in times:
        ingest(storage, f"git://{at}", now=at)


def ids(page: RequestPage) -> list[str]:
    return [summary.request_id for summary in page.summaries]


def fields(token: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    return read


def forged(token: str, **changes: Any) -> str:
    changed = {name: value for name, value in {**fields(token), **changes}.items() if value is not ...}
    return base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("=")


@pytest.fixture
def three(storage: Storage) -> Storage:
    accept(storage, 100, 200, 300)
    return storage


@pytest.fixture
def token(three: Storage) -> str:
    return list_requests(three, limit=2, accepted_before_ms=1000).token


class TestPages:
    def test_a_queue_without_requests_has_an_empty_page(self, storage: Storage) -> None:
        assert list_requests(storage) == RequestPage([], "")

    def test_the_latest_comes_first_and_is_shown_as_it_is_now(self, three: Storage) -> None:
        process(three, "1", slots=1, now=400)
        page = list_requests(three, now=1000)
        assert ids(page) == ["3", "2", "1"]
        assert page.summaries[2] == three.request_summaries.get("1")
        assert page.summaries[2].state == RequestState.SUPERSEDED

    def test_ids_break_ties_bytewise_from_the_last(self, storage: Storage) -> None:
        for n in range(10):
            ingest(storage, f"git://{n}", now=100)
        assert ids(list_requests(storage, now=101)) == ["9", "8", "7", "6", "5", "4", "3", "2", "10", "1"]

    @pytest.mark.parametrize(("limit", "further"), [(2, True), (3, False), (4, False)])
    def test_there_is_a_token_only_where_a_further_request_was_seen(
        self, three: Storage, limit: int, further: bool
    ) -> None:
        assert bool(list_requests(three, limit=limit, now=1000).token) == further

    def test_pages_of_one_make_up_the_whole_list(self, three: Storage) -> None:
        found, token = [], ""
        while True:
            page = list_requests(three, limit=1, token=token, accepted_before_ms=None if token else 1000)
            found += ids(page)
            token = page.token
            if not token:
                break
        assert found == ["3", "2", "1"]

    def test_the_size_of_a_page_may_change(self, three: Storage) -> None:
        first = list_requests(three, limit=1, now=1000)
        assert ids(list_requests(three, limit=200, token=first.token)) == ["2", "1"]

    def test_the_default_page_has_fifty(self, storage: Storage) -> None:
        accept(storage, *range(1, 52))
        page = list_requests(storage, now=1000)
        assert (len(page.summaries), bool(page.token)) == (50, True)

    def test_no_more_summaries_are_read_than_are_shown(self, three: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[int] = []
        real = three.engine.get_many

        def get_many(table: Any, keys: Any) -> Any:
            asked.append(len(keys))
            return real(table, keys)

        monkeypatch.setattr(three.engine, "get_many", get_many)
        list_requests(three, limit=2, now=1000)
        assert asked == [2]


class TestTheWindow:
    def test_it_includes_its_lower_bound_and_not_its_upper_one(self, three: Storage) -> None:
        assert ids(list_requests(three, accepted_at_or_after_ms=100, accepted_before_ms=300)) == ["2", "1"]

    def test_by_default_it_ends_now(self, three: Storage) -> None:
        assert ids(list_requests(three, now=300)) == ["2", "1"]
        assert ids(list_requests(three)) == ["3", "2", "1"]

    def test_the_token_keeps_it_whatever_the_clock_says(self, storage: Storage) -> None:
        accept(storage, 100, 200, 300, 400)
        first = list_requests(storage, accepted_at_or_after_ms=150, limit=1, now=350)
        assert ids(first) == ["3"]
        assert list_requests(storage, token=first.token, now=9999) == RequestPage(
            [storage.request_summaries.get("2")], ""
        )

    def test_a_request_accepted_meanwhile_is_in_no_later_page(self, three: Storage, token: str) -> None:
        accept(three, 250, 150)
        assert ids(list_requests(three, token=token)) == ["5", "1"]

    def test_it_may_be_given_again_but_not_changed(self, three: Storage) -> None:
        first = list_requests(three, limit=1, accepted_at_or_after_ms=0, accepted_before_ms=1000)
        again = list_requests(three, token=first.token, accepted_at_or_after_ms=0, accepted_before_ms=1000)
        assert ids(again) == ["2", "1"]
        for window in ({"accepted_at_or_after_ms": 1}, {"accepted_before_ms": 999}):
            with pytest.raises(InvalidArgument):
                list_requests(three, token=first.token, **window)

    def test_the_cursors_request_need_not_be_listed(self, three: Storage, token: str) -> None:
        assert ids(list_requests(three, token=forged(token, last_accepted_at_ms=201, last_request_id="x"))) == [
            "2",
            "1",
        ]


class TestArguments:
    @pytest.fixture
    def storage(self) -> Storage:
        """One kind of engine is enough for what is refused before an engine is asked."""
        return stovepipe.open(strongroom.open("memory://")).for_queue(QUEUE)

    @pytest.mark.parametrize(
        "arguments",
        [
            {"limit": 0},
            {"limit": -1},
            {"limit": 201},
            {"limit": True},
            {"now": 0},
            {"accepted_at_or_after_ms": -1},
            {"accepted_at_or_after_ms": 5, "accepted_before_ms": 5},
            {"accepted_at_or_after_ms": 6, "accepted_before_ms": 5},
            {"accepted_before_ms": 0},
            {"accepted_before_ms": 2**63},
            {"accepted_at_or_after_ms": "1"},
            {"accepted_at_or_after_ms": 10**15},
        ],
    )
    def test_those_out_of_range_are_refused_before_anything_is_read(
        self, three: Storage, monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any]
    ) -> None:
        monkeypatch.setattr(three.engine, "scan", refuse)
        with pytest.raises(InvalidArgument):
            list_requests(three, **arguments)

    @pytest.mark.parametrize("text", ["x", "%%%", "é", "e30", "bnVsbA", "W10", "AAAA"])
    def test_what_is_no_token_is_refused(self, three: Storage, text: str) -> None:
        with pytest.raises(InvalidArgument):
            list_requests(three, token=text)

    @pytest.mark.parametrize(
        "changes",
        [
            {"version": 2},
            {"version": "1"},
            {"queue": ...},
            {"queue": "other"},
            {"epoch": ...},
            {"last_request_id": ...},
            {"last_request_id": ""},
            {"accepted_at_or_after_ms": -1},
            {"accepted_at_or_after_ms": 1000},
            {"accepted_at_or_after_ms": 2000},
            {"accepted_before_ms": 2**63},
            {"last_accepted_at_ms": 0},
            {"last_accepted_at_ms": 1000},
            {"accepted_at_or_after_ms": 201},
            {"more": 1},
        ],
    )
    def test_a_token_that_was_tampered_with_is_refused(
        self, three: Storage, token: str, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
    ) -> None:
        monkeypatch.setattr(three.engine, "scan", refuse)
        with pytest.raises(InvalidArgument):
            list_requests(three, token=forged(token, **changes))

    def test_another_queues_token_is_refused(self, three: Storage, token: str) -> None:
        with pytest.raises(InvalidArgument):
            list_requests(Storage(three.engine, "other"), token=token)

    def test_a_token_from_before_a_restore_has_expired(self, three: Storage, token: str) -> None:
        with pytest.raises(CursorExpired):
            list_requests(three, token=forged(token, epoch="0123456789abcdef"))

    def test_the_latest_times_and_strangest_ids_survive(self, storage: Storage) -> None:
        strange = "é<&> \U0001f3a9"
        for request_id, at in ((strange, LATEST), ("1", 5)):
            uri = f"git://{at}"
            storage.requests.create(Request(QUEUE, request_id, uri))
            storage.request_summaries.create(
                RequestSummary(QUEUE, request_id, uri, RequestState.ACCEPTED, 1, at, accepted_at_ms=at)
            )
            storage.acceptances.create(RequestAcceptance(QUEUE, at, request_id))
        first = list_requests(storage, limit=1, accepted_before_ms=LATEST + 1)
        assert ids(first) == [strange]
        assert fields(first.token)["last_request_id"] == strange
        assert ids(list_requests(storage, token=first.token)) == ["1"]


class TestWhatDisagrees:
    """One bad entry fails its whole page; pages without it are read."""

    @pytest.mark.parametrize("request_id", ["9", "r" * 256])
    def test_an_acceptance_without_a_summary(self, three: Storage, request_id: str) -> None:
        three.acceptances.create(RequestAcceptance(QUEUE, 150, request_id))
        with pytest.raises(Corrupt) as raised:
            list_requests(three, now=1000)
        assert (raised.value.key, raised.value.retryable) == ((QUEUE, 150, request_id), False)
        assert ids(list_requests(three, limit=2, now=1000)) == ["3", "2"]

    @pytest.mark.parametrize("at", [199, 201])
    def test_an_acceptance_at_another_time_than_its_summarys(self, three: Storage, at: int) -> None:
        three.acceptances.create(RequestAcceptance(QUEUE, at, "2"))
        with pytest.raises(Corrupt) as raised:
            list_requests(three, now=1000)
        assert raised.value.key == (QUEUE, at, "2")

    def test_a_summary_whose_time_is_unknown(self, storage: Storage) -> None:
        storage.request_summaries.create(RequestSummary(QUEUE, "1", "git://1", RequestState.ACCEPTED, 1, 100))
        storage.acceptances.create(RequestAcceptance(QUEUE, 100, "1"))
        with pytest.raises(Corrupt):
            list_requests(storage)

    def test_an_acceptance_that_is_not_what_was_written_fails_the_page_before_a_summary_is_read(
        self, room: Engine, three: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        key = (QUEUE, 150, "2")
        room._write(lambda rows: rows.insert(ACCEPTANCES, key, (*key, b"no seal")), lambda: False)
        monkeypatch.setattr(three.engine, "get_many", refuse)
        with pytest.raises(Corrupt) as raised:
            list_requests(three, now=1000)
        assert raised.value.key == key

    def test_what_the_engine_refuses_comes_out_as_it_is(self, three: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        for method in ("scan", "get_many"):
            before_first(monkeypatch, three.engine, method, refuse)
            with pytest.raises(Unavailable):
                list_requests(three, now=1000, accepted_before_ms=1000)


def test_it_writes_nothing(room: Engine, three: Storage) -> None:
    engine = StoppingEngine(room)
    list_requests(Storage(engine, QUEUE), limit=1)
    assert engine.writes == 0
