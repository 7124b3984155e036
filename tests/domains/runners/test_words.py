"""The words are spelled as they are stored, and every state says of itself what fences count."""

from __future__ import annotations

from enum import StrEnum

import pytest

from strongroom.domains.runners import (
    Arch,
    AttemptState,
    CachePolicy,
    FailureReason,
    Os,
    OutcomeKind,
    PolicyState,
    Standing,
    StartMode,
    TargetScope,
    WorkspaceMode,
)

STORED: dict[type[StrEnum], str] = {
    AttemptState: "allocated jit_received starting idle busy finished failed orphaned cleaned",
    PolicyState: "pending active draining disabled repair_required authentication_failed",
    Os: "windows mac_os linux",
    Arch: "x64 arm64 arm32",
    StartMode: "boot login",
    CachePolicy: "retain_runner_package discard_runner_package",
    TargetScope: "repository organization",
    WorkspaceMode: "ephemeral persistent",
    Standing: "active concluded cleaned",
    OutcomeKind: "completed_job exited_idle_without_work failed orphaned",
    FailureReason: "jit_request_failed jit_expired runner_package_unverified runner_version_rejected "
    "process_start_failed process_exited_unexpectedly registration_timed_out terminated_after_registration_timeout "
    "other",
}


@pytest.mark.parametrize("words", STORED, ids=lambda words: words.__name__)
def test_what_is_stored_is_spelled_as_it_always_was(words: type[StrEnum]) -> None:
    assert [word.value for word in words] == STORED[words].split()


def test_runner_packages_call_systems_and_processors_by_other_words() -> None:
    assert [os.display for os in Os] == ["win", "osx", "linux"]
    assert [arch.display for arch in Arch] == ["x64", "arm64", "arm"]


def test_five_states_count_against_capacity_and_eight_are_uncleaned() -> None:
    live = {state for state in AttemptState if state.counts_against_capacity}
    uncleaned = {state for state in AttemptState if state.is_uncleaned}
    assert sorted(live) == ["allocated", "busy", "idle", "jit_received", "starting"]
    assert uncleaned == set(AttemptState) - {AttemptState.CLEANED}
    assert all(state.is_terminal != state.counts_against_capacity for state in AttemptState)


def test_a_states_standing_follows_from_what_it_still_holds() -> None:
    for state in AttemptState:
        assert (state.standing is Standing.ACTIVE) == state.counts_against_capacity
        assert (state.standing is not Standing.CLEANED) == state.is_uncleaned
