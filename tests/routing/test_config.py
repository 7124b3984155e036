"""Rooms files: what they may say, how secrets come in, and routers opened by URL."""

from __future__ import annotations

from pathlib import Path

import pytest

import strongroom
from strongroom.errors import InvalidArgument, NotFound
from strongroom.routing import Placement, RoomsFile, Router

from .tenants import MEMBERS, SCHEMA, Member

ROOMS = """
home = "main"
hash = ["main", "east"]

[rooms]
main = "sqlite:///{folder}/main.db"
east = "sqlite:///{folder}/east.db"

[scopes]
android = "east"
"release/1.2" = "main"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rooms.toml"
    path.write_text(ROOMS.format(folder=tmp_path))
    return path


def said(path: Path, text: str) -> RoomsFile:
    path.write_text(text)
    return RoomsFile.read(path)


def test_a_url_opens_the_router_of_a_rooms_file(file: Path, tmp_path: Path) -> None:
    with strongroom.open(f"router:///{file}") as room:
        assert isinstance(room, Router)
        room.prepare(SCHEMA)
        room.insert(MEMBERS, Member("android", "a"))
        assert room.describe()["rooms"] == ("east: sqlite (multi-record)", "main: sqlite (multi-record)")
    with strongroom.open(f"sqlite:///{tmp_path}/east.db") as east:
        assert east.get(MEMBERS, "android", "a") == Member("android", "a")


def test_create_0_makes_nothing(file: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        strongroom.open(f"router:///{file}?create=0")
    assert [path.name for path in tmp_path.iterdir()] == ["rooms.toml"]


def test_all_rooms_are_sealed_with_one_key(file: Path) -> None:
    key = bytes(range(32))
    with strongroom.open(f"router:///{file}", seal_key=key) as room:
        room.prepare(SCHEMA)
        room.insert(MEMBERS, Member("android", "a"))
    with strongroom.open(f"router:///{file}", seal_key=key) as room:
        assert room.get(MEMBERS, "android", "a") == Member("android", "a")
        assert room.check_seal_key()
    with strongroom.open(f"router:///{file}") as room, pytest.raises(InvalidArgument, match="sealed with the key"):
        room.prepare(SCHEMA)


def test_what_a_file_says(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    alone = said(path, '[rooms]\nonly = "memory://"\n')
    assert alone == RoomsFile({"only": "memory://"}, Placement("only", default="only"))
    many = said(path, 'home = "a"\ndefault = "b"\nmovable = false\n[rooms]\na = "memory://"\nb = "memory://"\n')
    assert many.placement == Placement("a", default="b", movable=False)
    hashed = said(path, 'home = "a"\nhash = ["a"]\n[rooms]\na = "memory://"\n[scopes]\nx = "a"\n')
    assert hashed.placement == Placement("a", hashed=("a",), table={"x": "a"})


def test_the_environment_s_variables_keep_secrets_out_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "p@ss/w?rd")
    monkeypatch.setenv("WHOLE", "memory://whole?x=1")
    text = 'home = "a"\n[rooms]\na = "postgresql://me:${DB_PASSWORD}@db/rooms"\nb = "${WHOLE}"\n'
    assert said(tmp_path / "r.toml", text).rooms == {
        "a": "postgresql://me:p%40ss%2Fw%3Frd@db/rooms",
        "b": "memory://whole?x=1",
    }
    monkeypatch.delenv("DB_PASSWORD")
    with pytest.raises(InvalidArgument, match="no variable 'DB_PASSWORD'"):
        RoomsFile.read(tmp_path / "r.toml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("home =", "is no TOML"),
        ('[rooms]\na = "memory://"\nb = "memory://"\n', "home is the name of a room"),
        ("", "home is the name of a room"),
        ('hom = "a"\n', "no setting 'hom'"),
        ('home = "a"\nhash = "a"\n[rooms]\na = "memory://"\n', "hash is a list"),
        ('home = "a"\nhash = [1]\n[rooms]\na = "memory://"\n', "hash is a list"),
        ('home = "a"\ndefault = 1\n[rooms]\na = "memory://"\n', "default is the name"),
        ('home = "a"\nmovable = 1\n[rooms]\na = "memory://"\n', "movable true or false"),
        ('home = "a"\ndefault = "a"\nhash = ["a"]\n[rooms]\na = "memory://"\n', "name either"),
        ('home = "a"\n[rooms]\na = 1\n', r"\[rooms\] has lines"),
        ('home = "a"\nscopes = 1\n[rooms]\na = "memory://"\n', r"\[scopes\] has lines"),
        ('home = "a"\n[rooms]\n"A B" = "memory://"\n', "a room's name"),
    ],
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint) as refused:
        said(tmp_path / "r.toml", text)
    assert "r.toml" in str(refused.value)


@pytest.mark.parametrize("url", ["router://", "router://rooms.toml", "router:///", "router:///r.toml?x=1"])
def test_a_url_that_names_no_file_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        strongroom.open(url)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no rooms file"):
        strongroom.open(f"router:///{tmp_path}/none.toml")


def test_rooms_that_were_opened_are_closed_where_another_can_t_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.toml"
    path.write_text(
        f'home = "a"\n[rooms]\na = "sqlite:///{tmp_path}/a.db?exclusive=1"\nb = "sqlite:///{tmp_path}/none/b.db"\n'
    )
    with pytest.raises(strongroom.StrongroomError):
        strongroom.open(f"router:///{path}")
    strongroom.open(f"sqlite:///{tmp_path}/a.db?exclusive=1").close()  # nobody holds it
