"""The fixtures, seen from outside: test runs of their own, in processes of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from servers.fixtures import need
from tests.servers.asking import wait_until

HOUSE = Path(__file__).parents[2]

SHARING = """
import os
import pytest

@pytest.mark.parametrize("number", range(6))
def test_it(postgres, number):
    with open({seen!r}, "a") as seen:
        print(os.environ.get("PYTEST_XDIST_WORKER"), postgres.port, postgres.log, file=seen)
"""

WITHOUT_MARIADB = """
import pytest
from servers.errors import Missing
from servers.machine import KINDS

def gone():
    raise Missing("it is not installed")

@pytest.fixture(scope="session", autouse=True)
def a_machine_without_it():
    KINDS["mariadb"] = gone

def test_it(mariadb):
    pass

def test_its_own(own_mariadb):
    own_mariadb()
"""

STAYING = """
import time

def test_it(postgres):
    with open({seen!r}, "a") as seen:
        print(postgres.log, file=seen)
    time.sleep(1000)
"""


def command(test: Path, *options: str) -> list[str]:
    house = ["-c", str(HOUSE / "pyproject.toml"), "-p", "servers.fixtures", "-p", "no:cacheprovider"]
    return [sys.executable, "-m", "pytest", "-q", *house, *options, str(test)]


def environment(**changes: str) -> dict[str, str]:
    """This one, without what pytest and its plugins put there for this run."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CI"))} | changes


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_starts_a_server_once_whoever_asks_and_ends_it(workers: int, tmp_path: Path) -> None:
    need("postgres")
    seen = tmp_path / "seen"
    test = tmp_path / "test_sharing.py"
    test.write_text(SHARING.format(seen=str(seen)))
    subprocess.run(command(test, f"-n{workers}", "--dist=load"), check=True, cwd=HOUSE, env=environment(), timeout=100)
    lines = [line.split(" ", 2) for line in seen.read_text().splitlines()]
    assert len(lines) == 6
    assert len({worker for worker, _, _ in lines}) == max(workers, 1)
    [port] = {port for _, port, _ in lines}
    assert port.isdecimal()
    assert not Path(lines[0][2]).parents[1].exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_the_servers_of_a_killed_run_are_gone(workers: int, tmp_path: Path) -> None:
    need("postgres")
    seen = tmp_path / "seen"
    test = tmp_path / "test_staying.py"
    test.write_text(STAYING.format(seen=str(seen)))
    with subprocess.Popen(
        command(test, f"-n{workers}"),
        cwd=HOUSE,
        env=environment(),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as run:
        wait_until(lambda: seen.exists() and seen.read_text().endswith("\n"), 60)
        folder = Path(seen.read_text().splitlines()[0]).parents[1]
        assert folder.exists()
        run.kill()
        run.wait()
    try:
        wait_until(lambda: not folder.exists())
    finally:
        if workers:  # They don't look up from a test that sleeps.
            os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.parametrize(("ci", "outcome"), [("", "2 skipped"), ("true", "2 errors")])
def test_a_server_that_cannot_be_had_is_skipped_by_name_and_an_error_in_ci(
    ci: str, outcome: str, tmp_path: Path
) -> None:
    test = tmp_path / "test_without.py"
    test.write_text(WITHOUT_MARIADB)
    done = subprocess.run(
        command(test, "-n0", "-rs"),
        check=False,
        cwd=HOUSE,
        env=environment(CI=ci),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome in done.stdout, done.stdout
    assert re.search(r"mariadb: it is not installed|Missing: it is not installed", done.stdout)
