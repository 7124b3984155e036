from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import (
    NotFound,
    Queue,
    Request,
    RequestLog,
    RequestState,
    Storage,
)
from strongroom.domains.stovepipe.flows import Inconsistent, Ingested, ingest
from strongroom.domains.stovepipe.records import REQUEST_NUMBERS
from strongroom.engine import Engine
from tests.domains.stovepipe.flows.support import QUEUE, acceptances, before_first, race


def test_a_new_commit_becomes_an_accepted_request_that_is_listed_and_the_queues_latest(storage: Storage) -> None:
    request = Request(QUEUE, "1", "git://a")
    assert ingest(storage, "git://a", now=100) == Ingested(request, pending=True)
    assert storage.requests.get("1") == request
    assert storage.request_uris.get_id_by_uri("git://a") == "1"
    accepted = RequestLog(QUEUE, "1", "state/1", 100, state=RequestState.ACCEPTED, request_version=1)
    assert storage.request_log.list("1") == [accepted]
    assert storage.request_summaries.get("1").accepted_at_ms == 100
    assert acceptances(storage) == [(100, "1")]
    assert storage.queues.get(QUEUE) == Queue(QUEUE, latest_request_id="1")


def test_ids_are_dense_and_in_the_order_of_ingest(storage: Storage) -> None:
    assert [ingest(storage, f"git://{n}", now=100 + n).request.id for n in range(11)] == [str(n + 1) for n in range(11)]
    assert storage.queues.get(QUEUE).latest_request_id == "11"


def test_the_engines_clock_is_taken_without_now(storage: Storage) -> None:
    before = storage.engine.now()
    ingest(storage, "git://a")
    assert before <= storage.request_log.get("1", "state/1").timestamp_ms <= storage.engine.now()


def test_the_same_commit_again_is_the_same_request_and_takes_no_number(storage: Storage) -> None:
    first = ingest(storage, "git://a", now=100)
    assert ingest(storage, "git://a", now=200) == first
    assert acceptances(storage) == [(100, "1")]
    assert storage.queues.get(QUEUE).version == 1
    assert ingest(storage, "git://b", now=300).request.id == "2"


def test_a_request_that_went_on_is_not_pending_and_the_pointer_stays(storage: Storage) -> None:
    ingest(storage, "git://a", now=100)
    ingest(storage, "git://b", now=100)
    request = storage.requests.get("1").replace(state=RequestState.PROCESSING, version=2)
    storage.requests.update(request, 1, 2)
    assert ingest(storage, "git://a", now=200) == Ingested(request, pending=False)
    assert storage.queues.get(QUEUE).latest_request_id == "2"


def test_a_mapped_commit_whose_request_is_missing_gets_it(storage: Storage) -> None:
    storage.request_uris.create("git://a", "7")
    assert ingest(storage, "git://a", now=100).request == Request(QUEUE, "7", "git://a")
    assert storage.engine.scan(REQUEST_NUMBERS, QUEUE, limit=1) == []


def test_a_request_whose_log_and_pointer_are_missing_gets_them(storage: Storage) -> None:
    storage.request_uris.create("git://a", "7")
    storage.requests.create(Request(QUEUE, "7", "git://a"))
    ingest(storage, "git://a", now=100)
    assert acceptances(storage) == [(100, "7")]
    assert storage.queues.get(QUEUE).latest_request_id == "7"


def test_a_queues_other_fields_are_kept(storage: Storage) -> None:
    queue = Queue(QUEUE, "git://green", "3", 1, ("4",), "5", b"gate", True, 9, version=6)
    storage.queues.create(queue)
    storage.request_uris.create("git://a", "7")
    ingest(storage, "git://a", now=100)
    assert storage.queues.get(QUEUE) == queue.replace(latest_request_id="7", version=7)


def test_a_number_whose_commit_was_never_mapped_is_mapped_by_the_next_one_to_come_by(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Death(Exception):
        pass

    def die() -> None:
        raise Death

    before_first(monkeypatch, storage.request_uris, "create", die)
    with pytest.raises(Death):
        ingest(storage, "git://a", now=100)
    assert ingest(storage, "git://b", now=200).request.id == "2"
    assert storage.request_uris.get_id_by_uri("git://a") == "1"
    assert ingest(storage, "git://c", now=300).request.id == "3"
    assert ingest(storage, "git://a", now=400).request.id == "1"


def test_the_loser_of_a_race_for_a_commit_gets_the_winners_request(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    won: list[Ingested] = []
    before_first(monkeypatch, storage.request_uris, "create", lambda: won.append(ingest(storage, "git://a", now=50)))
    assert [ingest(storage, "git://a", now=100)] == won
    assert acceptances(storage) == [(50, "1")]
    assert ingest(storage, "git://b").request.id == "2"


def test_a_rival_that_takes_the_number_first_leaves_the_next_one(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_first(monkeypatch, storage.engine, "insert", lambda: ingest(storage, "git://b", now=50))
    assert ingest(storage, "git://a", now=100).request.id == "2"
    assert storage.request_uris.get_id_by_uri("git://b") == "1"


def test_a_rival_for_the_same_commit_that_takes_the_number_first_gives_it_its_request(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rivals() -> None:
        ingest(storage, "git://a", now=50)
        ingest(storage, "git://b", now=60)

    before_first(monkeypatch, storage.engine, "insert", rivals)
    assert ingest(storage, "git://a", now=100).request.id == "1"
    assert ingest(storage, "git://c", now=100).request.id == "3"


def test_a_rival_that_took_the_number_and_was_itself_followed_is_found(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rivals() -> None:
        ingest(storage, "git://a", now=50)
        ingest(storage, "git://b", now=60)

    before_first(monkeypatch, storage.engine, "scan", rivals)
    assert ingest(storage, "git://a", now=100).request.id == "1"
    assert ingest(storage, "git://c", now=100).request.id == "3"


def test_the_pointer_moves_to_a_request_only_when_its_acceptance_is_listed(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[tuple[int, str]]] = []
    before_first(monkeypatch, storage.queues, "create", lambda: seen.append(acceptances(storage)))
    ingest(storage, "git://a", now=100)
    assert seen == [[(100, "1")]]


def test_a_rival_that_comes_after_the_number_maps_it(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before_first(monkeypatch, storage.request_uris, "create", lambda: ingest(storage, "git://b", now=50))
    assert ingest(storage, "git://a", now=100).request.id == "1"
    assert storage.request_uris.get_id_by_uri("git://b") == "2"


def test_threads_that_ingest_one_commit_all_get_its_one_request(room: Engine) -> None:
    opened = stovepipe.open(room)
    for n in range(5):
        calls = [lambda n=n: ingest(opened.for_queue(QUEUE), f"git://{n}") for _ in range(3)]
        assert {ingested.request.id for ingested in race(*calls)} == {str(n + 1)}
    assert len(acceptances(opened.for_queue(QUEUE))) == 5


def test_threads_that_ingest_many_commits_share_out_dense_numbers(room: Engine) -> None:
    storage = stovepipe.open(room).for_queue(QUEUE)

    def many(mine: int) -> list[str]:
        return [ingest(storage, f"git://{mine}/{n}").request.id for n in range(8)]

    given = race(lambda: many(1), lambda: many(2))
    assert sorted(int(request_id) for ids in given for request_id in ids) == list(range(1, 17))
    assert storage.queues.get(QUEUE).latest_request_id == "16"
    assert len(acceptances(storage)) == 16


@pytest.mark.parametrize(("uri", "now"), [("", 1), ("u" * 256, 1), ("git://a", 0), ("git://a", -1), ("git://a", 2**63)])
def test_a_uri_or_time_out_of_range_is_refused_and_nothing_is_written(storage: Storage, uri: str, now: int) -> None:
    with pytest.raises(InvalidArgument):
        ingest(storage, uri, now=now)
    assert storage.engine.scan(REQUEST_NUMBERS, QUEUE, limit=1) == []
    with pytest.raises(NotFound):
        storage.queues.get(QUEUE)


def test_a_commit_mapped_to_what_is_no_request_id_is_inconsistent(storage: Storage) -> None:
    storage.request_uris.create("git://a", "request/7")
    with pytest.raises(Inconsistent):
        ingest(storage, "git://a", now=1)


def test_a_commit_mapped_to_another_ones_request_is_inconsistent_and_the_request_is_kept(storage: Storage) -> None:
    other = ingest(storage, "git://b", now=1).request
    storage.request_uris.create("git://a", other.id)
    with pytest.raises(Inconsistent):
        ingest(storage, "git://a", now=2)
    assert storage.requests.get(other.id) == other


def test_the_same_commit_in_another_queue_is_another_request(room: Engine) -> None:
    opened = stovepipe.open(room)
    ingest(opened.for_queue("a"), "git://x", now=1)
    ingest(opened.for_queue("a"), "git://a", now=2)
    assert ingest(opened.for_queue("b"), "git://a", now=3).request == Request("b", "1", "git://a")


def test_it_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    def flow(storage: Storage) -> None:
        assert ingest(storage, "git://a", now=100).request.id == "1"
        assert ingest(storage, "git://b", now=200).request.id == "2"

    assert survives_stops(lambda storage: None, flow) == 7 + 7
