"""Facts about commits and projects, and the list of a commit's project facts."""

from __future__ import annotations

import math
from typing import Any

import pytest

import strongroom
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import DegreeCursor, ValidationFact
from tests.domains.stovepipe.samples import ALIKE, NOON, OTHER, a_fact

URI = a_fact().uri


def test_a_fact_comes_back_as_it_was(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact(degree=0.1 + 0.2))
    assert storage.facts.get(URI, "billing") == a_fact(degree=0.30000000000000004)


def test_the_first_fact_is_the_fact_for_ever(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.facts.create(a_fact(degree=1.0, request_id="r-8", created_at=NOON + 1))
    assert storage.facts.get(URI, "billing") == a_fact()


def test_what_was_never_validated_is_not_found_and_so_not_green(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    for uri, project in [(URI, ""), (URI, "Billing"), ("git://monorepo/8", "billing")]:
        with pytest.raises(stovepipe.NotFound):
            storage.facts.get(uri, project)


def test_a_commit_has_a_fact_of_the_whole_and_facts_of_its_projects(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact(project="", degree=1.0))
    storage.facts.create(a_fact())
    assert storage.facts.get(URI) == a_fact(project="", degree=1.0)
    assert storage.facts.get(URI, "billing") == a_fact()


def test_a_commits_facts_in_two_queues_are_independent(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    with pytest.raises(stovepipe.NotFound):
        other.facts.get(URI, "billing")
    other.facts.create(a_fact(queue=OTHER, degree=1.0))
    assert storage.facts.get(URI, "billing").degree == 0.25
    assert other.facts.get(URI, "billing").degree == 1.0


def test_projects_that_look_alike_are_different_projects(storage: stovepipe.Storage) -> None:
    for number, name in enumerate(ALIKE):
        storage.facts.create(a_fact(project=name, degree=number / 10))
    assert [storage.facts.get(URI, name).degree for name in ALIKE] == [n / 10 for n in range(len(ALIKE))]


@pytest.mark.parametrize(("degree", "green"), [(0.0, True), (-0.0, True), (0.25, False), (1.0, False), (5e-324, False)])
def test_only_nothing_broken_is_green(degree: float, green: bool) -> None:
    assert a_fact(degree=degree).is_green is green


def test_minus_zero_is_kept_as_zero(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact(degree=-0.0))
    storage.facts_by_degree.create(a_fact(degree=-0.0))
    assert math.copysign(1, storage.facts.get(URI, "billing").degree) == 1
    assert storage.facts_by_degree.list(URI, limit=9) == [a_fact(degree=0.0)]


BAD_DEGREES = [-0.01, 1.01, math.nan, math.inf, -math.inf, "1", True, None, 10**400]


@pytest.mark.parametrize("degree", BAD_DEGREES, ids=repr)
def test_a_degree_outside_0_to_1_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage, degree: Any) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts.create(a_fact(degree=degree))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.create(a_fact(degree=degree))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.ensure(a_fact(degree=degree))


def test_the_whole_repository_is_green_or_broken_and_nothing_between(storage: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        storage.facts.create(a_fact(project="", degree=0.25))
    storage.facts.create(a_fact(project="", degree=0.0))
    assert storage.facts.get(URI).is_green


def record(storage: stovepipe.Storage, *facts: tuple[float, str], uri: str = URI) -> list[ValidationFact]:
    made = [a_fact(queue=storage.queue, uri=uri, degree=degree, project=project) for degree, project in facts]
    for fact in made:
        storage.facts.create(fact)
        storage.facts_by_degree.create(fact)
    return made


def places(facts: list[ValidationFact]) -> list[tuple[float, str]]:
    return [(fact.degree, fact.project) for fact in facts]


def test_projects_are_listed_most_broken_first_and_bytewise_where_equal(storage: stovepipe.Storage) -> None:
    record(storage, (0.0, "a"), (0.5, "b"), (1.0, "é"), (0.5, "B"), (1.0, "z"), (5e-324, "c"), (0.5, "9"), (0.5, "10"))
    assert places(storage.facts_by_degree.list(URI, limit=100)) == [
        (1.0, "z"), (1.0, "é"), (0.5, "10"), (0.5, "9"), (0.5, "B"), (0.5, "b"), (5e-324, "c"), (0.0, "a"),
    ]  # fmt: skip


def test_the_facts_themselves_are_listed(storage: stovepipe.Storage) -> None:
    fact = a_fact(request_id="r-9", created_at=7)
    storage.facts.create(fact)
    storage.facts_by_degree.create(fact)
    assert storage.facts_by_degree.list(URI, limit=1) == [fact]


def test_one_by_one_gives_the_same_list(storage: stovepipe.Storage) -> None:
    record(storage, *[(degree, f"{name}{degree}") for degree in (0.0, 0.25, 1.0) for name in ("a", "b", "c ")])
    whole = storage.facts_by_degree.list(URI, limit=100)
    for limit in (1, 2, 4, 9):
        found: list[ValidationFact] = []
        cursor = None
        while page := storage.facts_by_degree.list(URI, after=cursor, limit=limit):
            assert len(page) <= limit
            found += page
            cursor = DegreeCursor.of(page[-1])
        assert found == whole


def test_the_cursors_fact_need_not_exist(storage: stovepipe.Storage) -> None:
    record(storage, (1.0, "a"), (0.5, "b"), (0.5, "d"), (0.0, "e"))
    for cursor, expected in [
        (DegreeCursor(0.5, "c"), [(0.5, "d"), (0.0, "e")]),
        (DegreeCursor(0.75, "z"), [(0.5, "b"), (0.5, "d"), (0.0, "e")]),
        (DegreeCursor(0.0, "z"), []),
        (DegreeCursor(1, "a"), [(0.5, "b"), (0.5, "d"), (0.0, "e")]),
    ]:
        assert places(storage.facts_by_degree.list(URI, after=cursor, limit=9)) == expected


def test_other_commits_and_queues_are_never_listed(storage: stovepipe.Storage, other: stovepipe.Storage) -> None:
    record(storage, (1.0, "mine"))
    record(storage, (1.0, "later"), uri=URI + "0")
    record(other, (1.0, "theirs"))
    assert places(storage.facts_by_degree.list(URI, limit=9)) == [(1.0, "mine")]
    assert storage.facts_by_degree.list("git://monorepo", limit=9) == []


def test_a_fact_without_an_entry_is_not_listed(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    assert storage.facts_by_degree.list(URI, limit=9) == []


def test_an_entry_again_is_refused_or_absorbed_as_the_caller_likes(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    assert storage.facts_by_degree.ensure(a_fact())
    assert not storage.facts_by_degree.ensure(a_fact(request_id="r-9", created_at=1))
    with pytest.raises(stovepipe.AlreadyExists):
        storage.facts_by_degree.create(a_fact())
    assert storage.facts_by_degree.list(URI, limit=9) == [a_fact()]


def test_a_retry_adds_the_entry_that_a_stopped_writer_left_out(storage: stovepipe.Storage) -> None:
    storage.facts.create(a_fact())
    with pytest.raises(stovepipe.AlreadyExists):
        storage.facts.create(a_fact(degree=0.75))
    # What is entered is the fact that was kept, not the one just computed.
    assert storage.facts_by_degree.ensure(storage.facts.get(URI, "billing"))
    assert storage.facts_by_degree.list(URI, limit=9) == [a_fact()]


def test_an_entry_of_another_degree_than_its_fact_is_corrupt_and_fails_its_page(storage: stovepipe.Storage) -> None:
    record(storage, (1.0, "api"), (0.0, "web"))
    storage.facts.create(a_fact())
    storage.facts_by_degree.create(a_fact(degree=0.75))
    with pytest.raises(strongroom.Corrupt, match="stovepipe_facts_by_degree") as caught:
        storage.facts_by_degree.list(URI, limit=9)
    assert caught.value.key == (storage.queue, URI, 0.75, "billing")
    # Pages that do not touch it can still be read.
    assert places(storage.facts_by_degree.list(URI, limit=1)) == [(1.0, "api")]
    assert places(storage.facts_by_degree.list(URI, after=DegreeCursor(0.75, "billing"), limit=9)) == [(0.0, "web")]


def test_an_entry_without_its_fact_is_corrupt(storage: stovepipe.Storage) -> None:
    storage.facts_by_degree.create(a_fact())
    with pytest.raises(strongroom.Corrupt):
        storage.facts_by_degree.list(URI, limit=9)


def test_the_whole_repository_is_not_listed_among_its_projects(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.create(a_fact(project="", degree=1.0))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.ensure(a_fact(project="", degree=1.0))


def test_another_queues_fact_is_refused_before_the_engine_is_asked(unasked: stovepipe.Storage) -> None:
    for call in (unasked.facts.create, unasked.facts_by_degree.create, unasked.facts_by_degree.ensure):
        with pytest.raises(strongroom.ScopeMismatch):
            call(a_fact(queue=OTHER))


@pytest.mark.parametrize(
    ("cursor", "limit"),
    [
        (None, 0),
        (None, -1),
        (None, 10_001),
        (DegreeCursor(0.5, ""), 9),
        (DegreeCursor(math.nan, "a"), 9),
        (DegreeCursor(1.5, "a"), 9),
        (DegreeCursor(-0.5, "a"), 9),
        (DegreeCursor(0.5, "p" * 256), 9),
        ((0.5,), 9),
        ((0.5, "a", "b"), 9),
    ],
    ids=str,
)
def test_a_cursor_or_limit_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: stovepipe.Storage, cursor: Any, limit: int
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.list(URI, after=cursor, limit=limit)


def test_an_empty_commit_has_no_list(unasked: stovepipe.Storage) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.facts_by_degree.list("", limit=1)
