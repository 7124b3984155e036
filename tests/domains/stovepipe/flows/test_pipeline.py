"""The flows one after the other, as whoever runs them does."""

from __future__ import annotations

from collections.abc import Callable

from strongroom.domains.stovepipe import BuildStatus, Issue, RequestState, Storage, ValidationFact
from strongroom.domains.stovepipe.flows import (
    Signal,
    Verdict,
    build,
    build_signal,
    get_project_status,
    ingest,
    list_requests,
    process,
    reconcile_issues,
    record,
    set_enablement,
)
from tests.domains.stovepipe.flows.support import QUEUE, race, slots

FLAKY, BROKEN = Issue("test", "flaky"), Issue("test", "broken")


def validate(storage: Storage, uri: str, status: BuildStatus, degree: float, shown: list[Issue], now: int) -> None:
    """Bring one commit all the way through, whatever was done of it before."""
    request = ingest(storage, uri, now=now).request
    if process(storage, request.id, slots=1, now=now + 1).verdict == Verdict.BUILD:
        build(storage, request.id, lambda request: f"bk-{request.id}", now=now + 2)
    assert build_signal(storage, f"bk-{request.id}", status, now=now + 4).signal == Signal.RECORD
    reconcile_issues(storage, f"bk-{request.id}", shown, now=now + 5)
    record(storage, request.id, {"api": degree}, promote=lambda _request: None, now=now + 6)


def first_commit(storage: Storage) -> None:
    set_enablement(storage, "op-1", True, "git://1", "", now=10)
    validate(storage, "git://1", BuildStatus.SUCCEEDED, 0.0, [FLAKY], 100)


def second_commit(storage: Storage) -> None:
    validate(storage, "git://2", BuildStatus.FAILED, 0.5, [BROKEN], 200)


def two_commits(storage: Storage) -> None:
    first_commit(storage)
    second_commit(storage)


def test_two_commits_go_all_the_way(storage: Storage) -> None:
    two_commits(storage)
    queue = storage.queues.get(QUEUE)
    assert (queue.last_green_uri, queue.latest_request_id, queue.enabled) == ("git://1", "2", True)
    assert slots(storage) == (0, ())
    shown = [(each.request_id, each.state, each.base_uri) for each in list_requests(storage).summaries]
    assert shown == [("2", RequestState.FAILED, "git://1"), ("1", RequestState.SUCCEEDED, "")]
    assert get_project_status(storage, "git://2").facts == [ValidationFact(QUEUE, "git://2", "api", 0.5, "2", 206)]
    assert [row.unit for row in storage.open_issues.list(limit=10)] == ["broken"]
    assert [log.id for log in storage.request_log.list("1")] == [
        "state/1",
        "state/2",
        "event/build_triggered/bk-1",
        "event/build_finished/bk-1",
        "state/3",
        "event/validation_fact_recorded/repository",
    ]


def test_the_whole_way_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    # enablement, ingest, process, build, signal, issues, record with the bookmark
    assert survives_stops(lambda storage: None, first_commit) == 4 + 7 + 4 + 2 + 6 + 4 + 5


def test_the_next_commits_way_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    # ingest, process, build, signal, issues, record
    assert survives_stops(first_commit, second_commit) == 7 + 4 + 2 + 6 + 6 + 4


def test_workers_that_share_a_queue_bring_every_commit_to_an_end(storage: Storage) -> None:
    """Two workers do the same work at once, as redelivery makes them: everything is done once."""

    def worker() -> None:
        two_commits(storage)

    race(worker, worker)
    alone = Storage(storage.engine, "alone")
    two_commits(alone)
    for request_id in ("1", "2"):
        logs, expected = storage.request_log.list(request_id), alone.request_log.list(request_id)
        assert {log.id for log in logs} == {log.id for log in expected}
    assert slots(storage) == (0, ())
    assert storage.queues.get(QUEUE).last_green_uri == "git://1"
    assert [row.unit for row in storage.open_issues.list(limit=10)] == ["broken"]
