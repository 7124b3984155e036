"""The test engine whose commits fail when they are told to: healthy otherwise, and honest when not."""

from __future__ import annotations

import pytest

import strongroom
from strongroom import CommitUnknown, Conflict, Unavailable
from strongroom.conformance import Ability, UnreliableEngine, UnreliableHarness, UrlHarness, conformance_tests
from strongroom.conformance.tables import MARKS, SCHEMA, Mark

test_conformance = conformance_tests(
    lambda _folder: UnreliableHarness(UrlHarness("memory://unreliable")), clauses=["T1", "T3", "T4", "T5", "T6"]
)


@pytest.fixture
def engine() -> UnreliableEngine:
    engine = UnreliableEngine(strongroom.open("memory://"))
    engine.prepare(SCHEMA)
    return engine


@pytest.mark.parametrize(
    ("fault", "raised", "kept"),
    [
        (Ability.FAILED_COMMIT, Unavailable, False),
        (Ability.LOST_ANSWER, CommitUnknown, True),
        (Ability.LOST_COMMIT, CommitUnknown, False),
        (Ability.CONFLICTS, Conflict, False),
    ],
)
def test_each_fault_is_what_it_says(
    engine: UnreliableEngine, fault: Ability, raised: type[Exception], kept: bool
) -> None:
    engine.fault = fault
    with pytest.raises(raised) as caught:
        engine.insert(MARKS, Mark("a"))
    engine.fault = None
    assert (engine.get(MARKS, "a") is not None) is kept
    if isinstance(caught.value, CommitUnknown):
        assert engine.resolve(caught.value.token) is kept


def test_a_harness_inflicts_faults_on_the_engines_that_are_open() -> None:
    harness = UnreliableHarness(UrlHarness("memory://inflicted"))
    with harness.open() as engine:
        engine.prepare(SCHEMA)
        with harness.inflict(Ability.FAILED_COMMIT), pytest.raises(Unavailable):
            engine.insert(MARKS, Mark("a"))
        engine.insert(MARKS, Mark("a"))
