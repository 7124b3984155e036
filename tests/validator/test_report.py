"""A report says what is on record of a queue, cut at its limit, and reads only."""

from __future__ import annotations

import pytest

from strongroom import InvalidArgument
from strongroom.conformance.stopping import StoppingEngine
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import BuildStatus, Issue, NotFound, Storage
from strongroom.domains.stovepipe.flows import build, build_signal, ingest, process, reconcile_issues, record
from strongroom.engine import Engine
from strongroom.validator.records import SCHEMA
from strongroom.validator.report import report_on
from strongroom.validator.runs import Runs
from tests.validator.trunks import QUEUE


@pytest.fixture
def storage(room: Engine) -> Storage:
    room.prepare(SCHEMA)
    return stovepipe.open(room).for_queue(QUEUE)


def validated(storage: Storage, uri: str, projects: dict[str, float], *issues: Issue) -> None:
    """A commit that was validated by other means than the validator's."""
    request = ingest(storage, uri).request
    process(storage, request.id, slots=1)
    build(storage, request.id, lambda request: f"b{request.id}")
    build_signal(storage, f"b{request.id}", BuildStatus.FAILED if issues else BuildStatus.SUCCEEDED)
    record(storage, request.id, projects)
    reconcile_issues(storage, f"b{request.id}", issues)


def test_a_report_is_of_the_newest_commits_and_what_they_show(storage: Storage) -> None:
    validated(storage, "git:1", {"web": 0.0})
    validated(storage, "git:2", {"store": 0.25, "web": 0.5}, Issue("a.py", "keep"))
    ingest(storage, "git:3")
    found = report_on(storage, Runs(storage))
    assert [commit.summary.uri for commit in found.commits] == ["git:3", "git:2", "git:1"]
    assert [commit.fact.degree if commit.fact else None for commit in found.commits] == [None, 1.0, 0.0]
    assert [commit.run for commit in found.commits] == [None] * 3
    assert (found.last_green_uri, found.in_flight, found.enablement) == ("git:1", 0, None)
    assert found.projects_uri == "git:2"
    assert [(fact.project, fact.degree) for fact in found.projects] == [("web", 0.5), ("store", 0.25)]
    assert [(one.issue.task, one.issue.unit, one.uri) for one in found.issues] == [("a.py", "keep", "git:2")]
    assert found.issues[0].opened_at_ms > 0
    assert not found.more_commits | found.more_issues | found.more_projects


def test_every_list_is_cut_at_the_limit_and_says_so(storage: Storage) -> None:
    ingest(storage, "git:1")
    validated(storage, "git:2", {"a": 1.0, "b": 0.5}, Issue("a.py", "keep"), Issue("b.py", "sell"))
    found = report_on(storage, None, limit=1)
    assert [commit.summary.uri for commit in found.commits] == ["git:2"]
    assert [one.issue.task for one in found.issues] == ["a.py"]
    assert [fact.project for fact in found.projects] == ["a"]
    assert found.more_commits
    assert found.more_issues
    assert found.more_projects


def test_more_commits_than_a_page_are_reported(storage: Storage) -> None:
    for number in range(205):
        ingest(storage, f"git:{number}", now=1_700_000_000_000 + number)
    found = report_on(storage, None, limit=203)
    assert [commit.summary.uri for commit in found.commits] == [f"git:{number}" for number in range(204, 1, -1)]
    assert found.more_commits


def test_a_queue_that_is_not_there_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound, match="the store has no queue fruit/main"):
        report_on(storage, None)


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_limit_out_of_range_is_refused(storage: Storage, limit: int) -> None:
    with pytest.raises(InvalidArgument, match="the limit must be 1 to 1000"):
        report_on(storage, None, limit=limit)


def test_a_report_writes_nothing(room: Engine, storage: Storage) -> None:
    validated(storage, "git:1", {"web": 1.0}, Issue("a.py", "keep"))
    watched = StoppingEngine(room)
    report_on(Storage(watched, QUEUE), Runs(Storage(watched, QUEUE)))
    assert watched.writes == 0
