"""The examples run as they stand, on every engine that a URL opens, and say what they came to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

ANSWERS = {
    "merge_queue.py": """\
request-1: admitted
request-2: admitted
request-2: admitted
request-3: refused: change/8 is being landed by request-2
ever claimed change/8: ['request-2', 'request-3']
""",
    "asyncio_claims.py": "10 claims of 10 jobs\nthe cancelled caller knows what came of its call\n",
    "log_tailer.py": "200 entries of 8 writers, each seen once and in its order\n",
}


def run(example: str, *arguments: str, cwd: Path) -> str:
    command = [sys.executable, str(EXAMPLES / example), *arguments]
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"ten_lines.py", *ANSWERS}


def test_the_ten_lines_keep_a_lease_and_hand_it_on(tmp_path: Path) -> None:
    assert run("ten_lines.py", cwd=tmp_path) == "Lease(runner='runner-1', job='job-18', version=2)\n"
    assert (tmp_path / "leases.db").exists()


@pytest.mark.parametrize("url", ["memory://", "sqlite:///example.db"])
@pytest.mark.parametrize("example", sorted(ANSWERS))
def test_an_example_comes_to_the_same_on_every_engine(example: str, url: str, tmp_path: Path) -> None:
    assert run(example, url, cwd=tmp_path) == ANSWERS[example]
