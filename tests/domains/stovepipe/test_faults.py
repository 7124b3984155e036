"""What an engine says comes out as it is: no failure is taken for an answer, and no list is cut short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import AcceptanceRange, Issue
from strongroom.domains.stovepipe.records import (
    ACCEPTANCES,
    BUILD_ISSUES,
    FACTS,
    FACTS_BY_DEGREE,
    OPEN_ISSUES,
    QUEUE_LOG,
    REQUEST_LOG,
    REQUESTS,
)
from strongroom.engine import Engine
from strongroom.records import AnyTable, RowCodec, Sealer
from tests.domains.engines import FailingEngine
from tests.domains.stovepipe.samples import (
    QUEUE,
    a_build,
    a_fact,
    a_log,
    a_request,
    a_summary,
    a_transition,
    an_acceptance,
    an_occurrence,
    an_open_issue,
)

Call = Callable[[stovepipe.Storage], Any]

LATEST = AcceptanceRange(accepted_before_ms=2**62, limit=100)

CALLS: dict[str, Call] = {
    "requests.create": lambda s: s.requests.create(a_request()),
    "requests.update": lambda s: s.requests.update(a_request(), 1, 2),
    "requests.get": lambda s: s.requests.get("r-7"),
    "request_uris.create": lambda s: s.request_uris.create("u", "r-7"),
    "request_log.create": lambda s: s.request_log.create(a_log()),
    "request_log.list": lambda s: s.request_log.list("r-7"),
    "request_summaries.update": lambda s: s.request_summaries.update(a_summary(), 1, 2),
    "acceptances.create": lambda s: s.acceptances.create(an_acceptance()),
    "acceptances.list": lambda s: s.acceptances.list(LATEST),
    "builds.update": lambda s: s.builds.update(a_build(), 1, 2),
    "facts.create": lambda s: s.facts.create(a_fact()),
    "facts_by_degree.ensure": lambda s: s.facts_by_degree.ensure(a_fact()),
    "facts_by_degree.list": lambda s: s.facts_by_degree.list(a_fact().uri, limit=9),
    "build_issues.create": lambda s: s.build_issues.create("b", Issue("t")),
    "build_issues.list": lambda s: s.build_issues.list("b", limit=9),
    "open_issues.list": lambda s: s.open_issues.list(limit=9),
    "open_issues.delete": lambda s: s.open_issues.delete("t", "", "b"),
    "issue_log.create": lambda s: s.issue_log.create(a_transition()),
    "queues.get": lambda s: s.queues.get(QUEUE),
    "queue_log.latest": lambda s: s.queue_log.latest(),
    "queue_log.list": lambda s: s.queue_log.list(limit=9),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(
    "fault",
    [strongroom.Unavailable("down"), strongroom.CommitUnknown("who knows", token="t"), strongroom.Corrupt("bad")],
    ids=lambda fault: type(fault).__name__,
)
def test_an_engines_fault_comes_out_as_the_same_object(call: Call, fault: strongroom.StrongroomError) -> None:
    storage = stovepipe.Stovepipe(FailingEngine(fault)).for_queue(QUEUE)
    with pytest.raises(type(fault)) as caught:
        call(storage)
    assert caught.value is fault


def insert_damaged(room: Engine, table: AnyTable, record: Any) -> None:
    """Put a row where `record` belongs that says something else than its seal."""
    row = RowCodec(table, Sealer()).encode(record)
    damaged = (*row[:-1], bytes(32))
    room._write(lambda rows: rows.insert(table, table.key_of(row), damaged), lambda: False)


LISTS: dict[str, tuple[AnyTable, Any, Any, Call]] = {
    "acceptances": (
        ACCEPTANCES,
        an_acceptance(5, "good"),
        an_acceptance(4, "damaged"),
        lambda s: s.acceptances.list(LATEST),
    ),
    "request log": (REQUEST_LOG, a_log(id="a"), a_log(id="b"), lambda s: s.request_log.list("r-7")),
    "open issues": (
        OPEN_ISSUES,
        an_open_issue(task="a"),
        an_open_issue(task="b"),
        lambda s: s.open_issues.list(limit=9),
    ),
    "observations": (
        BUILD_ISSUES,
        stovepipe.BuildIssue(QUEUE, "b-1", "a", ""),
        stovepipe.BuildIssue(QUEUE, "b-1", "b", ""),
        lambda s: s.build_issues.list("b-1", limit=9),
    ),
    "queue log": (QUEUE_LOG, an_occurrence(1), an_occurrence(2), lambda s: s.queue_log.list(limit=9)),
}


@pytest.mark.parametrize(("table", "good", "bad", "listing"), LISTS.values(), ids=LISTS.keys())
def test_a_list_with_one_damaged_row_fails_whole(
    storage: stovepipe.Storage, room: Engine, table: AnyTable, good: Any, bad: Any, listing: Call
) -> None:
    room.insert(table, good)
    assert listing(storage) == [good]
    insert_damaged(room, table, bad)
    with pytest.raises(strongroom.Corrupt) as caught:
        listing(storage)
    assert caught.value.table == table.name


def test_a_damaged_fact_fails_the_list_that_leads_to_it(storage: stovepipe.Storage, room: Engine) -> None:
    room.insert(FACTS_BY_DEGREE, stovepipe.ProjectFactByDegree(QUEUE, a_fact().uri, 0.25, "billing"))
    insert_damaged(room, FACTS, a_fact())
    with pytest.raises(strongroom.Corrupt) as caught:
        storage.facts_by_degree.list(a_fact().uri, limit=9)
    assert caught.value.table == FACTS.name


def test_a_damaged_record_is_neither_missing_nor_free(storage: stovepipe.Storage, room: Engine) -> None:
    insert_damaged(room, REQUESTS, a_request())
    with pytest.raises(strongroom.Corrupt):
        storage.requests.get(a_request().id)
    with pytest.raises(stovepipe.AlreadyExists):
        storage.requests.create(a_request())
