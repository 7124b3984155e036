"""A store of SQLite in a file of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from strongroom.engines.sqlite import SqliteEngine
from tests.engines.sqlite.stores import opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "room.db"


@pytest.fixture
def engine(path: Path) -> Iterator[SqliteEngine]:
    with opened(path) as made:
        yield made
