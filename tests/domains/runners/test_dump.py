"""The dump and the operator's tools: every row of a fleet as text, and every row held against what it follows from."""

from __future__ import annotations

import re

import pytest

from strongroom import operations
from strongroom.domains import runners
from strongroom.domains.runners import AttemptState, FailureReason, Outcome
from strongroom.domains.runners.tables import (
    ATTEMPTS,
    EPHEMERALS,
    LEASES,
    STANDINGS,
    AttemptStanding,
    EphemeralAttempt,
    SlotLease,
    standing_of,
)
from strongroom.engine import Engine
from tests.domains.runners.samples import FLEET, NOW, a_host, a_monitor, a_policy, an_attempt, an_attempt_in

S = AttemptState
TOKEN = re.compile(r"gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w+|eyJ[\w-]+\.[\w-]+\.[\w-]+")
"""What a forge's credentials look like."""


def fill(store: runners.RunnerStore) -> None:
    store.put_host(a_host(runner_root_override="/srv/run"))
    store.insert_policy(a_policy())
    store.insert_policy(a_monitor("p-2"))
    for state in S:
        store.record_attempt(an_attempt_in(state, f"e-{state}"))
        store.record_attempt(an_attempt_in(state, f"p-{state}", slot=1 + list(S).index(state)))


def test_a_dump_has_every_table_and_column_and_is_always_the_same(store: runners.RunnerStore) -> None:
    fill(store)
    text = store.dump_text()
    assert text.startswith("# schema runners version 1\n")
    for table in runners.SCHEMA.tables:
        assert f"\n## {table.name}\n" in text
        for column in table.columns:
            assert f"\n{table.name}.{column.name}=" in text
    assert '\nrunners_hosts.runner_root_override="/srv/run"\n' in text
    assert f"\nrunners_attempts.created_at={NOW}\n" in text
    assert text.count("\nrunners_attempts.id=") == 2 * len(S)
    assert store.dump_text() == text


def test_a_dump_shows_one_fleet(store: runners.RunnerStore, other: runners.RunnerStore) -> None:
    fill(store)
    assert "=" not in other.dump_text()
    assert all(f"## {table.name}" in other.dump_text() for table in runners.SCHEMA.tables)


def test_no_dump_shows_what_looks_like_a_secret(store: runners.RunnerStore) -> None:
    secret = "ghp_" + "0123456789abcdef" * 2
    assert TOKEN.search(f"x={secret}")  # the search finds what it is for
    fill(store)
    failed = an_attempt("a-9").conclude(Outcome.failed(FailureReason.OTHER, f"401 for {secret}"), NOW)
    store.record_attempt(failed)
    assert store.attempt("a-9") == failed
    text = store.dump_text()
    assert '"a-9"' in text
    assert not TOKEN.search(text)
    assert "401 for" not in text


def findings(room: Engine) -> list[str]:
    return sorted(str(finding) for finding in operations.verify(room, [runners.SUBJECT]))


def test_what_the_store_writes_is_found_whole(store: runners.RunnerStore, room: Engine) -> None:
    fill(store)
    store.remove_attempt("p-busy")
    store.record_attempt(an_attempt_in(S.CLEANED, "e-idle"))
    assert findings(room) == []


@pytest.mark.parametrize("missing", [STANDINGS, EPHEMERALS, LEASES], ids=lambda table: table.name)
def test_a_row_that_is_missing_beside_its_attempt_is_found(
    store: runners.RunnerStore, room: Engine, missing: object
) -> None:
    attempt = store.record_attempt(an_attempt(slot=2 if missing is LEASES else None))
    if missing is STANDINGS:
        room.delete(STANDINGS, *STANDINGS.key_in(standing_of(attempt)))
    elif missing is EPHEMERALS:
        room.delete(EPHEMERALS, FLEET, "a-1")
    else:
        room.delete(LEASES, FLEET, "p-1", 2)
    assert findings(room) == [f"runners_attempts('{FLEET}', 'a-1'): lacks its row in {getattr(missing, 'name', '')}"]


def test_a_row_that_no_attempt_leads_to_is_found(store: runners.RunnerStore, room: Engine) -> None:
    store.record_attempt(an_attempt_in(S.CLEANED, slot=1))
    room.insert(LEASES, SlotLease(FLEET, "p-1", 1, "a-1"))
    room.insert(EPHEMERALS, EphemeralAttempt(FLEET, "gone"))
    room.insert(STANDINGS, AttemptStanding(FLEET, "p-1", runners.Standing.ACTIVE, "a-1"))
    assert findings(room) == [
        f"runners_attempts('{FLEET}', 'a-1'): has a row that it should not have in runners_slot_leases",
        f"runners_ephemerals('{FLEET}', 'gone'): points to nothing",
        f"runners_slot_leases('{FLEET}', 'p-1', 1): disagrees with runners_attempts('{FLEET}', 'a-1')",
        f"runners_standings('{FLEET}', 'p-1', 'active', 'a-1'): disagrees with runners_attempts('{FLEET}', 'a-1')",
    ]


def test_a_store_without_attempts_has_nothing_to_find(store: runners.RunnerStore, room: Engine) -> None:
    store.put_host(a_host())
    assert room.count(ATTEMPTS, FLEET, limit=1) == 0
    assert findings(room) == []
