from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from strongroom import InvalidArgument
from strongroom.conformance.stopping import Stopped, StoppingEngine
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Build, Issue, IssueEvent, IssueLog, NotFound, Storage
from strongroom.domains.stovepipe.flows import Reconciled, issues, reconcile_issues
from strongroom.domains.stovepipe.records import ISSUE_LOG, ISSUE_MARKS
from strongroom.engine import Engine
from tests.domains.stovepipe.flows.support import QUEUE, before_first, before_write, race

A, B, C, D = Issue("lint", "a"), Issue("test", "b"), Issue("test", "c"), Issue("test")


def reconcile(storage: Storage, build: str, *shown: Issue, now: int = 500) -> Reconciled:
    """Reconcile a build whose id is its request's, with a letter more for a second build."""
    try:
        storage.builds.get(build)
    except NotFound:
        storage.builds.create(Build(storage.queue, build, build.rstrip("b")))
    return reconcile_issues(storage, build, shown, now=now)


def open_issues(storage: Storage) -> dict[Issue, str]:
    return {Issue(row.task, row.unit): row.first_seen_build for row in storage.open_issues.list(limit=100)}


def transitions(storage: Storage) -> set[tuple[Issue, str, str]]:
    rows = storage.engine.scan(ISSUE_LOG, storage.queue, limit=1000)
    return {(Issue(row.task, row.unit), row.build, row.event) for row in rows}


def observed(storage: Storage, build: str) -> list[Issue]:
    return [Issue(row.task, row.unit) for row in storage.build_issues.list(build, limit=100)]


def test_what_the_first_build_shows_is_opened_and_logged(storage: Storage) -> None:
    assert reconcile(storage, "1", B, A, D, B) == Reconciled("1", opened=(A, D, B), resolved=())
    assert open_issues(storage) == {A: "1", D: "1", B: "1"}
    assert observed(storage, "1") == [A, D, B]
    for task, unit in (A, B, D):
        log = IssueLog(QUEUE, task, unit, "1", IssueEvent.OPENED, 500)
        assert storage.issue_log.get(task, unit, "1", IssueEvent.OPENED) == log


def test_the_next_build_opens_keeps_and_resolves(storage: Storage) -> None:
    reconcile(storage, "1", A, B)
    assert reconcile(storage, "2", B, C, now=600) == Reconciled("2", opened=(C,), resolved=(A,))
    assert open_issues(storage) == {B: "1", C: "2"}
    assert transitions(storage) == {(A, "1", "opened"), (B, "1", "opened"), (A, "2", "resolved"), (C, "2", "opened")}
    assert storage.issue_log.get(*A, "2", IssueEvent.RESOLVED).timestamp_ms == 600
    assert observed(storage, "1") == [A, B]


def test_an_issue_that_comes_back_is_another_opening(storage: Storage) -> None:
    for build, shown in (("1", [A]), ("2", []), ("3", [A])):
        reconcile(storage, build, *shown)
    assert open_issues(storage) == {A: "3"}
    assert transitions(storage) == {(A, "1", "opened"), (A, "2", "resolved"), (A, "3", "opened")}


def test_a_build_that_shows_nothing_resolves_everything(storage: Storage) -> None:
    reconcile(storage, "1", A, D)
    assert reconcile(storage, "2").resolved == (A, D)
    assert open_issues(storage) == {}


def test_a_task_and_its_units_are_issues_of_their_own(storage: Storage) -> None:
    reconcile(storage, "1", D, B)
    assert reconcile(storage, "2", B).resolved == (D,)


def test_once_more_it_changes_nothing(storage: Storage) -> None:
    reconcile(storage, "1", A, B)
    before = (open_issues(storage), transitions(storage))
    assert reconcile(storage, "1", A, B, now=900) == Reconciled("1", (), ())
    assert (open_issues(storage), transitions(storage)) == before
    assert storage.issue_log.get(*A, "1", IssueEvent.OPENED).timestamp_ms == 500


def test_what_was_observed_for_the_build_before_counts_too(storage: Storage) -> None:
    storage.build_issues.create("1", A)
    assert reconcile(storage, "1", B).opened == (A, B)


class TestAStaleBuild:
    def test_it_undoes_nothing_and_its_observations_are_kept(self, storage: Storage) -> None:
        reconcile(storage, "1", A)
        reconcile(storage, "3", B)
        before = (open_issues(storage), transitions(storage))
        assert reconcile(storage, "2", A, C) == Reconciled("3", (), ())
        assert (open_issues(storage), transitions(storage)) == before
        assert observed(storage, "2") == [A, C]

    def test_age_is_that_of_the_request_compared_as_a_number(self, storage: Storage) -> None:
        reconcile(storage, "10", A)
        assert reconcile(storage, "9", B).build == "10"
        assert reconcile(storage, "11", C).build == "11"

    def test_another_build_of_the_same_request_is_stale(self, storage: Storage) -> None:
        reconcile(storage, "1", A)
        assert reconcile(storage, "1b", B) == Reconciled("1", (), ())
        assert open_issues(storage) == {A: "1"}

    def test_it_finishes_what_the_newest_one_left_undone(
        self, storage: Storage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Death(Exception):
            pass

        def die() -> None:
            raise Death

        before_first(monkeypatch, storage.open_issues, "create", die)
        with pytest.raises(Death):
            reconcile(storage, "2", A)
        assert open_issues(storage) == {}
        assert reconcile(storage, "1", B) == Reconciled("2", opened=(A,), resolved=())


class TestABuildThatIsOvertaken:
    """Build 2 is overtaken by build 3 just before each of its writes in turn."""

    WRITES = 1 + 2 + 1 + 4 * 2
    """Its own record, two observations, the mark, and two resolutions and two openings in two writes each."""

    def overtaken(self, room: Engine, monkeypatch: pytest.MonkeyPatch, number: int, *, dies: bool) -> Storage:
        class Death(Exception):
            pass

        storage = stovepipe.open(room).for_queue(f"queue {number}")
        reconcile(storage, "1", A, D)
        logged: set[tuple[Issue, str, str]] = set()

        def rival() -> None:
            monkeypatch.undo()
            reconcile(storage, "3", A, B)
            logged.update(transitions(storage))
            if dies:
                raise Death

        before_write(monkeypatch, storage, number, rival)
        try:
            reconcile(storage, "2", B, C)
        except Death:
            assert dies
            reconcile(storage, "2", B, C)
        else:
            assert not dies
        assert [row.build for row in storage.engine.scan(ISSUE_MARKS, storage.queue, limit=2)] == ["3"]
        # One change was under way when it was overtaken; it began no other.
        assert len({issue for issue, build, _event in transitions(storage) - logged if build == "2"}) <= 1
        return storage

    @pytest.mark.parametrize("dies", [False, True])
    def test_it_leaves_open_what_the_newer_one_showed(
        self, room: Engine, monkeypatch: pytest.MonkeyPatch, dies: bool
    ) -> None:
        for number in range(1, self.WRITES + 1):
            storage = self.overtaken(room, monkeypatch, number, dies=dies)
            assert open_issues(storage).keys() == {A, B}, number
            self.history_agrees(storage)

    def history_agrees(self, storage: Storage) -> None:
        """What is open was opened by the build that it is open since."""
        for issue, build in open_issues(storage).items():
            assert (issue, build, "opened") in transitions(storage)

    def test_these_are_all_its_writes(self, room: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        storage = stovepipe.open(room).for_queue(QUEUE)
        reconcile(storage, "1", A, D)
        engine = StoppingEngine(room)
        reconcile(Storage(engine, QUEUE), "2", B, C)
        assert engine.writes == self.WRITES

    def test_stopped_anywhere_and_overtaken_it_changes_nothing_when_it_comes_back(self, room: Engine) -> None:
        opened = stovepipe.open(room)
        for number in range(1, self.WRITES + 1):
            storage = opened.for_queue(f"queue {number}")
            reconcile(storage, "1", A, D)
            with pytest.raises(Stopped):
                reconcile(Storage(StoppingEngine(room, number), storage.queue), "2", B, C)
            reconcile(storage, "3", A, B)
            before = (open_issues(storage), transitions(storage))
            assert open_issues(storage).keys() == {A, B}
            assert reconcile(storage, "2", B, C) == Reconciled("3", (), ())
            assert (open_issues(storage), transitions(storage)) == before


def test_threads_that_reconcile_many_builds_end_with_the_newest(storage: Storage) -> None:
    shown = {n: [Issue("task", str(unit)) for unit in range(n, n + 4)] for n in range(1, 9)}

    def part(first: int) -> None:
        for n in range(first, 9, 2):
            reconcile(storage, str(n), *shown[n])

    race(lambda: part(1), lambda: part(2))
    assert set(open_issues(storage)) == set(shown[8])


def test_more_issues_than_a_page_are_all_reconciled(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issues, "_PAGE", 2)
    many = [Issue("task", str(unit)) for unit in range(5)]
    assert len(reconcile(storage, "1", *many).opened) == 5
    assert len(reconcile(storage, "2", many[2]).resolved) == 4
    assert open_issues(storage) == {many[2]: "1"}


def test_issues_of_other_queues_are_let_alone(storage: Storage) -> None:
    other = Storage(storage.engine, "other")
    reconcile(other, "9", A)
    assert reconcile(storage, "1", B) == Reconciled("1", opened=(B,), resolved=())
    assert open_issues(other) == {A: "9"}


@pytest.mark.parametrize(
    "wrong", [Issue("", "u"), Issue("t" * 256), Issue("t", "u" * 1025), Issue("t\0"), ("t", "u"), "tu"]
)
def test_issues_out_of_range_are_refused_and_nothing_is_written(storage: Storage, wrong: Any) -> None:
    with pytest.raises(InvalidArgument):
        reconcile(storage, "1", A, wrong)
    assert_nothing_is_written(storage)


def test_a_time_out_of_range_is_refused_and_nothing_is_written(storage: Storage) -> None:
    with pytest.raises(InvalidArgument):
        reconcile(storage, "1", A, now=0)
    assert_nothing_is_written(storage)


def assert_nothing_is_written(storage: Storage) -> None:
    assert observed(storage, "1") == []
    assert storage.engine.scan(ISSUE_MARKS, QUEUE, limit=1) == []


def test_a_build_that_is_not_there_is_not_found(storage: Storage) -> None:
    with pytest.raises(NotFound):
        reconcile_issues(storage, "1", [A])
    assert_nothing_is_written(storage)


def test_a_build_of_what_is_no_request_id_is_refused(storage: Storage) -> None:
    storage.builds.create(Build(QUEUE, "bk", "request/1"))
    with pytest.raises(InvalidArgument):
        reconcile_issues(storage, "bk", [A])
    assert_nothing_is_written(storage)


def test_it_may_be_stopped_at_every_write(survives_stops: Callable[..., int]) -> None:
    def before(storage: Storage) -> None:
        reconcile(storage, "1", A, D)
        storage.builds.create(Build(QUEUE, "2", "2"))

    def flow(storage: Storage) -> None:
        assert reconcile_issues(storage, "2", [D, B, C], now=600).build == "2"

    # three observations, the mark, a resolution and two openings in two writes each
    assert survives_stops(before, flow) == 3 + 1 + 6
