"""What builds showed, what is open, and when it opened and was resolved: three memories that never touch."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import Issue, IssueCursor, IssueEvent
from tests.domains.stovepipe.samples import ALIKE, NOON, OTHER, a_build_issue, a_transition, an_open_issue

TASK, UNIT = a_build_issue().task, a_build_issue().unit

SCRAMBLED = [("b", "x"), ("a", "é"), ("a", ""), ("B", "z"), ("a", "9"), ("a", "z"), ("b", ""), ("a ", ""), ("a", "10")]
IN_ORDER = [("B", "z"), ("a", ""), ("a", "10"), ("a", "9"), ("a", "z"), ("a", "é"), ("a ", ""), ("b", ""), ("b", "x")]


def observe(storage: stovepipe.Storage, build: str, *issues: tuple[str, str]) -> None:
    for task, unit in issues:
        storage.build_issues.create(build, Issue(task, unit))


def observed(storage: stovepipe.Storage, build: str = "b-1", **wanted: Any) -> list[tuple[str, str]]:
    page = storage.build_issues.list(build, **{"limit": 100, **wanted})
    assert all(issue.build == build for issue in page)
    return [(issue.task, issue.unit) for issue in page]


def open_all(storage: stovepipe.Storage, *issues: tuple[str, str]) -> None:
    for task, unit in issues:
        storage.open_issues.create(an_open_issue(queue=storage.queue, task=task, unit=unit))


def opened(storage: stovepipe.Storage, **wanted: Any) -> list[tuple[str, str]]:
    return [(issue.task, issue.unit) for issue in storage.open_issues.list(**{"limit": 100, **wanted})]


# Observations


def test_an_observation_is_kept_in_the_stores_own_queue(storage: stovepipe.Storage) -> None:
    storage.build_issues.create("b-1", Issue(TASK, UNIT))
    assert storage.build_issues.get("b-1", TASK, UNIT) == a_build_issue()


def test_an_observation_without_a_unit_is_the_whole_tasks(storage: stovepipe.Storage) -> None:
    storage.build_issues.create("b-1", Issue(TASK))
    assert storage.build_issues.get("b-1", TASK) == a_build_issue(unit="")
    with pytest.raises(stovepipe.NotFound):
        storage.build_issues.get("b-1", TASK, UNIT)


def test_an_observation_again_already_exists(storage: stovepipe.Storage) -> None:
    storage.build_issues.create("b-1", Issue(TASK, UNIT))
    with pytest.raises(stovepipe.AlreadyExists):
        storage.build_issues.create("b-1", Issue(TASK, UNIT))
    assert observed(storage) == [(TASK, UNIT)]


def test_two_builds_may_show_the_same_issue(storage: stovepipe.Storage) -> None:
    observe(storage, "b-1", (TASK, UNIT))
    observe(storage, "b-2", (TASK, UNIT))
    assert observed(storage, "b-1") == observed(storage, "b-2") == [(TASK, UNIT)]


def test_what_a_build_showed_is_listed_bytewise_and_the_whole_task_before_its_units(storage: stovepipe.Storage) -> None:
    observe(storage, "b-1", *SCRAMBLED)
    assert observed(storage) == IN_ORDER


def test_other_builds_and_queues_are_never_listed(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    observe(storage, "b-1", ("a", "mine"))
    observe(storage, "b-10", ("a", "longer"))
    observe(storage, "B-1", ("a", "larger"))
    observe(other, "b-1", ("a", "theirs"))
    assert observed(storage) == [("a", "mine")]
    assert observed(other) == [("a", "theirs")]
    assert observed(storage, "b") == []


def test_issues_that_look_alike_are_different_issues(storage: stovepipe.Storage) -> None:
    observe(storage, "b-1", *[(task, unit) for task in ALIKE for unit in ALIKE])
    assert observed(storage) == sorted((task, unit) for task in ALIKE for unit in ALIKE)
    for build in ALIKE:
        observe(storage, build, ("t", build))
    assert [observed(storage, build) for build in ALIKE] == [[("t", build)] for build in ALIKE]


# Membership


def test_an_open_issue_knows_the_build_that_opened_it(storage: stovepipe.Storage) -> None:
    storage.open_issues.create(an_open_issue())
    assert storage.open_issues.get(TASK, UNIT) == an_open_issue()


def test_an_issue_that_is_not_open_is_not_found(storage: stovepipe.Storage) -> None:
    storage.open_issues.create(an_open_issue())
    for task, unit in [(TASK, ""), (TASK, UNIT.lower()), ("//billing", UNIT)]:
        with pytest.raises(stovepipe.NotFound):
            storage.open_issues.get(task, unit)


def test_opening_what_is_open_is_refused_and_keeps_the_present_opening(storage: stovepipe.Storage) -> None:
    storage.open_issues.create(an_open_issue())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.open_issues.create(an_open_issue(first_seen_build="b-2"))
    assert storage.open_issues.get(TASK, UNIT).first_seen_build == "b-1"


def test_open_issues_are_listed_bytewise(storage: stovepipe.Storage) -> None:
    open_all(storage, *SCRAMBLED)
    assert opened(storage) == IN_ORDER


def test_another_queues_open_issues_are_never_seen(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    open_all(storage, ("a", "mine"))
    open_all(other, ("a", "theirs"))
    assert opened(storage) == [("a", "mine")]
    with pytest.raises(stovepipe.NotFound):
        storage.open_issues.get("a", "theirs")
    assert not storage.open_issues.delete("a", "theirs", "b-1")
    assert opened(other) == [("a", "theirs")]


def test_the_opening_that_is_named_is_closed(storage: stovepipe.Storage) -> None:
    open_all(storage, (TASK, UNIT), (TASK, ""), ("other", UNIT))
    assert storage.open_issues.delete(TASK, UNIT, "b-1")
    assert opened(storage) == [(TASK, ""), ("other", UNIT)]


def test_closing_twice_and_closing_what_never_opened_do_nothing(storage: stovepipe.Storage) -> None:
    storage.open_issues.create(an_open_issue())
    assert storage.open_issues.delete(TASK, UNIT, "b-1")
    assert not storage.open_issues.delete(TASK, UNIT, "b-1")
    assert not storage.open_issues.delete("never", "", "b-1")


def test_a_stale_delete_never_removes_a_later_opening(storage: stovepipe.Storage) -> None:
    storage.open_issues.create(an_open_issue())
    storage.open_issues.delete(TASK, UNIT, "b-1")
    storage.open_issues.create(an_open_issue(first_seen_build="b-9"))
    assert not storage.open_issues.delete(TASK, UNIT, "b-1")
    assert storage.open_issues.get(TASK, UNIT).first_seen_build == "b-9"


@pytest.mark.parametrize("build", ["B-1", "b-1 ", "b-", "b-11", "b-2"])
def test_only_exactly_the_first_seen_build_closes_an_opening(storage: stovepipe.Storage, build: str) -> None:
    storage.open_issues.create(an_open_issue())
    assert not storage.open_issues.delete(TASK, UNIT, build)
    assert storage.open_issues.get(TASK, UNIT) == an_open_issue()


# Pages, the same for observations and membership


@pytest.mark.parametrize("limit", [1, 2, 4, 9, 10])
def test_pages_behind_cursors_make_up_the_whole_list(storage: stovepipe.Storage, limit: int) -> None:
    observe(storage, "b-1", *SCRAMBLED)
    open_all(storage, *SCRAMBLED)
    for page_of in (
        lambda cursor: storage.build_issues.list("b-1", after=cursor, limit=limit),
        lambda cursor: storage.open_issues.list(after=cursor, limit=limit),
    ):
        found: list[tuple[str, str]] = []
        cursor = IssueCursor()
        while page := page_of(cursor):
            assert len(page) <= limit
            cursor = IssueCursor.of(page[-1])
            found += [(issue.task, issue.unit) for issue in page]
        assert found == IN_ORDER


@pytest.mark.parametrize(
    ("cursor", "first"),
    [
        (IssueCursor(), ("B", "z")),
        (IssueCursor("a"), ("a", "10")),
        (IssueCursor("a", ""), ("a", "10")),
        (IssueCursor("a", "5"), ("a", "9")),
        (IssueCursor("a", "é"), ("a ", "")),
        (IssueCursor("a", "ü"), ("a ", "")),
        (IssueCursor("A"), ("B", "z")),
        (IssueCursor("a\x01", "z"), ("a ", "")),
        (IssueCursor("b", "x"), None),
        (IssueCursor("💥", "💥"), None),
    ],
)
def test_a_listing_goes_on_behind_its_cursor_whether_or_not_that_exists(
    storage: stovepipe.Storage, cursor: IssueCursor, first: tuple[str, str] | None
) -> None:
    observe(storage, "b-1", *SCRAMBLED)
    open_all(storage, *SCRAMBLED)
    expected = [] if first is None else IN_ORDER[IN_ORDER.index(first) :]
    assert observed(storage, after=cursor) == expected
    assert opened(storage, after=cursor) == expected


def test_a_cursor_may_stand_at_an_issue_that_was_closed_meanwhile(storage: stovepipe.Storage) -> None:
    open_all(storage, ("a", ""), ("b", ""), ("c", ""))
    cursor = IssueCursor.of(storage.open_issues.list(limit=2)[-1])
    storage.open_issues.delete("b", "", "b-1")
    assert opened(storage, after=cursor) == [("c", "")]


def test_nothing_observed_and_nothing_open_are_empty_lists(storage: stovepipe.Storage) -> None:
    assert observed(storage) == []
    assert opened(storage) == []


@pytest.mark.parametrize(
    "wanted",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": 10_001},
        {"limit": True},
        {"limit": "9"},
        {"after": IssueCursor("", "x")},
        {"after": IssueCursor("t" * 256, "")},
        {"after": IssueCursor("t", "u" * 1025)},
        {"after": IssueCursor("a\0b", "")},
        {"after": ("t",)},
        {"after": ("t", "u", "b")},
    ],
    ids=str,
)
def test_a_cursor_or_limit_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, wanted: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        observed(unasked, **wanted)
    with pytest.raises(strongroom.InvalidArgument):
        opened(unasked, **wanted)


# History


def test_a_transition_comes_back_as_it_was(storage: stovepipe.Storage) -> None:
    storage.issue_log.create(a_transition())
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED) == a_transition()


def test_an_opening_and_a_resolution_in_one_build_stand_beside_each_other(storage: stovepipe.Storage) -> None:
    resolved = a_transition(event=IssueEvent.RESOLVED, timestamp_ms=NOON + 1)
    storage.issue_log.create(a_transition())
    storage.issue_log.create(resolved)
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED) == a_transition()
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.RESOLVED) == resolved


def test_a_replay_is_refused_and_the_first_time_is_kept(storage: stovepipe.Storage) -> None:
    storage.issue_log.create(a_transition())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.issue_log.create(a_transition(timestamp_ms=NOON + 60_000))
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED).timestamp_ms == NOON


def test_a_transition_that_was_not_recorded_is_not_found(storage: stovepipe.Storage) -> None:
    storage.issue_log.create(a_transition())
    for key in [
        (TASK, UNIT, "b-1", IssueEvent.RESOLVED),
        (TASK, UNIT, "b-2", IssueEvent.OPENED),
        (TASK, "", "b-1", IssueEvent.OPENED),
    ]:
        with pytest.raises(stovepipe.NotFound):
            storage.issue_log.get(*key)


def test_the_same_transition_in_two_queues_is_two(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.issue_log.create(a_transition())
    other.issue_log.create(a_transition(queue=OTHER, timestamp_ms=1))
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED).timestamp_ms == NOON
    assert other.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED).timestamp_ms == 1


def test_closing_an_issue_leaves_its_observations_and_its_history(storage: stovepipe.Storage) -> None:
    storage.build_issues.create("b-1", Issue(TASK, UNIT))
    storage.open_issues.create(an_open_issue())
    storage.issue_log.create(a_transition())
    storage.open_issues.delete(TASK, UNIT, "b-1")
    storage.open_issues.create(an_open_issue(first_seen_build="b-5"))
    assert observed(storage) == [(TASK, UNIT)]
    assert storage.issue_log.get(TASK, UNIT, "b-1", IssueEvent.OPENED) == a_transition()
    with pytest.raises(stovepipe.NotFound):
        storage.issue_log.get(TASK, UNIT, "b-5", IssueEvent.OPENED)


@pytest.mark.parametrize(
    "changes",
    [
        {"timestamp_ms": 0},
        {"timestamp_ms": -1},
        {"event": "reopened"},
        {"event": ""},
        {"event": "e" * 33},
        {"event": "Opened"},
        {"task": ""},
        {"build": ""},
        {"unit": "a\0b"},
    ],
    ids=str,
)
def test_a_transition_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.issue_log.create(a_transition(**changes))
    if "timestamp_ms" not in changes:
        bad = a_transition(**changes)
        with pytest.raises(strongroom.InvalidArgument):
            unasked.issue_log.get(bad.task, bad.unit, bad.build, bad.event)


# Names


def test_another_queues_record_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.open_issues.create(an_open_issue(queue=OTHER))
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.issue_log.create(a_transition(queue=OTHER))


def test_an_empty_build_or_task_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    for call in (
        lambda: unasked.build_issues.create("", Issue("t")),
        lambda: unasked.build_issues.create("b", Issue("")),
        lambda: unasked.build_issues.get("", "t"),
        lambda: unasked.build_issues.get("b", ""),
        lambda: unasked.build_issues.list("", limit=1),
        lambda: unasked.open_issues.create(an_open_issue(task="")),
        lambda: unasked.open_issues.create(an_open_issue(first_seen_build="")),
        lambda: unasked.open_issues.get(""),
        lambda: unasked.open_issues.delete("", "", "b"),
        lambda: unasked.open_issues.delete("t", "", ""),
    ):
        with pytest.raises(strongroom.InvalidArgument):
            call()
