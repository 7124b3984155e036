"""The example of an engine of one's own, as if it was installed: found by its entry point, and held to the contract."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

import strongroom
from strongroom.engine import Engine, schemes
from strongroom.errors import CommitUnknown, Corrupt, InvalidArgument, Unavailable
from tests.engines.shelf import BOOKS, SHELF, Book

HOUSE = Path(__file__).parents[2]
EXAMPLE = HOUSE / "examples" / "own_engine"


@pytest.fixture(autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Announce the entry points that the example's pyproject.toml declares, here and in processes started from here."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    site = tmp_path_factory.mktemp("site")
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for folder in (site, EXAMPLE):
        monkeypatch.syspath_prepend(str(folder))
    paths = [str(EXAMPLE), str(site), str(HOUSE / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))


def _own_conformance_test() -> Callable[..., None]:
    spec = importlib.util.spec_from_file_location("folder_conformance", EXAMPLE / "test_folder_engine.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    test: Callable[..., None] = module.test_conformance
    return test


# Every row is a file of its own, and every write two flushes: a few hundred cases of that take their time.
test_conformance = pytest.mark.slow(_own_conformance_test())


def opened(folder: Path) -> Engine:
    engine = strongroom.open(f"folder:///{folder}/store")
    engine.prepare(SHELF)
    return engine


def test_its_scheme_is_known_beside_the_built_in_ones() -> None:
    assert {"folder", "memory", "sqlite"} <= set(schemes())


def test_opening_makes_nothing_before_a_schema_is_prepared(tmp_path: Path) -> None:
    with strongroom.open(f"folder:///{tmp_path}/store") as engine:
        assert engine.tables() == frozenset()
        with pytest.raises(InvalidArgument, match="prepare"):
            engine.get(BOOKS, "a", "b")
        with pytest.raises(InvalidArgument, match="prepare"):
            engine.insert(BOOKS, Book("a", "b"))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_corrupt_and_named(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.insert(BOOKS, Book("a", "b"))
        (file,) = (tmp_path / "store" / "books").glob("*.row")
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(Corrupt, match=file.name):
            engine.get(BOOKS, "a", "b")
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(Corrupt, match="seal"):
            engine.scan(BOOKS, "a", limit=10)


def test_a_file_that_takes_the_name_of_another_is_found(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.insert(BOOKS, Book("a", "dune"))
        (dune,) = (tmp_path / "store" / "books").glob("*.row")
        engine.insert(BOOKS, Book("a", "emma"))
        (emma,) = set((tmp_path / "store" / "books").glob("*.row")) - {dune}
        emma.write_bytes(dune.read_bytes())
        with pytest.raises(Corrupt, match="seal"):
            engine.get(BOOKS, "a", "emma")
        with pytest.raises(Corrupt, match=emma.name):
            engine.scan(BOOKS, "a", limit=10)
        assert engine.get(BOOKS, "a", "dune") == Book("a", "dune")


@pytest.mark.parametrize("row", [[], [b"seal"], ["a", b"seal"], ["a", "dune", 0, 1, 2, 3, b"seal"], {"a": 1}, 7])
def test_a_file_that_holds_something_else_is_corrupt(tmp_path: Path, row: object) -> None:
    with opened(tmp_path) as engine:
        engine.insert(BOOKS, Book("a", "dune"))
        (file,) = (tmp_path / "store" / "books").glob("*.row")
        key, _ = msgspec.msgpack.decode(file.read_bytes())
        file.write_bytes(msgspec.msgpack.encode([key, row]))
        with pytest.raises(Corrupt):
            engine.get(BOOKS, "a", "dune")
        with pytest.raises(Corrupt):
            engine.scan(BOOKS, "a", limit=10)


def test_what_a_dead_writer_left_is_no_row_and_is_written_over(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        (tmp_path / "store" / "books" / "new").write_bytes(b"half a ro")
        assert engine.scan(BOOKS, "a", limit=10) == []
        engine.insert(BOOKS, Book("a", "b"))
        assert engine.scan(BOOKS, "a", limit=10) == [Book("a", "b")]


def test_a_change_whose_name_was_not_flushed_is_unknown_until_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as engine:

        def fails(_folder: Any) -> None:
            raise OSError(5, "Input/output error")

        with monkeypatch.context() as broken:
            broken.setattr("folder_engine.flush", fails)
            with pytest.raises(CommitUnknown) as caught:
                engine.insert(BOOKS, Book("a", "b"))
            with pytest.raises(Unavailable):
                engine.resolve(caught.value.token)
        assert engine.resolve(caught.value.token) is True
        assert engine.get(BOOKS, "a", "b") == Book("a", "b")
