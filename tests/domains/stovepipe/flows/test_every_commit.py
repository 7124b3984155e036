"""What a queue needs whose every commit is to be validated, in an order that its source control knows."""

from __future__ import annotations

import pytest

from strongroom.domains.stovepipe import BuildStatus, BuildStrategy, Queue, Request, RequestState, Storage
from strongroom.domains.stovepipe.flows import Verdict, build, build_signal, ingest, process, record
from tests.domains.stovepipe.flows.support import QUEUE


def drive(storage: Storage, uri: str, status: BuildStatus = BuildStatus.SUCCEEDED) -> str:
    """Bring a commit to its outcome: the request's id."""
    request_id = ingest(storage, uri).request.id
    process(storage, request_id, slots=9)
    build(storage, request_id, lambda request: f"b-{request.id}")
    build_signal(storage, f"b-{request_id}", status)
    return request_id


def test_without_coalescing_an_older_request_is_built_like_any_other(storage: Storage) -> None:
    older, newer = ingest(storage, "git:1").request.id, ingest(storage, "git:2").request.id
    for request_id in (older, newer):
        verdict, request = process(storage, request_id, slots=9, coalesce=False)
        assert (verdict, request.state) == (Verdict.BUILD, RequestState.PROCESSING)
    assert storage.queues.get(QUEUE).in_flight_count == 2


def test_without_coalescing_a_request_that_was_superseded_stays_it(storage: Storage) -> None:
    older = ingest(storage, "git:1").request.id
    ingest(storage, "git:2")
    process(storage, older, slots=9)
    assert process(storage, older, slots=9, coalesce=False).verdict == Verdict.FINISHED
    assert storage.requests.get(older).state == RequestState.SUPERSEDED


@pytest.mark.parametrize(
    ("base", "strategy"), [("git:0", BuildStrategy.INCREMENTAL_SINCE_GREEN), ("", BuildStrategy.FULL)]
)
def test_a_baseline_says_what_is_built_from(storage: Storage, base: str, strategy: BuildStrategy) -> None:
    record(storage, drive(storage, "git:1"))
    asked: list[tuple[str, str]] = []

    def baseline(queue: Queue, request: Request) -> str:
        asked.append((queue.last_green_uri, request.uri))
        return base

    request = process(storage, ingest(storage, "git:2").request.id, slots=9, baseline=baseline).request
    assert (request.base_uri, request.build_strategy) == (base, strategy)
    assert storage.request_summaries.get(request.id).base_uri == base
    assert asked == [("git:1", "git:2")]


def test_a_green_commit_that_may_not_advance_leaves_the_bookmark_and_is_not_promoted(storage: Storage) -> None:
    record(storage, drive(storage, "git:2"))
    promoted: list[Request] = []
    older = drive(storage, "git:1")

    def advance(queue: Queue, request: Request) -> bool:
        return request.uri > queue.last_green_uri

    recorded = record(storage, older, promote=promoted.append, advance=advance)
    assert recorded.fact is not None
    assert (recorded.fact.is_green, recorded.promoted, promoted) == (True, False, [])
    assert storage.queues.get(QUEUE).last_green_uri == "git:2"
    newest = drive(storage, "git:3")
    assert record(storage, newest, promote=promoted.append, advance=advance).promoted
    assert storage.queues.get(QUEUE).last_green_uri == "git:3"
