from __future__ import annotations

import hashlib
from typing import Any

import pytest

from strongroom import Corrupt, CursorExpired, InvalidArgument
from strongroom.conformance.stopping import StoppingEngine
from strongroom.domains.stovepipe import NotFound, ProjectFactByDegree, RequestSummary, Storage, ValidationFact
from strongroom.domains.stovepipe.flows import NotReady, ProjectStatus, get_project_status, ingest
from strongroom.domains.stovepipe.records import FACTS, FACTS_BY_DEGREE
from strongroom.domains.stovepipe.words import RequestState
from strongroom.engine import Engine
from strongroom.patterns import make_cursor
from tests.domains.stovepipe.flows.support import QUEUE, refuse

URI = "git://1"
DEGREES = {"web": 0.25, "api": 1.0, "Billing": 0.25, "docs": 0.0, "écoute": 0.25}
WORST_FIRST = ["api", "Billing", "web", "écoute", "docs"]


def fact(project: str, degree: float, request_id: str = "1") -> ValidationFact:
    return ValidationFact(QUEUE, URI, project, degree, request_id, 500)


def names(status: ProjectStatus) -> list[str]:
    return [fact.project for fact in status.facts]


def all_pages(storage: Storage, projects: list[str], limit: int) -> list[list[str]]:
    pages, token = [], ""
    while True:
        status = get_project_status(storage, URI, projects, limit=limit, token=token)
        pages.append(names(status))
        token = status.token
        if not token:
            return pages


@pytest.fixture
def recorded(storage: Storage) -> Storage:
    ingest(storage, URI, now=100)
    storage.facts.create(fact("", 1.0))
    for project, degree in DEGREES.items():
        storage.facts.create(fact(project, degree))
        storage.facts_by_degree.ensure(fact(project, degree))
    return storage


class TestWithoutNames:
    def test_all_recorded_projects_come_most_broken_first(self, recorded: Storage) -> None:
        status = get_project_status(recorded, URI)
        assert (status.request, status.token) == (recorded.request_summaries.get("1"), "")
        assert status.facts == [fact(project, DEGREES[project]) for project in WORST_FIRST]

    @pytest.mark.parametrize("limit", [1, 2, 5, 6])
    def test_pages_make_up_the_whole_list(self, recorded: Storage, limit: int) -> None:
        pages = all_pages(recorded, [], limit)
        assert sum(pages, []) == WORST_FIRST  # noqa: RUF017 - five of them
        assert all(len(page) == limit for page in pages[:-1])

    def test_a_commit_without_recorded_projects_has_none(self, storage: Storage) -> None:
        ingest(storage, URI, now=100)
        assert get_project_status(storage, URI).facts == []

    def test_a_fact_without_its_place_in_the_list_is_not_looked_for(self, recorded: Storage) -> None:
        recorded.facts.create(fact("old", 1.0))
        assert names(get_project_status(recorded, URI)) == WORST_FIRST

    @pytest.mark.parametrize(("project", "degree"), [("nowhere", 0.5), ("docs", 0.5)])
    def test_a_place_that_its_fact_disagrees_with_is_corrupt(
        self, recorded: Storage, project: str, degree: float
    ) -> None:
        recorded.engine.insert(FACTS_BY_DEGREE, ProjectFactByDegree(QUEUE, URI, degree, project))
        with pytest.raises(Corrupt):
            get_project_status(recorded, URI)


class TestWithNames:
    def test_they_come_in_the_callers_order_and_those_without_a_fact_are_left_out(self, recorded: Storage) -> None:
        asked = ["docs", "unknown", "api", "Billing"]
        assert names(get_project_status(recorded, URI, asked)) == ["docs", "api", "Billing"]

    def test_a_page_looks_at_so_many_names(self, recorded: Storage) -> None:
        asked = ["docs", "unknown", "api", "Billing", "web"]
        assert all_pages(recorded, asked, 2) == [["docs"], ["api", "Billing"], ["web"]]
        assert all_pages(recorded, asked, 5) == [["docs", "api", "Billing", "web"]]

    def test_a_name_differs_by_its_bytes(self, recorded: Storage) -> None:
        assert names(get_project_status(recorded, URI, ["billing", "docs ", "Billing"])) == ["Billing"]

    @pytest.mark.parametrize("projects", [["api", "api"], [""], ["p" * 256], ["api", "a\0"], [7], "api", ["\ud800"]])
    def test_names_out_of_range_are_refused_before_anything_is_read(
        self, recorded: Storage, monkeypatch: pytest.MonkeyPatch, projects: Any
    ) -> None:
        monkeypatch.setattr(recorded.engine, "get", refuse)
        with pytest.raises(InvalidArgument):
            get_project_status(recorded, URI, projects)


class TestTheToken:
    @pytest.mark.parametrize("asked", [[], ["docs", "api", "web"]])
    def test_it_is_bound_to_its_question(self, recorded: Storage, asked: list[str]) -> None:
        token = get_project_status(recorded, URI, asked, limit=1).token
        ingest(recorded, "git://2", now=200)
        for uri, projects in (
            ("git://2", asked),
            (URI, ["api", "docs", "web"]),
            (URI, ["docs", "api"]),
            (URI, [] if asked else ["docs"]),
        ):
            with pytest.raises(InvalidArgument):
                get_project_status(recorded, uri, projects, token=token)
        with pytest.raises(InvalidArgument):
            get_project_status(recorded, URI, asked, token=token[:-1])

    @pytest.mark.parametrize("asked", [[], ["docs", "api", "web"]])
    def test_its_page_may_have_another_size(self, recorded: Storage, asked: list[str]) -> None:
        first = get_project_status(recorded, URI, asked, limit=1)
        rest = get_project_status(recorded, URI, asked, limit=200, token=first.token)
        assert names(first) + names(rest) == (asked or WORST_FIRST)

    def test_one_that_stands_nowhere_is_refused(self, recorded: Storage) -> None:
        names_digest = hashlib.blake2b(b"docs\0api", digest_size=16).hexdigest()
        elsewhere = make_cursor(recorded.engine.epoch, FACTS, (QUEUE, URI, "1", names_digest), ("nowhere",))
        with pytest.raises(InvalidArgument):
            get_project_status(recorded, URI, ["docs", "api"], token=elsewhere)

    @pytest.mark.parametrize("asked", [[], ["docs", "api"]])
    def test_one_from_before_a_restore_has_expired(
        self, recorded: Storage, monkeypatch: pytest.MonkeyPatch, asked: list[str]
    ) -> None:
        token = get_project_status(recorded, URI, asked, limit=1).token
        monkeypatch.setattr(recorded.engine, "_epoch", "0123456789abcdef")
        with pytest.raises(CursorExpired):
            get_project_status(recorded, URI, asked, token=token)


def test_a_commit_without_a_request_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound):
        get_project_status(storage, URI)


def test_a_commit_whose_request_is_not_shown_yet_is_not_ready(storage: Storage) -> None:
    storage.request_uris.create(URI, "1")
    with pytest.raises(NotReady) as raised:
        get_project_status(storage, URI)
    assert raised.value.retryable


def test_a_summary_of_another_commit_is_corrupt(storage: Storage) -> None:
    storage.request_uris.create(URI, "1")
    storage.request_summaries.create(RequestSummary(QUEUE, "1", "git://2", RequestState.ACCEPTED, 1, 100))
    with pytest.raises(Corrupt):
        get_project_status(storage, URI)


@pytest.mark.parametrize("asked", [[], ["api", "theirs"]])
def test_another_requests_fact_is_corrupt_and_no_partial_page(recorded: Storage, asked: list[str]) -> None:
    recorded.facts.create(fact("theirs", 0.75, request_id="9"))
    recorded.facts_by_degree.ensure(fact("theirs", 0.75))
    with pytest.raises(Corrupt):
        get_project_status(recorded, URI, asked)
    assert names(get_project_status(recorded, URI, ["api"])) == ["api"]


@pytest.mark.parametrize("limit", [0, -1, 201, True])
def test_a_limit_out_of_range_is_refused(recorded: Storage, limit: int) -> None:
    with pytest.raises(InvalidArgument):
        get_project_status(recorded, URI, limit=limit)


def test_facts_of_another_queue_are_not_seen(recorded: Storage) -> None:
    other = Storage(recorded.engine, "other")
    ingest(other, URI, now=100)
    assert get_project_status(other, URI, ["api"]).facts == []
    assert get_project_status(other, URI).facts == []


def test_it_writes_nothing(room: Engine, recorded: Storage) -> None:
    engine = StoppingEngine(room)
    get_project_status(Storage(engine, QUEUE), URI, limit=1)
    get_project_status(Storage(engine, QUEUE), URI, ["api", "web"], limit=1)
    assert engine.writes == 0
