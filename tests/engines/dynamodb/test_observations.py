"""Whether what was read piece by piece was so at one moment (R2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from strongroom.engines.dynamodb.observations import Observations
from strongroom.engines.dynamodb.places import Place

A: Place = (b"p", b"\1a")
B: Place = (b"p", b"\1b")
GUARD: Place = (b"p", b"\0")


class Rows:
    """What a transactional read finds, as it is now."""

    def __init__(self, seen: Observations, tokens: Mapping[Place, str]) -> None:
        self.seen = seen
        self.tokens = dict(tokens)
        self.looked: list[set[Place]] = []

    def look(self, places: Sequence[Place]) -> None:
        self.looked.append(set(places))
        self.seen.saw_together({place: self.tokens[place] for place in places})

    def read(self, *places: Place) -> None:
        """Read places together, and go on what is found."""
        self.seen.saw_together({place: self.tokens[place] for place in places})
        for place in places:
            self.seen.rely(place, self.tokens[place])


@pytest.fixture
def rows() -> Rows:
    return Rows(Observations(), {A: "one", B: "one", GUARD: "1"})


def test_what_one_transactional_call_saw_was_so_at_one_moment(rows: Rows) -> None:
    rows.read(A, B)
    assert rows.seen.hold(rows.look)
    assert not rows.looked


def test_only_what_was_read_before_the_last_is_read_again(rows: Rows) -> None:
    rows.read(A)
    rows.read(B)
    assert rows.seen.hold(rows.look)
    assert rows.looked == [{A}]


def test_a_row_that_changed_before_the_last_was_read_is_noticed(rows: Rows) -> None:
    rows.read(A)
    rows.tokens[A] = "two"
    rows.read(B)
    assert not rows.seen.hold(rows.look)


def test_a_row_that_is_seen_in_two_states_is_noticed_without_another_look(rows: Rows) -> None:
    rows.read(A)
    rows.tokens[A] = "two"
    rows.read(A)
    assert rows.seen.torn
    assert not rows.seen.hold(rows.look)
    assert not rows.looked


def test_one_row_alone_needs_no_other_look(rows: Rows) -> None:
    rows.seen.saw({A: "one"})
    rows.seen.rely(A, "one")
    assert rows.seen.hold(rows.look)
    assert not rows.looked


def test_rows_that_were_not_read_by_a_transaction_are(rows: Rows) -> None:
    rows.seen.saw({A: "one", B: "one"})
    for place in (A, B):
        rows.seen.rely(place, "one")
    assert rows.seen.hold(rows.look)
    assert rows.looked == [{A, B}]


def test_a_row_that_can_never_change_still_shows_what_the_others_must_be_as_new_as(rows: Rows) -> None:
    rows.read(A)
    rows.seen.saw_together({B: "one"})
    rows.seen.rely(B, "one", constant=True)
    assert rows.seen.hold(rows.look)
    assert rows.looked == [{A}], "a transaction that left B may have something to come for A"
    assert rows.seen.changeable == {A: "one"}


def test_a_guard_is_seen_unchanged_behind_each_walk(rows: Rows) -> None:
    rows.seen.remembers(GUARD, "1")
    rows.seen.rely(GUARD, "1")
    rows.seen.must_last(GUARD)
    assert rows.seen.hold(rows.look)
    assert rows.looked == [{GUARD}]
    rows.seen.must_last(GUARD)  # another walk
    rows.tokens[GUARD] = "2"
    assert not rows.seen.hold(rows.look)


def test_where_rows_never_rest_the_next_run_reads_those_first_and_finds_the_others_as_they_were(rows: Rows) -> None:
    rows.read(A)
    rows.tokens[A] = "two"
    rows.read(B)
    assert not rows.seen.hold(rows.look)
    assert next(iter(rows.seen.likely_to_change())) == A
    rows.looked.clear()

    rows.seen.begin()
    rows.read(A)
    rows.tokens[A] = "three"  # it changes again before the run is over
    rows.read(B)
    assert rows.seen.hold(rows.look), "B has been so all the while: both were so when A was read"
    assert not rows.looked
