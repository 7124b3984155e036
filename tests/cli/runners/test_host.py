"""`strongroom runners host`."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.cli.runners.machine import Machine, chosen_host, made_host, this_machine
from strongroom.domains import runners
from strongroom.domains.runners import Arch, AttemptState, Host, Os, RunnerStore
from strongroom.errors import InvalidArgument
from tests.cli.conftest import Run
from tests.domains.runners.samples import FLEET, NOW, a_host, a_policy, an_attempt_in

from .conftest import BOX

S = AttemptState


def test_a_capacity_is_set_and_a_host_put_on_record_by_the_machine_s_name(fleet: Run, store: RunnerStore) -> None:
    assert fleet("host", "set-capacity", 4).stdout == "host box: capacity 4, before 1\n"
    [host] = store.hosts()
    assert (host.id, host.display_name, host.os, host.architecture, host.host_capacity) == (
        "box",
        "box",
        Os.LINUX,
        Arch.X64,
        4,
    )
    told = json.loads(fleet("host", "set-capacity", 5, "--json").stdout)
    assert (told["id"], told["host_capacity"], told["previous_capacity"]) == ("box", 5, 4)


def test_a_capacity_is_set_and_nothing_else(fleet: Run, store: RunnerStore) -> None:
    before = store.put_host(a_host("h-1", display_name="box", runner_root_override="/srv/run"))
    store.put_host(a_host("h-2"))
    assert fleet("host", "set-capacity", 9).exit_code == 0
    assert store.host("h-1") == before.replace(host_capacity=9)
    assert store.host("h-2") == a_host("h-2")


def test_a_capacity_undoes_nothing_that_is_written_meanwhile(
    fleet: Run, store: RunnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_host(a_host("box"))
    change_host = RunnerStore.change_host

    def rival(itself: RunnerStore, *words: Any) -> Host:
        store.put_host(a_host("box", display_name="renamed", runner_root_override="/srv/run", host_capacity=3))
        return change_host(itself, *words)

    monkeypatch.setattr(RunnerStore, "change_host", rival)
    assert fleet("host", "set-capacity", 9).stdout == "host box: capacity 9, before 3\n"
    assert store.host("box") == a_host("box", display_name="renamed", runner_root_override="/srv/run", host_capacity=9)


@pytest.mark.parametrize("capacity", ["0", "65536", "many", "-1"])
def test_a_capacity_that_no_host_can_have_is_refused(fleet: Run, store: RunnerStore, capacity: str) -> None:
    assert fleet("host", "set-capacity", capacity).exit_code == 2
    assert store.hosts() == []


def test_a_host_is_shown_with_where_its_attempts_lie_and_how_many_are_not_cleaned(
    fleet: Run, store: RunnerStore
) -> None:
    store.put_host(a_host("box"))
    for state in (S.BUSY, S.IDLE, S.FAILED, S.CLEANED):
        store.record_attempt(an_attempt_in(state, state))
    store.record_attempt(an_attempt_in(S.BUSY, "persistent", slot=1))
    shown = fleet("host", "show").stdout
    assert "runner root         the agent's default (platform_default)\n" in shown
    assert "ephemeral attempts  2 active, 1 cleanup-blocked\n" in shown
    store.set_runner_root_override("box", None, "/srv/run", 3)
    told = json.loads(fleet("host", "show", "--json").stdout)
    assert told["runner_root"] == {"path": "/srv/run", "source": "configured"}
    assert told["ephemeral"] == {"active": 2, "cleanup_blocked": 1}
    assert told["created_at"] == NOW


def test_a_host_that_is_not_on_record_is_not_shown_and_not_made(fleet: Run, store: RunnerStore) -> None:
    told = fleet("host", "show")
    assert (told.exit_code, told.stdout, told.stderr) == (1, "", "error: there is no host 'box'\n")
    assert store.hosts() == []


def test_a_machine_is_the_host_of_its_name_and_never_guessed() -> None:
    ours, other = a_host("h-1", display_name="box"), a_host("h-2")
    assert chosen_host([], None, BOX) == "box"
    assert chosen_host([a_host("box"), ours], None, BOX) == "box"
    assert chosen_host([other, ours], None, BOX) == "h-1"
    assert chosen_host([other, ours], "h-9", BOX) == "h-9"
    for hosts, complaint in (([other], "no host of"), ([ours, ours.replace(id="h-3")], "several hosts of")):
        with pytest.raises(InvalidArgument, match=complaint) as refused:
            chosen_host(hosts, None, BOX)
        assert all(repr(host.id) in str(refused.value) for host in hosts)


def test_a_machine_of_no_known_kind_is_no_new_host(store: RunnerStore) -> None:
    strange = Machine("box", None, Arch.X64)
    with pytest.raises(InvalidArgument, match="this machine's system or processor"):
        made_host(store, None, strange)
    store.put_host(a_host("box"))
    assert made_host(store, None, strange) == a_host("box")


def test_a_root_is_set_and_reset_and_its_last_directory_made(fleet: Run, store: RunnerStore, tmp_path: Path) -> None:
    store.put_host(a_host("box"))
    root = tmp_path / "run"
    told = fleet("host", "set-runtime-root", "--path", f"{root}/./")
    assert told.stdout.splitlines() == [
        f"host box: ephemeral attempts are in {root} (configured), before in the agent's default (platform_default)",
        f"made {root}",
        "nothing was moved or deleted: what is in the former place stays there",
    ]
    assert root.is_dir()
    assert store.host("box") == a_host("box", runner_root_override=str(root))

    again = json.loads(fleet("host", "set-runtime-root", "--path", root, "--json").stdout)
    assert (again["changed"], again["made"], again["retained"]) == (False, None, None)

    (root / "kept").touch()
    reset = json.loads(fleet("host", "reset-runtime-root", "--json").stdout)
    assert reset == {
        "fleet": FLEET,
        "host": "box",
        "changed": True,
        "previous": {"path": str(root), "source": "configured"},
        "current": {"path": None, "source": "platform_default"},
        "made": None,
        "retained": str(root),
    }
    assert (root / "kept").exists()
    assert store.host("box") == a_host("box")
    assert "are as before in the agent's default" in fleet("host", "reset-runtime-root").stdout


@pytest.mark.parametrize(
    ("states", "counts"),
    [
        ([S.BUSY, S.ALLOCATED], "2 active, 0 cleanup-blocked"),
        ([S.FAILED], "0 active, 1 cleanup-blocked"),
        ([S.IDLE, S.ORPHANED, S.FINISHED, S.CLEANED], "1 active, 2 cleanup-blocked"),
    ],
)
def test_a_root_stays_while_attempts_are_not_cleaned_and_both_counts_are_told(
    fleet: Run, store: RunnerStore, tmp_path: Path, states: list[S], counts: str
) -> None:
    store.put_host(a_host("box"))
    for state in states:
        store.record_attempt(an_attempt_in(state, state, "gone"))
    # The counts come first, whatever is wrong with the path.
    for words in (["set-runtime-root", "--path", tmp_path / "run"], ["set-runtime-root", "--path", "x"]):
        told = fleet("host", *words)
        assert (told.exit_code, told.stdout) == (3, "")
        assert f"host 'box' has attempts that are not cleaned: {counts};" in told.stderr
    assert counts in fleet("host", "reset-runtime-root").stderr
    assert not (tmp_path / "run").exists()
    assert store.host("box") == a_host("box")


def test_persistent_attempts_do_not_lie_under_the_root(fleet: Run, store: RunnerStore, tmp_path: Path) -> None:
    store.record_attempt(an_attempt_in(S.BUSY, slot=1))
    assert fleet("host", "set-runtime-root", "--path", tmp_path / "run").exit_code == 0


def test_a_path_that_can_be_no_root_is_refused_and_nothing_made(fleet: Run, store: RunnerStore, tmp_path: Path) -> None:
    store.put_host(a_host("box"))
    workspace, link, file = tmp_path / "work" / "api", tmp_path / "link", tmp_path / "file"
    workspace.mkdir(parents=True)
    link.symlink_to(workspace)
    (tmp_path / "loose").symlink_to(tmp_path / "nowhere")
    file.touch()
    persistent = runners.WorkspaceMode.PERSISTENT
    store.insert_policy(a_policy(host_id="box").set_workspace_policy(persistent, str(workspace)))
    for path, complaint in {
        "relative": "expected an absolute path",
        "C:\\run": "expected an absolute path of linux",
        f"{tmp_path}/../run": "without '..'",
        "/": "more than a root",
        workspace: "overlap",
        workspace / "run": "overlap",
        workspace.parent: "overlap",
        link: "overlap",
        link / "run": "overlap",
        tmp_path / "none" / "run": f"there is no directory {tmp_path}/none",
        file: "no directory",
        file / "run": f"there is no directory {file}",
        tmp_path / "loose": "no directory",
    }.items():
        before = sorted(tmp_path.rglob("*"))
        told = fleet("host", "set-runtime-root", "--path", path)
        assert (told.exit_code, told.stdout) == (2, "")
        assert complaint in told.stderr, path
        assert sorted(tmp_path.rglob("*")) == before
    assert store.host("box") == a_host("box")


def test_places_of_other_hosts_are_on_other_disks(fleet: Run, store: RunnerStore, tmp_path: Path) -> None:
    store.put_host(a_host("box"))
    store.put_host(a_host("h-2", runner_root_override=str(tmp_path / "run")))
    persistent = runners.WorkspaceMode.PERSISTENT
    store.insert_policy(a_policy(host_id="h-2").set_workspace_policy(persistent, str(tmp_path / "run" / "api")))
    assert fleet("host", "set-runtime-root", "--path", tmp_path / "run").exit_code == 0


def test_a_root_is_set_on_the_host_s_own_system_only(fleet: Run, store: RunnerStore, tmp_path: Path) -> None:
    store.put_host(a_host("mac", os=Os.MAC_OS))
    told = fleet("host", "set-runtime-root", "--host", "mac", "--path", tmp_path / "run")
    assert told.exit_code == 2
    assert "run this on the host" in told.stderr
    assert not (tmp_path / "run").exists()


def test_a_lost_race_is_a_conflict_that_names_the_directory_that_is_left(
    fleet: Run, store: RunnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_host(a_host("box"))
    root, mkdir = tmp_path / "run", os.mkdir

    def rival(path: str) -> None:
        mkdir(path)
        store.record_attempt(an_attempt_in(S.ALLOCATED))

    monkeypatch.setattr(os, "mkdir", rival)
    told = fleet("host", "set-runtime-root", "--path", root)
    assert (told.exit_code, told.stdout) == (3, "")
    assert told.stderr == (
        "error: host 'box' has 1 uncleaned attempts, not 0: somebody was quicker, and nothing was written; "
        f"the new directory {root} is left, empty\n"
    )
    assert root.is_dir()
    assert store.host("box") == a_host("box")


def test_a_fault_after_the_directory_was_made_names_it_too(
    fleet: Run, store: RunnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put_host(a_host("box"))

    def fail(*_arguments: object) -> None:
        raise strongroom.Unavailable("gone")

    monkeypatch.setattr(RunnerStore, "set_runner_root_override", fail)
    told = fleet("host", "set-runtime-root", "--path", tmp_path / "run")
    assert (told.exit_code, told.stderr) == (3, f"the new directory {tmp_path}/run is left, empty\nerror: gone\n")


def test_this_machine_knows_itself() -> None:
    assert this_machine().name == socket.gethostname()


def test_a_named_host_that_is_not_there_is_made_only_by_who_sets_something(fleet: Run, store: RunnerStore) -> None:
    assert fleet("host", "show", "--host", "h-7").exit_code == 1
    assert fleet("host", "set-capacity", 2, "--host", "h-7").exit_code == 0
    assert [host.id for host in store.hosts()] == ["h-7"]
