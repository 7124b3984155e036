"""The list of requests by the time of their acceptance: latest first, in windows, behind cursors."""

from __future__ import annotations

from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import AcceptanceCursor, AcceptanceRange
from tests.domains.stovepipe.samples import ALIKE, NOON, OTHER, an_acceptance

LAST = 2**63 - 1


def listed(storage: stovepipe.Storage, **wanted: Any) -> list[tuple[int, str]]:
    given = {"accepted_before_ms": LAST, "limit": 100, **wanted}
    return [(found.accepted_at_ms, found.request_id) for found in storage.acceptances.list(AcceptanceRange(**given))]


def fill(storage: stovepipe.Storage, *entries: tuple[int, str]) -> None:
    for at, request_id in entries:
        storage.acceptances.create(an_acceptance(at, request_id, queue=storage.queue))


def test_entries_are_listed_latest_first_and_from_the_last_id_where_times_are_equal(storage: stovepipe.Storage) -> None:
    fill(storage, (5, "b"), (7, "a"), (5, "é"), (5, "B"), (5, "10"), (5, "9"), (5, "b "), (6, "z"))
    assert listed(storage) == [
        (7, "a"), (6, "z"), (5, "é"), (5, "b "), (5, "b"), (5, "B"), (5, "9"), (5, "10"),
    ]  # fmt: skip


def test_a_window_includes_its_lower_bound_and_excludes_its_upper(storage: stovepipe.Storage) -> None:
    fill(storage, (4, "r"), (5, "r"), (6, "r"), (7, "r"))
    assert listed(storage, accepted_at_or_after_ms=5, accepted_before_ms=7) == [(6, "r"), (5, "r")]
    assert listed(storage, accepted_at_or_after_ms=6, accepted_before_ms=7) == [(6, "r")]
    assert listed(storage, accepted_at_or_after_ms=8, accepted_before_ms=9) == []
    assert listed(storage, accepted_at_or_after_ms=0, accepted_before_ms=1) == []


def test_the_first_millisecond_is_in_a_window_that_begins_at_0_or_at_1(storage: stovepipe.Storage) -> None:
    fill(storage, (1, "r"))
    assert listed(storage, accepted_at_or_after_ms=0, accepted_before_ms=2) == [(1, "r")]
    assert listed(storage, accepted_at_or_after_ms=1, accepted_before_ms=2) == [(1, "r")]


def test_nothing_accepted_is_an_empty_list(storage: stovepipe.Storage) -> None:
    assert listed(storage) == []


def test_pages_behind_cursors_make_up_the_whole_list(storage: stovepipe.Storage) -> None:
    fill(storage, *[(at, f"r{number}") for at in (5, 6, 7) for number in range(3)])
    whole = listed(storage, accepted_at_or_after_ms=5, accepted_before_ms=7)
    for limit in (1, 2, 3, 6, 7):
        found: list[tuple[int, str]] = []
        cursor = AcceptanceCursor()
        while page := storage.acceptances.list(
            AcceptanceRange(accepted_at_or_after_ms=5, accepted_before_ms=7, before=cursor, limit=limit)
        ):
            assert len(page) <= limit
            found += [(entry.accepted_at_ms, entry.request_id) for entry in page]
            cursor = AcceptanceCursor.of(page[-1])
        assert found == whole


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ((6, "b"), [(6, "a"), (5, "c")]),
        ((6, "az"), [(6, "a"), (5, "c")]),
        ((6, "a"), [(5, "c")]),
        ((5, "a"), []),
        ((7, "z"), [(6, "b"), (6, "a"), (5, "c")]),
        ((LAST, "z"), [(6, "b"), (6, "a"), (5, "c")]),
        ((1, "r"), []),
    ],
)
def test_a_cursors_entry_need_not_exist(
    storage: stovepipe.Storage, before: tuple[int, str], expected: list[tuple[int, str]]
) -> None:
    fill(storage, (5, "c"), (6, "a"), (6, "b"))
    assert listed(storage, before=AcceptanceCursor(*before)) == expected


def test_a_cursor_never_reaches_out_of_the_window(storage: stovepipe.Storage) -> None:
    fill(storage, (4, "r"), (5, "r"), (8, "r"))
    assert listed(storage, accepted_at_or_after_ms=5, accepted_before_ms=7, before=AcceptanceCursor(9, "r")) == [
        (5, "r")
    ]
    assert listed(storage, accepted_at_or_after_ms=5, accepted_before_ms=7, before=AcceptanceCursor(5, "a")) == []


def test_the_same_entry_again_is_refused(storage: stovepipe.Storage) -> None:
    storage.acceptances.create(an_acceptance())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.acceptances.create(an_acceptance())
    assert listed(storage) == [(NOON, "r-7")]


def test_a_request_at_another_time_is_another_entry(storage: stovepipe.Storage) -> None:
    fill(storage, (5, "r-7"), (6, "r-7"))
    assert listed(storage) == [(6, "r-7"), (5, "r-7")]


def test_another_queues_entries_are_never_listed(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    fill(storage, (5, "mine"))
    fill(other, (5, "theirs"), (6, "theirs"))
    assert listed(storage) == [(5, "mine")]
    assert listed(other) == [(6, "theirs"), (5, "theirs")]


def test_ids_that_look_alike_are_different_entries(storage: stovepipe.Storage) -> None:
    fill(storage, *[(5, name) for name in ALIKE])
    assert [name for _at, name in listed(storage)] == sorted(ALIKE, reverse=True)


def test_the_latest_time_there_is_can_be_kept_and_gone_on_from(storage: stovepipe.Storage) -> None:
    fill(storage, (LAST - 1, "é<&> "), (LAST - 1, "a"))
    assert listed(storage, limit=1) == [(LAST - 1, "é<&> ")]
    assert listed(storage, before=AcceptanceCursor(LAST - 1, "é<&> ")) == [(LAST - 1, "a")]


@pytest.mark.parametrize("changes", [{"accepted_at_ms": 0}, {"accepted_at_ms": -1}, {"request_id": ""}])
def test_an_entry_without_a_time_or_an_id_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, changes: dict[str, object]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.acceptances.create(an_acceptance(**changes))  # type: ignore[arg-type]


def test_another_queues_entry_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.acceptances.create(an_acceptance(queue=OTHER))


@pytest.mark.parametrize(
    "wanted",
    [
        {"accepted_at_or_after_ms": -1},
        {"accepted_at_or_after_ms": 5, "accepted_before_ms": 5},
        {"accepted_at_or_after_ms": 6, "accepted_before_ms": 5},
        {"accepted_before_ms": 0},
        {"accepted_before_ms": 2**63},
        {"accepted_at_or_after_ms": True},
        {"accepted_before_ms": 5.0},
        {"limit": 0},
        {"limit": -1},
        {"limit": 10_001},
        {"limit": True},
        {"before": AcceptanceCursor(0, "r")},
        {"before": AcceptanceCursor(5, "")},
        {"before": AcceptanceCursor(-5, "r")},
        {"before": AcceptanceCursor(-5, "")},
        {"before": AcceptanceCursor(5, "r" * 1021)},
        {"before": AcceptanceCursor(2**63, "r")},
    ],
    ids=str,
)
def test_a_range_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, wanted: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        listed(unasked, **wanted)
