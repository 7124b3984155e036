"""`strongroom runners repo`."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from strongroom.cli.runners.policies import found_policy, scaled, standing
from strongroom.cli.runners.roots import place_of_policy, set_workspace
from strongroom.domains import runners
from strongroom.domains.runners import AttemptState, PolicyState, RunnerStore, ScalePolicy, WorkspaceMode
from strongroom.errors import InvalidArgument
from tests.cli.conftest import Run
from tests.domains.runners.samples import a_host, a_monitor, a_policy, an_attempt_in

from .conftest import BOX

S = AttemptState
PERSISTENT = WorkspaceMode.PERSISTENT


def only(store: RunnerStore) -> ScalePolicy:
    [policy] = store.policies()
    return policy


def test_a_policy_is_added_for_this_machine_pending(fleet: Run, store: RunnerStore) -> None:
    told = fleet("repo", "add", "acme/api", "--installation", 7, "--max", 4, "--min", 1, "--label", "GPU")
    policy = only(store)
    assert told.stdout == f"acme/api: policy {policy.id} of host box, 1 to 4\n"
    assert uuid.UUID(policy.id).version == 4
    assert policy.routing_labels == runners.routing_labels("host", "gpu")
    assert (policy.state, policy.enabled, policy.revision) == (PolicyState.PENDING, False, 0)
    assert [host.id for host in store.hosts()] == [policy.host_id] == ["box"]


def test_without_a_maximum_it_only_monitors(fleet: Run, store: RunnerStore) -> None:
    words = ["--id", "p-1", "--host-label", "Box", "--cache", "discard_runner_package", "--json"]
    told = json.loads(fleet("repo", "add", "acme/api", "--installation", 7, *words).stdout)
    assert (told["id"], told["max_capacity"], told["active"]) == ("p-1", None, 0)
    assert not only(store).is_autoscale
    assert only(store).requested_host_label == "box"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["acme"], "expected owner/name"),
        (["acme/api", "--min", "1"], "only monitors has min_capacity 0, not 1"),
        (["acme/api", "--label", "gpu"], "routing labels without max_capacity"),
        (["acme/api", "--min", "3", "--max", "2"], "min_capacity 3 is over max_capacity 2"),
        (["acme/api", "--max", "0"], ""),
        (["acme/api", "--max", "2", "--label", "a,b"], "without commas"),
        (["acme/api", "--host-label", "-x"], "expected a host label"),
    ],
)
def test_what_can_be_no_policy_is_refused_and_puts_no_host_on_record(
    fleet: Run, store: RunnerStore, words: list[str], complaint: str
) -> None:
    told = fleet("repo", "add", *words, "--installation", 7)
    assert (told.exit_code, told.stdout) == (2, "")
    assert complaint in told.stderr
    assert store.policies() == []
    assert store.hosts() == []


def test_a_repository_is_served_once_by_each_host(fleet: Run, store: RunnerStore) -> None:
    assert fleet("repo", "add", "acme/api", "--installation", 7, "--id", "p-1").exit_code == 0
    told = fleet("repo", "add", "Acme/API", "--installation", 7)
    assert (told.exit_code, told.stderr) == (2, "error: policy 'p-1' of host 'box' is for acme/api\n")
    assert fleet("repo", "add", "acme/other", "--installation", 7, "--id", "p-1").exit_code == 2
    assert fleet("repo", "add", "acme/api", "--installation", 7, "--host", "h-2").exit_code == 0
    assert len(store.policies()) == 2


def test_policies_are_listed_with_their_attempts_that_are_not_cleaned(fleet: Run, store: RunnerStore) -> None:
    assert fleet("repo", "list").stdout == "no policies\n"
    assert fleet("repo", "list", "--json").stdout == ""
    store.insert_policy(a_policy("p-1").activate())
    store.insert_policy(a_monitor("p-2"))
    for state in (S.BUSY, S.IDLE, S.FAILED, S.CLEANED):
        store.record_attempt(an_attempt_in(state, state))
    header, first, second = fleet("repo", "list").stdout.splitlines()
    assert header.split() == "target policy host state runners labels workspace active cleanup-blocked".split()
    assert first == "acme/api  p-1     h-1   active   0 to 4    box, gpu  ephemeral  2       1"
    assert second == "acme      p-2     h-1   pending  monitors  -         ephemeral  0       0"
    counts = [json.loads(line) for line in fleet("repo", "list", "--json").stdout.splitlines()]
    assert [(one["id"], one["active"], one["cleanup_blocked"]) for one in counts] == [("p-1", 2, 1), ("p-2", 0, 0)]


def test_a_policy_is_found_by_its_id_or_its_target() -> None:
    policies = [a_policy("p-1"), a_policy("p-2", host_id="h-2"), a_monitor("p-3")]
    assert found_policy(policies, "p-2") is policies[1]
    assert found_policy(policies, "ACME") is policies[2]
    assert found_policy(policies, "acme/API", "h-2") is policies[1]
    with pytest.raises(InvalidArgument, match="several policies are for 'acme/api': 'p-1' of host 'h-1', 'p-2' of"):
        found_policy(policies, "acme/api")
    for target, host in (("acme/web", None), ("acme/api", "h-3")):
        with pytest.raises(runners.NotFound):
            found_policy(policies, target, host)


def test_what_the_operator_wants_is_told_where_the_state_is_another() -> None:
    assert standing(a_policy()) == "pending"
    assert standing(a_policy().activate()) == "active"
    assert standing(a_policy().activate().replace(enabled=False)) == "active (not enabled)"
    assert standing(a_policy().activate().authentication_failed()) == "authentication_failed (enabled)"


def test_a_policy_is_removed_and_its_attempts_are_told(fleet: Run, store: RunnerStore) -> None:
    store.insert_policy(a_policy())
    store.record_attempt(an_attempt_in(S.BUSY))
    told = fleet("repo", "remove", "acme/api")
    assert told.stdout == "acme/api: policy p-1 is removed\n"
    assert told.stderr == "warning: its attempts that are not cleaned stay: 1 active, 0 cleanup-blocked\n"
    assert store.policies() == []
    assert len(store.attempts()) == 1
    assert fleet("repo", "remove", "acme/api").exit_code == 1


def test_a_scale_is_set_and_labels_are_added(fleet: Run, store: RunnerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.insert_policy(a_policy())
    for number in range(2):
        store.record_attempt(an_attempt_in(S.BUSY, f"a-{number}"))
    told = fleet("repo", "set-scale", "acme/api", "--max", 1, "--label", "ssd", "--label", "gpu")
    assert told.stdout == "acme/api: 0 to 1, before 0 to 4, labels box, gpu, ssd\n"
    assert told.stderr == "warning: 2 attempts are active, and go on to their end\n"
    assert (only(store).max_capacity, only(store).revision) == (1, 2)
    monkeypatch.delattr(RunnerStore, "update_policy")  # what is so already is not written
    again = json.loads(fleet("repo", "set-scale", "p-1", "--max", 1, "--label", "ssd", "--json").stdout)
    assert (again["changed"], again["revision"], again["active"]) == (False, 2, 2)
    assert only(store).revision == 2


def test_a_policy_that_only_monitors_begins_to_scale() -> None:
    begun = scaled(a_monitor(), 4, 2, ["gpu"])
    assert (begun.min_capacity, begun.max_capacity, begun.revision) == (2, 4, 1)
    assert begun.routing_labels == runners.routing_labels("host", "gpu")
    assert scaled(begun, 5, 2).max_capacity == 5
    with pytest.raises(InvalidArgument, match="keeps the minimum that it began to scale with, 2"):
        scaled(begun, 5, 1)
    with pytest.raises(runners.InvertedCapacityRange):
        scaled(begun, 1)


@pytest.mark.parametrize("words", [["set-scale", "acme/api", "--max", "9"], ["remove", "acme/api"]])
def test_a_policy_that_somebody_else_changed_is_a_conflict(
    fleet: Run, store: RunnerStore, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    store.insert_policy(a_policy().activate())
    monkeypatch.setattr(RunnerStore, "policies", lambda _store: [a_policy()])
    told = fleet("repo", *words)
    assert (told.exit_code, told.stdout) == (3, "")
    assert told.stderr == ("error: policy 'p-1' has revision 1, not 0: somebody was quicker, and nothing was written\n")
    assert store.policy("p-1") == a_policy().activate()


# Workspaces


@pytest.fixture
def served(store: RunnerStore) -> RunnerStore:
    """The fleet, with a policy of this machine."""
    store.put_host(a_host("box"))
    store.insert_policy(a_policy(host_id="box"))
    return store


def workspace(fleet: Run, *words: object) -> Any:
    return fleet("repo", "set-workspace", "acme/api", *words)


def test_a_workspace_is_made_persistent_and_ephemeral_again(fleet: Run, served: RunnerStore, tmp_path: Path) -> None:
    place = tmp_path / "api"
    told = workspace(fleet, "--mode", "persistent", "--path", place)
    assert told.stdout.splitlines() == [
        f"acme/api: persistent attempts are in {place} (repository), before in the agent's default (platform_default)",
        f"made {place}",
        "nothing was moved or deleted: what is in the former place stays there",
    ]
    assert place.is_dir()
    assert only(served) == a_policy(host_id="box").set_workspace_policy(PERSISTENT, str(place))
    served.set_runner_root_override("box", None, "/srv/run", 0)
    back = json.loads(workspace(fleet, "--mode", "ephemeral", "--json").stdout)
    assert (back["mode"], back["revision"], back["changed"]) == ("ephemeral", 2, True)
    assert back["current"] == {"path": "/srv/run", "source": "configured"}
    assert back["retained"] == str(place)
    assert place.is_dir()


def test_a_workspace_that_is_so_already_is_not_written_and_not_made(
    fleet: Run, served: RunnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    persistent = a_policy(host_id="box").set_workspace_policy(PERSISTENT, f"{tmp_path}/api")
    served.update_policy(persistent, 0)

    def write(*_arguments: object) -> None:
        raise AssertionError

    monkeypatch.setattr(RunnerStore, "update_policy_confirming_uncleaned_count", write)
    told = workspace(fleet, "--mode", "persistent", "--path", f"{tmp_path}//api/")
    assert told.stdout == f"acme/api: persistent attempts are as before in {tmp_path}/api (repository)\n"
    assert not (tmp_path / "api").exists()
    served.record_attempt(an_attempt_in(S.FAILED, slot=1))  # which is asked for all the same
    assert workspace(fleet, "--mode", "persistent", "--path", f"{tmp_path}/api").exit_code == 3


@pytest.mark.parametrize(
    ("states", "counts"),
    [([S.BUSY], "1 active, 0 cleanup-blocked"), ([S.FAILED, S.IDLE, S.ORPHANED], "1 active, 2 cleanup-blocked")],
)
def test_a_workspace_stays_while_attempts_are_not_cleaned_and_both_counts_are_told(
    fleet: Run, served: RunnerStore, tmp_path: Path, states: list[S], counts: str
) -> None:
    for number, state in enumerate(states):
        served.record_attempt(an_attempt_in(state, state, slot=number + 1 if number else None))
    served.record_attempt(an_attempt_in(S.BUSY, "of another", "p-2"))
    for path in (tmp_path / "api", "relative"):
        told = workspace(fleet, "--mode", "persistent", "--path", path)
        assert (told.exit_code, told.stdout) == (3, "")
        assert f"policy 'p-1' has attempts that are not cleaned: {counts};" in told.stderr
    assert not (tmp_path / "api").exists()
    assert only(served).revision == 0


def test_a_mode_and_a_path_that_do_not_fit_are_refused_whatever_runs(fleet: Run, served: RunnerStore) -> None:
    served.record_attempt(an_attempt_in(S.BUSY))
    assert "has no --path" in workspace(fleet, "--mode", "ephemeral", "--path", "/srv/api").stderr
    told = workspace(fleet, "--mode", "persistent")
    assert (told.exit_code, told.stderr) == (2, "error: a persistent workspace needs a --path\n")


def test_a_workspace_is_apart_from_every_other_place_of_its_host(
    fleet: Run, served: RunnerStore, tmp_path: Path
) -> None:
    served.set_runner_root_override("box", None, f"{tmp_path}/run", 0)
    other = a_policy("p-2", target_slug="acme/web", host_id="box")
    served.insert_policy(other.set_workspace_policy(PERSISTENT, f"{tmp_path}/web"))
    for path in ("run", "run/api", "web", "web/api"):
        told = workspace(fleet, "--mode", "persistent", "--path", tmp_path / path)
        assert told.exit_code == 2
        assert "overlap" in told.stderr
    assert workspace(fleet, "--mode", "persistent", "--path", tmp_path / "api").exit_code == 0
    inside = workspace(fleet, "--mode", "persistent", "--path", tmp_path / "api" / "deeper")
    assert inside.exit_code == 0  # its own former place is no other one


def test_a_workspace_is_made_on_its_own_host_only(fleet: Run, served: RunnerStore, tmp_path: Path) -> None:
    served.put_host(a_host("h-2"))
    served.insert_policy(a_policy("p-2", target_slug="acme/web", host_id="h-2"))
    words = ["repo", "set-workspace", "acme/web", "--mode", "persistent", "--path", tmp_path / "web"]
    told = fleet(*words)
    assert told.exit_code == 2
    assert "the policy is host 'h-2's" in told.stderr.replace("''", "'")
    assert not (tmp_path / "web").exists()
    assert fleet(*words, "--host", "h-2").exit_code == 0
    assert fleet("repo", "set-workspace", "acme/web", "--mode", "ephemeral").exit_code == 0


def test_an_organization_has_no_persistent_workspace_and_none_is_made(store: RunnerStore, tmp_path: Path) -> None:
    policy = a_monitor(host_id="box")
    store.insert_policy(policy)
    with pytest.raises(runners.PersistentRequiresRepositoryScope):
        set_workspace(store, policy, PERSISTENT, f"{tmp_path}/org", None, BOX)
    assert not (tmp_path / "org").exists()
    assert place_of_policy(policy, None).path is None


def test_a_workspace_that_lost_its_race_names_the_directory_that_is_left(
    fleet: Run, served: RunnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = os.mkdir

    def rival(path: str) -> None:
        mkdir(path)
        served.record_attempt(an_attempt_in(S.ALLOCATED))

    monkeypatch.setattr(os, "mkdir", rival)
    told = workspace(fleet, "--mode", "persistent", "--path", tmp_path / "api")
    assert (told.exit_code, told.stdout) == (3, "")
    assert f"nothing was written; the new directory {tmp_path}/api is left, empty" in told.stderr
    assert only(served).revision == 0
