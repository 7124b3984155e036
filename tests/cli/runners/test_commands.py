"""What all commands of `strongroom runners` have in common: examples, options, rooms, fleets."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import strongroom
from strongroom.cli import runners as commands
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.domains import runners
from strongroom.domains.runners import RunnerStore
from tests.cli.conftest import Run
from tests.conftest import SERVERS
from tests.docs.pages import pages
from tests.domains.runners.samples import FLEET, OTHER, a_host

LOOKS = (["status"], ["attempts"], ["host", "show"], ["repo", "list"])


def leaves(group: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from leaves(command, *path, name)
        else:
            yield " ".join([*path, name]), command


COMMANDS = dict(leaves(typer.main.get_command(commands.app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_explained_with_an_example_of_itself_and_documented(run: Run, name: str) -> None:
    answer = run("runners", *name.split(), "--help")
    assert answer.exit_code == 0
    found = re.search(r"^Example: (strongroom .*)$", COMMANDS[name].help, re.MULTILINE)
    assert found
    assert found[1].startswith(f"strongroom runners {name}")
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {word for word in shlex.split(found[1]) if word.startswith("-")} <= known
    page = pages()["docs/cli.md"]
    section = page.section("strongroom runners") + page.section("What all commands have in common")
    assert f"`{name}" in section
    for option in known - {"--help"}:
        explained = re.search(rf"`[^`\n]*{option}\b", section)
        assert explained or not option.startswith("--"), f"{option} is not explained"
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", ""), f"{parameter.name} is not explained"


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_makes_no_room_and_no_table(run: Run, tmp_path: Path, look: list[str]) -> None:
    url = f"sqlite:///{tmp_path}/room.db"
    told = run("runners", *look, "--room", url)
    assert (told.exit_code, told.stdout) == (2, "")
    assert list(tmp_path.glob("room.db*")) == []
    with strongroom.open(url) as engine:
        there = engine.tables()
    told = run("runners", *look, "--room", url)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr == f"error: the room {url} keeps no runners\n"
    with strongroom.open(url) as engine:
        assert engine.tables() == there


def test_a_change_makes_no_room_and_makes_its_tables(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/room.db"
    words = ["runners", "host", "set-capacity", 2, "--room", url]
    assert run(*words).exit_code == 2
    assert list(tmp_path.glob("room.db*")) == []
    strongroom.open(url).close()
    assert run(*words).exit_code == 0


def test_the_fleet_is_the_only_one_or_has_to_be_named(run: Run, url: str, store: RunnerStore) -> None:
    def fleet(*words: str) -> str:
        told = run("runners", "status", "--room", url, "--json", *words)
        return str(json.loads(told.stdout)["fleet"]) if told.exit_code == 0 else told.stderr

    assert fleet() == "default"
    store.put_host(a_host())
    assert fleet() == FLEET
    runners.Runners(store.engine).for_fleet(OTHER).put_host(a_host(fleet=OTHER))
    assert fleet() == (
        f"error: the room has several fleets, {FLEET!r} and {OTHER!r} among them: name one with --fleet\n"
    )
    assert fleet("--fleet", OTHER) == OTHER


def test_fleet_and_host_may_be_named_by_variables(
    run: Run, url: str, store: RunnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRONGROOM_FLEET", FLEET)
    monkeypatch.setenv("STRONGROOM_HOST", "h-7")
    assert run("runners", "host", "set-capacity", 2, "--room", url).exit_code == 0
    assert [host.id for host in store.hosts()] == ["h-7"]


@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", "router", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(SERVERS))]
)
def test_a_room_of_any_engine_will_do(run: Run, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    name = f"runners_{secrets.token_hex(6)}"
    if kind in SERVERS:
        url = SERVERS[kind](request.getfixturevalue(kind), name)
    else:
        (tmp_path / "rooms.toml").write_text(f'home = "a"\n[rooms]\na = "memory://{name}-a"\nb = "memory://{name}-b"\n')
        url = {
            "memory": f"memory://{name}",
            "sqlite": f"sqlite:///{tmp_path}/room.db",
            "router": f"router:///{tmp_path}/rooms.toml",
        }[kind]
    root = tmp_path / "run"
    with strongroom.open(url) as engine:  # which keeps a room of memory there
        runners.open(engine)

        def told(*words: object) -> Any:
            return run("runners", *words, "--room", url, "--json")

        assert told("host", "set-capacity", 3).exit_code == 0
        assert told("host", "set-runtime-root", "--path", root).exit_code == 0
        assert told("repo", "add", "acme/api", "--installation", 7, "--max", 2).exit_code == 0
        assert told("repo", "set-scale", "acme/api", "--max", 4).exit_code == 0
        seen = json.loads(told("status").stdout)
    assert [(host["host_capacity"], host["runner_root"]["path"]) for host in seen["hosts"]] == [(3, str(root))]
    assert [(policy["target_slug"], policy["max_capacity"]) for policy in seen["policies"]] == [("acme/api", 4)]


def test_an_engine_without_transactions_over_many_rows_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strongroom, "open", lambda *_words, **_more: SingleRecordEngine(_opened("memory://")))
    for words in (*LOOKS, ["host", "set-capacity", "2"]):
        told = run("runners", *words, "--room", "memory://")
        assert (told.exit_code, told.stdout) == (2, "")
        assert "runners needs multi-record transactions" in told.stderr


_opened = strongroom.open
