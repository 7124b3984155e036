"""What this machine has, and how it gets the rest."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from servers import Missing, available, find
from servers.__main__ import main
from servers.install import no_service_starts, packages_for
from servers.machine import KINDS


def test_every_kind_is_there_or_the_reason_is_told() -> None:
    found = available()
    assert found.keys() == KINDS.keys()
    for kind, where in found.items():
        if isinstance(where, Missing):
            assert str(where)
            with pytest.raises(Missing):
                find(kind)
        else:
            assert where.exists()


def test_a_program_that_is_not_installed_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("servers.machine.SEARCHED", str(tmp_path))
    for kind in ("mariadb", "galera", "pgbouncer", "namespaces"):
        with pytest.raises(Missing, match="is not installed"):
            find(kind)


def test_packages_are_named_once_and_a_kind_without_any_needs_none() -> None:
    assert packages_for(["postgres18"]) == []
    assert packages_for(["mariadb", "galera"]) == ["galera-4", "iproute2", "mariadb-server", "rsync"]


def test_no_service_starts_meanwhile_and_nothing_is_changed_afterwards(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    with no_service_starts(policy):
        assert subprocess.run([policy, "postgresql", "start"], check=False).returncode == 101
    assert not policy.exists()


def test_a_machines_own_policy_stays(tmp_path: Path) -> None:
    policy = tmp_path / "policy-rc.d"
    policy.write_text("its own")
    with no_service_starts(policy):
        assert policy.read_text() == "its own"
    assert policy.read_text() == "its own"


def test_the_command_line_lists_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KINDS)


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uninstall"]) == 2
    assert "install" in capsys.readouterr().err
