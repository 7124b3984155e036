from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from strongroom import InvalidArgument, Unavailable
from strongroom.domains.stovepipe import (
    BuildStatus,
    NotFound,
    OutcomeReason,
    Queue,
    Request,
    RequestState,
    Storage,
    ValidationFact,
)
from strongroom.domains.stovepipe.flows import (
    Inconsistent,
    NotReady,
    Recorded,
    build,
    build_signal,
    dead_letter,
    ingest,
    process,
    record,
)
from tests.domains.stovepipe.flows.support import QUEUE, before_first, end, refuse

SUCCEEDED, FAILED, CANCELLED = BuildStatus.SUCCEEDED, BuildStatus.FAILED, BuildStatus.CANCELLED


def finish(storage: Storage, number: int, status: BuildStatus) -> None:
    """Bring commit `number` all the way to its build's end."""
    name = str(number)
    assert ingest(storage, f"git://{name}", now=100).request.id == name
    process(storage, name, slots=9, now=200)
    build(storage, name, lambda _request: f"bk-{name}", now=300)
    build_signal(storage, f"bk-{name}", status, now=400)


def fact(request_id: str, project: str, degree: float, at: int = 500) -> ValidationFact:
    return ValidationFact(QUEUE, f"git://{request_id}", project, degree, request_id, at)


def listed(storage: Storage, uri: str = "git://1") -> list[tuple[str, float]]:
    return [(fact.project, fact.degree) for fact in storage.facts_by_degree.list(uri, limit=100)]


def bookmark(storage: Storage) -> tuple[str, str]:
    queue = storage.queues.get(QUEUE)
    return queue.last_green_uri, queue.last_green_request_id


class Promotions(list[str]):
    """The requests that were promoted."""

    def __call__(self, request: Request) -> None:
        self.append(request.id)


@pytest.fixture
def green(storage: Storage) -> Storage:
    finish(storage, 1, SUCCEEDED)
    return storage


@pytest.fixture
def broken(storage: Storage) -> Storage:
    finish(storage, 1, FAILED)
    return storage


def test_a_succeeded_build_makes_the_repository_green_and_moves_the_bookmark_there(green: Storage) -> None:
    promote = Promotions()
    assert record(green, "1", promote=promote, now=500) == Recorded(fact("1", "", 0.0), promoted=True)
    assert green.facts.get("git://1") == fact("1", "", 0.0)
    assert bookmark(green) == ("git://1", "1")
    assert promote == ["1"]
    log = green.request_log.get("1", "event/validation_fact_recorded/repository")
    assert (log.timestamp_ms, log.metadata) == (500, {"base_uri": "", "fact_degree": "0"})


def test_a_failed_build_makes_the_repository_broken_and_leaves_the_bookmark(broken: Storage) -> None:
    promote = Promotions()
    assert record(broken, "1", promote=promote, now=500) == Recorded(fact("1", "", 1.0), promoted=False)
    assert broken.facts.get("git://1") == fact("1", "", 1.0)
    assert (bookmark(broken), promote) == (("", ""), [])
    log = broken.request_log.get("1", "event/validation_fact_recorded/repository")
    assert log.metadata["fact_degree"] == "1"


def test_projects_are_kept_and_listed_most_broken_first(broken: Storage) -> None:
    record(broken, "1", {"web": 0.25, "api": 1.0, "Billing": 0.25, "docs": 0}, now=500)
    assert listed(broken) == [("api", 1.0), ("Billing", 0.25), ("web", 0.25), ("docs", 0.0)]
    assert broken.facts.get("git://1", "web") == fact("1", "web", 0.25)


def test_without_a_hook_a_green_commit_gets_the_bookmark_all_the_same(green: Storage) -> None:
    assert not record(green, "1").promoted
    assert bookmark(green) == ("git://1", "1")


@pytest.mark.parametrize("state", [RequestState.CANCELLED, RequestState.SUPERSEDED])
def test_a_cancelled_or_superseded_request_proves_nothing(storage: Storage, state: RequestState) -> None:
    ingest(storage, "git://1")
    end(storage, "1", state)
    assert_proves_nothing(storage)


@pytest.mark.parametrize("reason", [OutcomeReason.PROCESSING_FAILED, OutcomeReason.VALIDATION_TIMEOUT])
def test_a_request_that_failed_otherwise_than_by_its_build_is_not_broken(
    storage: Storage, reason: OutcomeReason
) -> None:
    ingest(storage, "git://1")
    dead_letter(storage, "1", reason=reason)
    assert_proves_nothing(storage)


def assert_proves_nothing(storage: Storage) -> None:
    promote = Promotions()
    assert record(storage, "1", {"api": 0.0}, promote=promote) == Recorded(None, promoted=False)
    for project in ("", "api"):
        with pytest.raises(NotFound):
            storage.facts.get("git://1", project)
    assert (listed(storage), bookmark(storage), promote) == ([], ("", ""), [])
    with pytest.raises(NotFound):
        storage.request_log.get("1", "event/validation_fact_recorded/repository")


@pytest.mark.parametrize("state", [RequestState.ACCEPTED, RequestState.PROCESSING])
def test_a_request_without_an_outcome_is_not_ready(storage: Storage, state: RequestState) -> None:
    ingest(storage, "git://1")
    end(storage, "1", state)
    with pytest.raises(NotReady):
        record(storage, "1")


def test_what_is_missing_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound):
        record(storage, "1")


def test_a_green_fact_needs_its_queue(storage: Storage) -> None:
    storage.requests.create(Request(QUEUE, "1", "git://1", RequestState.SUCCEEDED, version=3))
    with pytest.raises(NotFound):
        record(storage, "1", now=500)
    assert storage.facts.get("git://1").is_green


@pytest.mark.parametrize(
    "projects", [{"": 0.0}, {"p" * 256: 0.0}, {"api": -0.1}, {"api": 1.1}, {"api": math.nan}, {"ok": 0.5, "api": 2}]
)
def test_projects_out_of_range_are_refused_and_nothing_is_written(green: Storage, projects: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        record(green, "1", projects)
    with pytest.raises(NotFound):
        green.facts.get("git://1")


def test_a_time_out_of_range_is_refused_and_nothing_is_written(green: Storage) -> None:
    with pytest.raises(InvalidArgument):
        record(green, "1", now=0)
    with pytest.raises(NotFound):
        green.facts.get("git://1")


class TestAgain:
    def test_it_adopts_its_own_facts_and_promotes_again(self, green: Storage) -> None:
        promote = Promotions()
        first = record(green, "1", {"api": 0.0}, promote=promote, now=500)
        queue = green.queues.get(QUEUE)
        assert record(green, "1", {"api": 0.0}, promote=promote, now=600) == first
        assert (promote, green.queues.get(QUEUE)) == (["1", "1"], queue)

    def test_the_degree_that_is_kept_is_listed_and_another_one_never_is(
        self, broken: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before_first(monkeypatch, broken.facts_by_degree, "ensure", refuse)
        with pytest.raises(Unavailable):
            record(broken, "1", {"api": 0.5}, now=500)
        assert listed(broken) == []
        record(broken, "1", {"api": 0.75}, now=600)
        assert broken.facts.get("git://1", "api") == fact("1", "api", 0.5)
        assert listed(broken) == [("api", 0.5)]

    def test_another_requests_fact_is_inconsistent_and_kept(self, green: Storage) -> None:
        theirs = ValidationFact(QUEUE, "git://1", "", 1.0, "9", 1)
        green.facts.create(theirs)
        with pytest.raises(Inconsistent) as raised:
            record(green, "1")
        assert not raised.value.retryable
        assert (green.facts.get("git://1"), bookmark(green)) == (theirs, ("", ""))

    def test_another_requests_project_fact_is_inconsistent_and_not_listed(self, green: Storage) -> None:
        green.facts.create(ValidationFact(QUEUE, "git://1", "api", 1.0, "9", 1))
        with pytest.raises(Inconsistent):
            record(green, "1", {"api": 1.0})
        assert (listed(green), bookmark(green)) == ([], ("", ""))


class TestTheBookmark:
    def test_it_never_moves_back(self, storage: Storage) -> None:
        for number in range(1, 11):
            finish(storage, number, SUCCEEDED)
        promote = Promotions()
        assert record(storage, "10", promote=promote).promoted
        assert not record(storage, "9", promote=promote).promoted
        assert (bookmark(storage), promote) == (("git://10", "10"), ["10"])
        assert storage.facts.get("git://9").is_green

    def test_it_moves_on_from_an_older_one(self, storage: Storage) -> None:
        for number in (1, 2):
            finish(storage, number, SUCCEEDED)
            record(storage, str(number))
        assert bookmark(storage) == ("git://2", "2")

    def test_a_later_one_that_comes_between_wins(self, green: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        finish(green, 2, SUCCEEDED)
        promote = Promotions()
        before_first(monkeypatch, green.queues, "update", lambda: record(green, "2"))
        assert not record(green, "1", promote=promote).promoted
        assert (bookmark(green), promote) == (("git://2", "2"), [])

    def test_a_rivals_change_of_the_queue_is_kept(self, green: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        before_first(monkeypatch, green.queues, "update", lambda: ingest(green, "git://2"))
        record(green, "1")
        assert green.queues.get(QUEUE).latest_request_id == "2"
        assert bookmark(green) == ("git://1", "1")

    def test_it_is_not_moved_before_all_is_recorded(self, green: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[tuple[bool, list[tuple[str, float]], int]] = []

        def look() -> None:
            events = [log for log in green.request_log.list("1") if log.event == "validation_fact_recorded"]
            seen.append((green.facts.get("git://1").is_green, listed(green), len(events)))

        before_first(monkeypatch, green.queues, "update", look)
        record(green, "1", {"api": 0.0})
        assert seen == [(True, [("api", 0.0)], 1)]

    def test_a_promotion_that_fails_comes_out_and_is_tried_again(self, green: Storage) -> None:
        def fail(_request: Request) -> None:
            raise ConnectionError("no promotion today")

        with pytest.raises(ConnectionError):
            record(green, "1", promote=fail)
        assert bookmark(green) == ("git://1", "1")
        promote = Promotions()
        assert record(green, "1", promote=promote).promoted
        assert promote == ["1"]

    def test_the_next_request_is_built_from_it(self, green: Storage) -> None:
        record(green, "1")
        ingest(green, "git://2")
        assert process(green, "2", slots=1).request.base_uri == "git://1"


def test_it_may_be_stopped_at_every_write_when_green(survives_stops: Callable[..., int]) -> None:
    def flow(storage: Storage) -> None:
        assert record(storage, "1", {"api": 0.0, "web": 0.0}, promote=Promotions(), now=500).promoted

    # three facts, two places, the event, the bookmark
    assert survives_stops(lambda storage: finish(storage, 1, SUCCEEDED), flow) == 7


def test_it_may_be_stopped_at_every_write_when_broken(survives_stops: Callable[..., int]) -> None:
    def flow(storage: Storage) -> None:
        assert record(storage, "1", {"api": 1.0, "web": 0.5}, now=500).fact == fact("1", "", 1.0)

    assert survives_stops(lambda storage: finish(storage, 1, FAILED), flow) == 6


def test_nothing_is_written_for_what_proves_nothing(survives_stops: Callable[..., int]) -> None:
    assert survives_stops(lambda storage: finish(storage, 1, CANCELLED), lambda storage: record(storage, "1")) == 0


def test_facts_of_another_queue_are_others(green: Storage) -> None:
    record(green, "1", {"api": 0.0})
    other = Storage(green.engine, "other")
    other.queues.create(Queue("other"))
    other.requests.create(Request("other", "1", "git://1", RequestState.SUCCEEDED, version=3))
    with pytest.raises(NotFound):
        other.facts.get("git://1")
    assert record(other, "1", now=900).fact == ValidationFact("other", "git://1", "", 0.0, "1", 900)
