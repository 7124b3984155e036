"""A log on a server: a hundred thousand appends by threads of several processes, and a reader who follows them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import strongroom
from servers.server import Address
from tests.engines.appenders import LOG, SCHEMA, STREAM

ROOT = Path(__file__).resolve().parents[2]

APPENDS, PROCESSES, THREADS = 100_000, 4, 25
"""One commit carries the appends of many threads, or this would take long."""
EACH = APPENDS // PROCESSES // THREADS
PAGE = 500


@contextmanager
def appending(url: str, folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that append, each with many threads on one engine, and write what they are told into the folder."""
    with ExitStack() as stack:
        started = []
        for number in range(PROCESSES):
            command = [sys.executable, "-m", "tests.engines.appenders", url, str(number), str(THREADS), str(EACH)]
            told = stack.enter_context((folder / f"told-{number}").open("wb"))
            process = subprocess.Popen(command, cwd=ROOT, stdout=told)
            stack.callback(process.wait)
            stack.callback(process.kill)  # whatever happens here, they end
            started.append(process)
        yield started


def follow(url: str, folder: Path) -> None:
    """Nothing is skipped, nothing is seen twice, and every position is the one that its writer was told."""
    seen: dict[str, int] = {}
    cursor, last = None, False
    with strongroom.open(url) as engine:
        engine.prepare(SCHEMA)
        with appending(url, folder) as processes:
            while True:
                page = LOG.page(engine, STREAM, cursor=cursor, limit=PAGE)
                cursor = page.cursor
                for line in page.entries:
                    assert line.position == len(seen) + 1, "a position was skipped, or came again"
                    assert line.text not in seen, f"{line.text} was kept twice"
                    seen[line.text] = line.position
                if not page.entries:
                    if last:
                        break
                    last = all(process.poll() is not None for process in processes)
                    time.sleep(0.005)
            assert [process.returncode for process in processes] == [0] * PROCESSES
        assert len(seen) == EACH * THREADS * PROCESSES == APPENDS
        assert LOG.head(engine, STREAM) == APPENDS
    told = dict(line.split() for file in folder.glob("told-*") for line in file.read_text().splitlines())
    assert {text: int(position) for text, position in told.items()} == seen


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whoever_follows_a_long_log_on_postgresql_misses_nothing(postgres: Address, tmp_path: Path) -> None:
    follow(postgres.url(schema="long_log"), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_whoever_follows_a_long_log_on_mariadb_misses_nothing(mariadb: Address, tmp_path: Path) -> None:
    follow(mariadb.url("long_log"), tmp_path)
