"""Opening: which engines the domain runs on, and what one fleet sees of another."""

from __future__ import annotations

import pytest

import strongroom
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.domains import runners
from strongroom.engine import Engine
from tests.domains.runners.samples import OTHER, a_host, a_policy, an_attempt


def test_an_engine_of_single_record_strength_is_refused_when_it_is_opened() -> None:
    with SingleRecordEngine(strongroom.open("memory://")) as room:
        with pytest.raises(strongroom.Unsupported, match=r"runners needs multi-record .* single-record memory"):
            runners.open(room)
        assert not [name for name in room.tables() if name.startswith("runners")]


def test_opening_again_changes_nothing(room: Engine, store: runners.RunnerStore) -> None:
    store.put_host(a_host())
    assert runners.open(room).for_fleet(store.fleet).hosts() == [a_host()]


def test_a_fleet_sees_nothing_of_another(store: runners.RunnerStore, other: runners.RunnerStore) -> None:
    store.put_host(a_host())
    store.insert_policy(a_policy())
    store.record_attempt(an_attempt())
    store.record_attempt(an_attempt("a-2", slot=1))
    assert (other.host("h-1"), other.policy("p-1"), other.attempt("a-1")) == (None, None, None)
    assert (other.hosts(), other.policies(), other.attempts()) == ([], [], [])
    assert other.attempts_for_policy("p-1") == other.slot_leases_for_policy("p-1") == []
    assert other.uncleaned_ephemeral_attempts() == []
    assert not other.remove_attempt("a-1")
    other.put_host(a_host(fleet=OTHER))
    assert other.set_runner_root_override("h-1", None, "/srv/x", 0).runner_root_override == "/srv/x"
    other.insert_policy(a_policy(fleet=OTHER))
    other.update_policy_confirming_uncleaned_count(a_policy(fleet=OTHER).activate(), 0, 0)
    other.record_attempt(an_attempt("a-2", slot=1).replace(fleet=OTHER))
    assert (store.host("h-1"), store.policy("p-1")) == (a_host(), a_policy())


def test_a_record_of_another_fleet_is_refused_before_the_engine_is_asked(unasked: runners.RunnerStore) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.put_host(a_host(fleet=OTHER))
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.insert_policy(a_policy(fleet=OTHER))
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.update_policy(a_policy(fleet=OTHER), 0)
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.record_attempt(an_attempt().replace(fleet=OTHER))


@pytest.mark.parametrize("fleet", ["", "x" * 256, "a\0b"])
def test_a_fleet_has_a_name(unasked: runners.RunnerStore, fleet: str) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        runners.Runners(unasked.engine).for_fleet(fleet)


def test_what_can_not_be_kept_is_refused_before_the_engine_is_asked(unasked: runners.RunnerStore) -> None:
    with pytest.raises(runners.BlankName):
        unasked.put_host(a_host(display_name="  "))
    with pytest.raises(runners.BelowFloor) as below:
        unasked.put_host(a_host(refresh_interval_secs=29))
    assert (below.value.minimum, below.value.actual) == (30, 29)
    with pytest.raises(runners.InvalidPath):
        unasked.put_host(a_host(runner_root_override="C:\\runners"))
    with pytest.raises(strongroom.InvalidArgument, match="host_capacity"):
        unasked.put_host(a_host(host_capacity=0))
    with pytest.raises(runners.InvertedCapacityRange):
        unasked.insert_policy(a_policy(min_capacity=9))
    with pytest.raises(runners.LiveWithOutcome):
        unasked.record_attempt(an_attempt().replace(outcome_kind=runners.OutcomeKind.ORPHANED))
    with pytest.raises(strongroom.InvalidArgument, match="process_id"):
        unasked.record_attempt(an_attempt().replace(process_id=-1))
    with pytest.raises(strongroom.InvalidArgument, match="count"):
        unasked.set_runner_root_override("h-1", None, None, -1)
    with pytest.raises(strongroom.InvalidArgument, match="revision"):
        unasked.update_policy(a_policy(), -1)
    with pytest.raises(strongroom.InvalidArgument, match="slots"):
        unasked.allocate_slot("p-1", lambda slot: an_attempt(slot=slot), slots=0)


def test_an_integer_beyond_63_bits_is_refused_and_never_cut(unasked: runners.RunnerStore) -> None:
    big = 2**64 - 1
    for call, what in (
        (lambda: unasked.insert_policy(a_policy(installation_id=big)), "runners_policies.installation_id"),
        (lambda: unasked.insert_policy(a_policy(revision=big)), "runners_policies.revision"),
        (lambda: unasked.update_policy(a_policy(), big), "runners_policies.revision"),
        (lambda: unasked.remove_policy("p-1", big), "runners_policies.revision"),
        (
            lambda: unasked.record_attempt(an_attempt().replace(github_runner_id=big)),
            "runners_attempts.github_runner_id",
        ),
    ):
        with pytest.raises(runners.UnrepresentableInteger) as caught:
            call()
        assert (caught.value.what, caught.value.value) == (what, big)
        assert not runners.is_conflict(caught.value)


def test_a_path_that_is_no_text_is_refused_and_never_guessed(unasked: runners.RunnerStore) -> None:
    with pytest.raises(runners.UnrepresentablePath) as caught:
        unasked.record_attempt(an_attempt().replace(runtime_path="/srv/\udcff"))
    assert caught.value.attempt_id == "a-1"


def test_the_widest_integers_come_back(store: runners.RunnerStore) -> None:
    widest = 2**63 - 1
    store.insert_policy(a_policy(installation_id=widest, revision=widest))
    store.record_attempt(an_attempt().replace(github_runner_id=widest, process_id=2**32 - 1))
    assert store.policy("p-1") == a_policy(installation_id=widest, revision=widest)
    assert store.attempts() == [an_attempt().replace(github_runner_id=widest, process_id=2**32 - 1)]
