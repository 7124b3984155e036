"""What is stored and can't be: each row is proved on every read, and told by what is wrong with it (R4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import strongroom
from strongroom.domains import runners
from strongroom.domains.runners import AttemptState
from strongroom.domains.runners.tables import ATTEMPTS, EPHEMERALS, HOSTS, LEASES, POLICIES, STANDINGS
from strongroom.engine import Engine
from strongroom.records import AnyTable
from tests.domains.engines import FailingEngine
from tests.domains.runners.planted import break_seal, plant
from tests.domains.runners.samples import FLEET, NOW, a_host, a_monitor, a_policy, an_attempt, an_attempt_in

S = AttemptState

COLUMNS: list[tuple[AnyTable, Any, str, Any]] = [
    (HOSTS, a_host(), "os", "plan9"),
    (HOSTS, a_host(), "host_capacity", 0),
    (HOSTS, a_host(), "created_at", -1),
    (POLICIES, a_policy(), "state", "asleep"),
    (POLICIES, a_policy(), "max_capacity", 0),
    (POLICIES, a_policy(), "enabled", 7),
    (POLICIES, a_policy(), "revision", -1),
    (POLICIES, a_policy(), "routing_labels", '{"host_label":'),
    (POLICIES, a_policy(), "workspace_mode", "permanent"),
    (ATTEMPTS, an_attempt(), "state", "asleep"),
    (ATTEMPTS, an_attempt(), "process_id", -1),
    (ATTEMPTS, an_attempt(), "created_at", -1),
    (ATTEMPTS, an_attempt(), "outcome_kind", "exploded"),
    (ATTEMPTS, an_attempt(), "workspace_mode", "permanent"),
    (ATTEMPTS, an_attempt(slot=1), "workspace_slot", 70_000),
]

SHAPES: list[tuple[AnyTable, Any, dict[str, Any], type[runners.CorruptRow], type[runners.Invalid]]] = [
    (HOSTS, a_host(), {"display_name": " "}, runners.CorruptHost, runners.BlankName),
    (HOSTS, a_host(), {"refresh_interval_secs": 1}, runners.CorruptHost, runners.BelowFloor),
    *(
        (HOSTS, a_host(), {"runner_root_override": path}, runners.CorruptHostWorkspace, runners.InvalidPath)
        for path in ("\\\\server\\share", "srv/run", "/srv/../run", "/", "C:\\run", "/srv//run")
    ),
    (POLICIES, a_policy(), {"max_capacity": None}, runners.CorruptPolicy, runners.AutoscaleWithoutMaxCapacity),
    (POLICIES, a_policy(), {"routing_labels": None}, runners.CorruptPolicy, runners.AutoscaleWithoutRoutingLabels),
    (POLICIES, a_monitor(), {"min_capacity": 1}, runners.CorruptPolicy, runners.MonitorOnlyWithMinCapacity),
    (POLICIES, a_policy(), {"min_capacity": 5}, runners.CorruptPolicy, runners.InvertedCapacityRange),
    (POLICIES, a_monitor(), {"target_slug": "acme/api"}, runners.CorruptPolicy, runners.Invalid),
    (
        POLICIES,
        a_policy(),
        {"routing_labels": '{"additional":["a,b"],"host_label":"box"}'},
        runners.CorruptPolicy,
        runners.Invalid,
    ),
    (POLICIES, a_policy(), {"workspace_path": "/srv"}, runners.CorruptPolicy, runners.EphemeralWithRoot),
    (POLICIES, a_policy(), {"workspace_mode": "persistent"}, runners.CorruptPolicy, runners.PersistentWithoutRoot),
    (
        POLICIES,
        a_monitor(),
        {"workspace_mode": "persistent", "workspace_path": "/srv"},
        runners.CorruptPolicy,
        runners.PersistentRequiresRepositoryScope,
    ),
    (
        POLICIES,
        a_policy(),
        {"workspace_mode": "persistent", "workspace_path": "srv"},
        runners.CorruptPolicy,
        runners.InvalidPath,
    ),
    (
        ATTEMPTS,
        an_attempt_in(S.FINISHED),
        {"outcome_kind": None},
        runners.CorruptAttempt,
        runners.TerminalWithoutOutcome,
    ),
    (ATTEMPTS, an_attempt(), {"outcome_kind": "orphaned"}, runners.CorruptAttempt, runners.LiveWithOutcome),
    (
        ATTEMPTS,
        an_attempt_in(S.FINISHED),
        {"state": "failed"},
        runners.CorruptAttempt,
        runners.OutcomeOfAnotherState,
    ),
    (
        ATTEMPTS,
        an_attempt_in(S.FINISHED),
        {"terminal_at": None},
        runners.CorruptAttempt,
        runners.TerminalWithoutTime,
    ),
    (ATTEMPTS, an_attempt(), {"workspace_mode": "persistent"}, runners.CorruptAttempt, runners.PersistentWithoutSlot),
    (ATTEMPTS, an_attempt(), {"workspace_slot": 1}, runners.CorruptAttempt, runners.EphemeralWithSlot),
    (ATTEMPTS, an_attempt(slot=1), {"workspace_slot": 0}, runners.CorruptAttempt, runners.SlotNotPositive),
]


def looks(store: runners.RunnerStore, table: AnyTable) -> list[Callable[[], object]]:
    """The reads that meet the row: by itself, and in a list."""
    if table is HOSTS:
        return [lambda: store.host("h-1"), store.hosts]
    if table is POLICIES:
        return [lambda: store.policy("p-1"), store.policies]
    return [lambda: store.attempt("a-1"), store.attempts]


@pytest.mark.parametrize(("table", "record", "column", "value"), COLUMNS)
def test_a_column_that_holds_what_it_can_not_is_named(
    store: runners.RunnerStore, room: Engine, table: AnyTable, record: Any, column: str, value: Any
) -> None:
    plant(room, table, record, **{column: value})
    for look in looks(store, table):
        with pytest.raises(runners.CorruptColumn) as caught:
            look()
        assert (caught.value.table, caught.value.key, caught.value.column) == (table.name, (FLEET, record.id), column)
        assert str(value) in str(caught.value)
        assert not runners.is_conflict(caught.value)


@pytest.mark.parametrize(("table", "record", "stored", "kind", "refusal"), SHAPES)
def test_columns_that_contradict_each_other_are_told_by_what_is_wrong(
    store: runners.RunnerStore,
    room: Engine,
    table: AnyTable,
    record: Any,
    stored: dict[str, Any],
    kind: type[runners.CorruptRow],
    refusal: type[runners.Invalid],
) -> None:
    plant(room, table, record, **stored)
    for look in looks(store, table):
        with pytest.raises(strongroom.Corrupt) as caught:
            look()
        fault = caught.value
        assert type(fault) is kind
        assert isinstance(fault, runners.CorruptRow)
        assert type(fault.refusal) is refusal
        assert (fault.table, fault.key) == (table.name, (FLEET, record.id))
        assert not runners.is_conflict(fault)


@pytest.mark.parametrize(
    ("table", "record", "kind"),
    [
        (HOSTS, a_host(), runners.CorruptHost),
        (POLICIES, a_policy(), runners.CorruptPolicy),
        (ATTEMPTS, an_attempt(), runners.CorruptAttempt),
    ],
)
def test_a_broken_seal_is_told_of_its_kind_of_record(
    store: runners.RunnerStore, room: Engine, table: AnyTable, record: Any, kind: type[runners.CorruptRow]
) -> None:
    break_seal(room, table, record)
    for look in looks(store, table):
        with pytest.raises(kind, match="seal") as caught:
            look()
        assert caught.value.refusal is None


def test_one_bad_row_fails_a_list_and_not_its_neighbours(store: runners.RunnerStore, room: Engine) -> None:
    store.record_attempt(an_attempt("good"))
    store.record_attempt(an_attempt())
    break_seal(room, ATTEMPTS, an_attempt())
    listings: list[Callable[[], object]] = [
        store.attempts,
        lambda: store.attempts_for_policy("p-1"),
        lambda: store.active_attempts_for_policy("p-1"),
        lambda: store.uncleaned_attempts_for_policy("p-1"),
        store.uncleaned_ephemeral_attempts,
    ]
    for listing in listings:
        with pytest.raises(runners.CorruptAttempt):
            listing()
    assert store.attempt("good") == an_attempt("good")


def test_what_an_attempt_failed_of_is_never_shown(store: runners.RunnerStore, room: Engine) -> None:
    secret = "ghp_" + "x" * 36
    failed = an_attempt_in(S.FAILED)
    plant(room, ATTEMPTS, failed, failure_detail=secret)
    with pytest.raises(runners.CorruptAttempt) as caught:
        store.attempt("a-1")
    assert "ghp_" not in str(caught.value) + repr(caught.value) + str(caught.value.refusal)
    assert "a-1" in str(caught.value)
    plant(room, ATTEMPTS, failed, failure_detail=secret * 200)
    with pytest.raises(runners.CorruptColumn) as column:
        store.attempt("a-1")
    assert column.value.column == "failure_detail"
    assert "ghp_" not in str(column.value) + repr(column.value.__cause__)


def test_a_guarded_write_to_a_corrupt_policy_is_no_conflict(store: runners.RunnerStore, room: Engine) -> None:
    plant(room, POLICIES, a_policy(), revision=-1)
    writes: list[Callable[[], object]] = [
        lambda: store.update_policy(a_policy(), 0),
        lambda: store.update_policy_confirming_active_count(a_policy(), 0, 0),
        lambda: store.remove_policy("p-1", 0),
        lambda: store.insert_policy(a_policy()),
    ]
    for write in writes:
        with pytest.raises(runners.CorruptColumn, match="found -1"):
            write()
    plant(room, HOSTS, a_host(), runner_root_override="srv")
    with pytest.raises(runners.CorruptHostWorkspace):
        store.set_runner_root_override("h-1", None, None, 0)


def test_times_before_the_beginning_are_repaired_on_reading_and_counted(
    store: runners.RunnerStore, room: Engine
) -> None:
    finished = store.record_attempt(an_attempt_in(S.FINISHED))
    plant(room, ATTEMPTS, finished, last_state_change_at=NOW - 1, terminal_at=NOW - 2)
    whole = finished.replace(last_state_change_at=NOW, terminal_at=NOW)
    assert store.attempt("a-1") == whole
    assert store.clock_skew_repairs == 2
    assert store.attempts() == store.attempts_for_policy("p-1") == [whole]
    assert store.clock_skew_repairs == 6


def test_rows_that_contradict_their_attempt_are_no_partial_list(store: runners.RunnerStore, room: Engine) -> None:
    store.record_attempt(an_attempt(slot=1))
    plant(room, ATTEMPTS, an_attempt_in(S.CLEANED, slot=1))
    with pytest.raises(strongroom.Corrupt, match="disagrees") as standing:
        store.attempts_for_policy("p-1")
    assert standing.value.table == STANDINGS.name
    with pytest.raises(strongroom.Corrupt, match="disagrees") as lease:
        store.slot_leases_for_policy("p-1")
    assert lease.value.table == LEASES.name
    store.record_attempt(an_attempt("a-2"))
    room.delete(ATTEMPTS, FLEET, "a-2")
    with pytest.raises(strongroom.Corrupt, match="points to nothing") as gone:
        store.uncleaned_ephemeral_attempts()
    assert gone.value.table == EPHEMERALS.name


CALLS: dict[str, Callable[[runners.RunnerStore], object]] = {
    "put_host": lambda s: s.put_host(a_host()),
    "host": lambda s: s.host("h-1"),
    "hosts": lambda s: s.hosts(),
    "set_runner_root_override": lambda s: s.set_runner_root_override("h-1", None, None, 0),
    "insert_policy": lambda s: s.insert_policy(a_policy()),
    "update_policy": lambda s: s.update_policy(a_policy(), 0),
    "update_policy_confirming_active_count": lambda s: s.update_policy_confirming_active_count(a_policy(), 0, 0),
    "update_policy_confirming_uncleaned_count": lambda s: s.update_policy_confirming_uncleaned_count(a_policy(), 0, 0),
    "remove_policy": lambda s: s.remove_policy("p-1", 0),
    "policy": lambda s: s.policy("p-1"),
    "policies": lambda s: s.policies(),
    "record_attempt": lambda s: s.record_attempt(an_attempt()),
    "allocate_slot": lambda s: s.allocate_slot("p-1", lambda slot: an_attempt(slot=slot)),
    "attempt": lambda s: s.attempt("a-1"),
    "attempts": lambda s: s.attempts(),
    "attempts_for_policy": lambda s: s.attempts_for_policy("p-1"),
    "active_attempts_for_policy": lambda s: s.active_attempts_for_policy("p-1"),
    "uncleaned_attempts_for_policy": lambda s: s.uncleaned_attempts_for_policy("p-1"),
    "slot_leases_for_policy": lambda s: s.slot_leases_for_policy("p-1"),
    "uncleaned_ephemeral_attempts": lambda s: s.uncleaned_ephemeral_attempts(),
    "remove_attempt": lambda s: s.remove_attempt("a-1"),
    "dump_text": lambda s: s.dump_text(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize(
    "fault",
    [strongroom.Unavailable("down"), strongroom.CommitUnknown("who knows", token="t"), strongroom.Corrupt("bad")],
    ids=lambda fault: type(fault).__name__,
)
def test_an_engines_fault_comes_out_as_the_same_object(
    call: Callable[[runners.RunnerStore], object], fault: strongroom.StrongroomError
) -> None:
    store = runners.Runners(FailingEngine(fault)).for_fleet(FLEET)
    with pytest.raises(type(fault)) as caught:
        call(store)
    assert caught.value is fault
