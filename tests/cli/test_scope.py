"""`strongroom scope`, and the other commands on a router."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

import strongroom
from strongroom.conformance.stopping import Stopped
from strongroom.routing import RoomsFile, Router, Stage, move
from tests.routing.tenants import MEMBERS, SCHEMA, Member, fill

from .conftest import Run


@pytest.fixture
def rooms(tmp_path: Path, packages: Path) -> Path:
    """A rooms file over two SQLite rooms, with a few tenants in them."""
    [announced] = packages.glob("strongroom_schemas-*/entry_points.txt")
    announced.write_text("[strongroom.schemas]\ntenants = tests.routing.tenants:SCHEMA\n")
    path = tmp_path / "rooms.toml"
    path.write_text(
        'home = "main"\n[rooms]\n'
        f'main = "sqlite:///{tmp_path}/main.db"\neast = "sqlite:///{tmp_path}/east.db"\n'
        '[scopes]\nt2 = "east"\n'
    )
    with strongroom.open(f"router:///{path}") as router:
        router.prepare(SCHEMA)
        for tenant in ("t1", "t2", "t3 "):
            assert isinstance(router, Router)
            fill(router, tenant)
    return path


def test_ls_says_where_each_scope_lives_and_why(run: Run, rooms: Path) -> None:
    result = run("scope", "ls", rooms)
    assert result.stdout.splitlines() == [
        "t1     main  default",
        "t2     east  table",
        "'t3 '  main  default",
    ]
    assert run("scope", "ls", rooms, "--room", "east", "--json").stdout == (
        '{"scope": "t2", "room": "east", "why": "table", "number": 0, "stage": "settled", "other": null}\n'
    )
    assert run("scope", "ls", rooms, "--room", "nowhere").exit_code == 2


def test_a_move_takes_a_scope_over_and_says_its_digest(run: Run, rooms: Path, tmp_path: Path) -> None:
    result = run("scope", "move", rooms, "t1", "--to", "east", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert (answer["room"], answer["stage"], answer["rows"], len(answer["digest"])) == ("east", "settled", 20, 64)
    assert run("scope", "where", rooms, "t1").stdout == "'t1' lives in east (moved)\n"
    with strongroom.open(f"sqlite:///{tmp_path}/east.db") as east:
        assert east.count(MEMBERS, "t1", limit=9) == 5
    again = run("scope", "move", rooms, "t1", "--to", "east")
    assert again.stdout == f"t1 lives in east: 20 rows, digest {answer['digest']}\n"
    back = run("scope", "move", rooms, "t1", "--to", "main", "--keep")
    assert back.stdout == f"t1 lives in main: 20 rows, digest {answer['digest']}\n"
    assert back.stderr.splitlines() == [
        f"{stage} t1" for stage in ("fenced", "copied", "verified", "switched", "settled")
    ]


def test_a_move_that_was_cut_short_is_seen_and_ended_or_given_up(run: Run, rooms: Path) -> None:
    def die(stage: Stage, _table: str, _rows: int) -> None:
        if stage is Stage.VERIFIED:
            raise Stopped

    with RoomsFile.read(rooms).open() as router, pytest.raises(Stopped):
        move(router, "t1", "east", [SCHEMA], watch=die)
    assert run("scope", "where", rooms, "t1").stdout == "'t1' lives in main (moved), a move to east is verified\n"
    assert run("scope", "ls", rooms).stdout.splitlines()[0] == "t1     main  moved    verified (east)"
    assert run("scope", "cancel", rooms, "t1").stdout == "t1 lives in main\n"
    assert run("scope", "cancel", rooms, "t1").exit_code == 2
    assert run("scope", "move", rooms, "t1", "--to", "east").exit_code == 0


def test_ctrl_c_stops_a_move_which_the_same_command_ends(
    rooms: Path, run: Run, command: list[str], tmp_path: Path
) -> None:
    with strongroom.open(f"router:///{rooms}") as router:
        for number in range(2_000):
            router.insert(MEMBERS, Member("t1", f"many {number:05}"))
    words = [*command, "scope", "move", str(rooms), "t1", "--to", "east"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as moving:
        assert moving.stderr is not None
        assert moving.stderr.readline() == "fenced t1\n"
        moving.send_signal(signal.SIGINT)
        said = moving.stderr.read()
    if moving.returncode != 0:  # it may have been through before the signal came
        assert moving.returncode == 130
        assert "stopped: the move is" in said
    assert run("scope", "move", rooms, "t1", "--to", "east").exit_code == 0
    with strongroom.open(f"sqlite:///{tmp_path}/east.db") as east:
        assert east.count(MEMBERS, "t1", limit=10_000) == 2_005


def test_a_rooms_file_or_a_store_that_is_not_there_is_not_made(run: Run, tmp_path: Path) -> None:
    assert run("scope", "ls", tmp_path / "none.toml").exit_code == 2
    path = tmp_path / "rooms.toml"
    path.write_text(f'home = "a"\n[rooms]\na = "sqlite:///{tmp_path}/a.db"\n')
    assert run("scope", "ls", path).exit_code == 2
    assert not (tmp_path / "a.db").exists()


def test_verify_inspect_and_ls_cross_the_rooms_and_know_what_the_router_keeps(run: Run, rooms: Path) -> None:
    url = f"router:///{rooms}"
    assert run("scope", "move", rooms, "t1", "--to", "east").exit_code == 0
    verified = run("verify", url)
    assert verified.exit_code == 0
    assert "all good" in verified.stdout
    assert "not checked" not in verified.stdout + verified.stderr
    assert "members" in verified.stdout or "rows of" in verified.stdout
    listed = [json.loads(line)["key"] for line in run("ls", url, "members", "--json").stdout.splitlines()]
    assert listed == [[tenant, f"m{number}"] for tenant in ("t1", "t2", "t3 ") for number in range(5)]
    assert "rooms             east: sqlite" in run("inspect", url).stdout
    assert json.loads(run("get", url, "router_routes", "t1", "--json").stdout)["record"]["room"] == "east"


@pytest.mark.slow
def test_conform_holds_the_router_of_a_rooms_file_to_the_contract(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rooms.toml"
    path.write_text(
        f'home = "a"\nhash = ["a", "b"]\n[rooms]\na = "sqlite:///{tmp_path}/a.db"\nb = "memory://conform-router"\n'
    )
    result = run("conform", f"router:///{path}", "--clause", "W1", "--clause", "R5", "--clause", "T2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1].endswith("0 failed")
    assert [file.name for file in tmp_path.glob("*.db*")] == []
