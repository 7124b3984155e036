"""Any record that a table can hold comes back from its store as it went in, in every room (K5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import REASONS, AcceptanceRange, Issue, RequestEvent, Storage
from strongroom.domains.stovepipe.records import SCHEMA
from tests.domains.generated import records

RoundTrip = Callable[[Storage, Any], Any]


def _create_and_get(store: str, *key: str) -> RoundTrip:
    def trip(storage: Storage, record: Any) -> Any:
        getattr(storage, store).create(record)
        return getattr(storage, store).get(*[getattr(record, name) for name in key])

    return trip


def _uri(storage: Storage, record: Any) -> Any:
    storage.request_uris.create(record.uri, record.request_id)
    return record.replace(request_id=storage.request_uris.get_id_by_uri(record.uri))


def _acceptance(storage: Storage, record: Any) -> Any:
    storage.acceptances.create(record)
    at = record.accepted_at_ms
    [found] = storage.acceptances.list(AcceptanceRange(accepted_at_or_after_ms=at, accepted_before_ms=at + 1, limit=2))
    return found


def _by_degree(storage: Storage, record: Any) -> Any:
    fact = stovepipe.ValidationFact(record.queue, record.uri, record.project, record.degree, "r", 0)
    storage.facts.create(fact)
    storage.facts_by_degree.create(fact)
    [found] = storage.facts_by_degree.list(record.uri, limit=2)
    return record.replace(degree=found.degree, project=found.project, uri=found.uri)


def _build_issue(storage: Storage, record: Any) -> Any:
    storage.build_issues.create(record.build, Issue(record.task, record.unit))
    [found] = storage.build_issues.list(record.build, limit=2)
    return found


TRIPS: dict[str, RoundTrip] = {
    "stovepipe_requests": _create_and_get("requests", "id"),
    "stovepipe_request_uris": _uri,
    "stovepipe_request_log": _create_and_get("request_log", "request_id", "id"),
    "stovepipe_request_summaries": _create_and_get("request_summaries", "request_id"),
    "stovepipe_request_acceptances": _acceptance,
    "stovepipe_builds": _create_and_get("builds", "id"),
    "stovepipe_facts": _create_and_get("facts", "uri", "project"),
    "stovepipe_facts_by_degree": _by_degree,
    "stovepipe_build_issues": _build_issue,
    "stovepipe_open_issues": _create_and_get("open_issues", "task", "unit"),
    "stovepipe_issue_log": _create_and_get("issue_log", "task", "unit", "build", "event"),
    "stovepipe_queues": _create_and_get("queues", "name"),
    "stovepipe_queue_log": _create_and_get("queue_log", "sequence"),
    "stovepipe_queue_summaries": _create_and_get("queue_summaries", "queue"),
}
TOGETHER: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "stovepipe_request_log": st.sampled_from(
        [
            {"state": state, "event": None, "request_version": version, "outcome_reason": reason}
            for state, reasons in REASONS.items()
            for reason in reasons or [None]
            for version in (1, 2, 2**31 - 1)
        ]
        + [{"state": None, "event": event, "request_version": 0, "outcome_reason": None} for event in RequestEvent]
    ),
    "stovepipe_request_summaries": st.sampled_from(
        [
            {"state": state, "outcome_reason": reason}
            for state, reasons in REASONS.items()
            for reason in [None, *reasons]
        ]
    ),
    # The last millisecond that an integer can name can't be listed: no window reaches behind it.
    "stovepipe_request_acceptances": st.integers(1, 2**63 - 2).map(lambda at: {"accepted_at_ms": at}),
}
TABLES = [table for table in SCHEMA.tables if table.name in TRIPS]


def test_every_store_makes_the_trip() -> None:
    assert len(TABLES) == len(TRIPS) == 14


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name.removeprefix("stovepipe_"))
@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_record_comes_back_as_it_went_in(storage: Storage, table: Any, data: st.DataObject) -> None:
    queue = f"q{next(QUEUES)}"  # a queue of its own for each, so that none meets another
    record = data.draw(records(table, TOGETHER.get(table.name))).replace(**{table.key_names[0]: queue})
    found = TRIPS[table.name](Storage(storage.engine, queue), record)
    assert found == record
    kinds = [[type(value) for value in one.as_dict().values()] for one in (found, record)]
    assert kinds[0] == kinds[1]


QUEUES = count()
