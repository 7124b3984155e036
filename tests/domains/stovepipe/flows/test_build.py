from __future__ import annotations

from collections.abc import Callable

import pytest

from strongroom import InvalidArgument
from strongroom.domains.stovepipe import Build, BuildStatus, NotFound, Request, RequestState, Storage
from strongroom.domains.stovepipe.flows import Inconsistent, NotReady, build, ingest, process
from tests.domains.stovepipe.flows.support import QUEUE, end


def trigger(request: Request) -> str:
    """A runner that gives a request the same build every time."""
    return f"bk-{request.id}"


def untouched(_request: Request) -> str:
    raise AssertionError("triggered")


def processing(storage: Storage) -> None:
    ingest(storage, "git://1", now=100)
    process(storage, "1", slots=1, now=200)


@pytest.fixture
def one(storage: Storage) -> Storage:
    processing(storage)
    return storage


def test_a_processing_request_gets_a_build_and_the_event_is_logged(one: Storage) -> None:
    asked: list[Request] = []

    def asking(request: Request) -> str:
        asked.append(request)
        return "bk-1"

    assert build(one, "1", asking, now=300) == Build(QUEUE, "bk-1", "1")
    assert asked == [one.requests.get("1")]
    assert one.builds.get("bk-1") == Build(QUEUE, "bk-1", "1")
    log = one.request_log.get("1", "event/build_triggered/bk-1")
    assert (log.timestamp_ms, log.metadata) == (300, {"build_id": "bk-1", "base_uri": ""})
    assert one.request_summaries.get("1").state_timestamp_ms == 200


def test_a_build_that_is_known_is_found_as_it_is_stored(one: Storage) -> None:
    first = build(one, "1", trigger, now=300)
    assert first is not None
    one.builds.update(first.replace(status=BuildStatus.RUNNING), 1, 2)
    assert build(one, "1", trigger, now=400) == first.replace(status=BuildStatus.RUNNING, version=2)
    assert one.request_log.get("1", "event/build_triggered/bk-1").timestamp_ms == 300


def test_a_runner_that_starts_another_build_gives_the_request_a_second_one(one: Storage) -> None:
    build(one, "1", trigger)
    build(one, "1", lambda _request: "bk-1b")
    assert {one.builds.get(name).request_id for name in ("bk-1", "bk-1b")} == {"1"}


def test_another_requests_build_is_inconsistent_and_kept(one: Storage) -> None:
    one.builds.create(Build(QUEUE, "bk-1", "9"))
    with pytest.raises(Inconsistent):
        build(one, "1", trigger)
    assert one.builds.get("bk-1").request_id == "9"
    with pytest.raises(NotFound):
        one.request_log.get("1", "event/build_triggered/bk-1")


@pytest.mark.parametrize(
    "state", [RequestState.SUPERSEDED, RequestState.SUCCEEDED, RequestState.FAILED, RequestState.CANCELLED]
)
def test_a_request_that_has_ended_triggers_nothing(one: Storage, state: RequestState) -> None:
    end(one, "1", state)
    assert build(one, "1", untouched) is None


def test_a_request_without_a_strategy_is_not_ready_and_triggers_nothing(storage: Storage) -> None:
    ingest(storage, "git://1")
    with pytest.raises(NotReady) as raised:
        build(storage, "1", untouched)
    assert raised.value.retryable


def test_a_missing_request_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound) as raised:
        build(storage, "1", untouched)
    assert not raised.value.retryable


@pytest.mark.parametrize("name", ["", "b" * 256])
def test_a_build_that_can_not_be_named_so_is_refused(one: Storage, name: str) -> None:
    with pytest.raises(InvalidArgument):
        build(one, "1", lambda _request: name)
    assert len(one.request_log.list("1")) == 2


def test_a_time_out_of_range_triggers_nothing(one: Storage) -> None:
    with pytest.raises(InvalidArgument):
        build(one, "1", untouched, now=0)


def test_what_the_runner_raises_comes_out_and_nothing_is_written(one: Storage) -> None:
    with pytest.raises(AssertionError, match="triggered"):
        build(one, "1", untouched)
    assert len(one.request_log.list("1")) == 2


def test_a_build_with_the_longest_name_is_logged_and_signalled(one: Storage) -> None:
    build(one, "1", lambda _request: "b" * 255)
    assert len(one.request_log.list("1")) == 3


def test_it_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    assert survives_stops(processing, lambda storage: build(storage, "1", trigger, now=300)) == 2
