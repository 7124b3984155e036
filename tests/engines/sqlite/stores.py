"""Stores that the tests of the SQLite engine open."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from strongroom.engines.sqlite import SqliteEngine, SqliteOptions
from tests.engines.shelf import COVERS, SHELF, Cover


def opened(path: Path, options: SqliteOptions | None = None) -> SqliteEngine:
    engine = SqliteEngine(str(path), options)
    engine.prepare(SHELF)
    return engine


def grow_wal(engine: SqliteEngine, mib: int, done: Callable[[], bool] = lambda: False) -> None:
    for n in range(mib * 8):
        if done():
            return
        engine.put(COVERS, Cover(f"cover {n % 4}", os.urandom(2**17)))
