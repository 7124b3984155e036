"""The benchmarks work and print what `docs/benchmarks.md` says; what they measure is nobody's promise here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.measure import Budget, Side, Times, at_least, at_most, compared, in_turns
from bench.processes import Processes
from servers.fixtures import need

HOUSE = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)


def test_the_published_ratio_is_the_median_of_pairs_taken_side_by_side() -> None:
    # Both sides were slow together once: the medians of each side alone would say 3.
    ours, theirs = Times([1_000, 9_000, 3_000], [1, 1, 1]), Times([500, 4_500, 1_000], [1, 1, 1])
    line = compared("g", "b", ours, theirs, goal=at_most(2), other="raw")
    assert line.as_json() | {"ratio": 2.0, "ratio_of_medians": 3.0, "ratio_of_minima": 2.0} == line.as_json()
    assert (line.ours, line.theirs, line.unit, line.met) == (3.0, 1.0, "us", True)


def test_a_rate_is_ours_over_theirs_and_its_goal_a_lower_bound() -> None:
    ours, theirs = Times([1_000, 1_000], [1, 1]), Times([3_000, 3_000], [1, 1])
    line = compared("g", "b", ours, theirs, goal=at_least(6), other="raw")
    assert (line.ratio, line.ours, line.unit, line.met) == (3.0, 1e6, "op/s", False)


def test_sides_run_in_turns_and_neither_always_first() -> None:
    calls: list[str] = []
    sides = [Side(lambda n: calls.append("ours")), Side(lambda n: calls.append("theirs"))]
    warm = Budget(seconds=0, rounds=4, chunk_ms=0)
    in_turns(sides, warm)
    assert calls[-8:] == ["ours", "theirs", "theirs", "ours"] * 2


def test_a_benchmark_that_does_not_exist_is_refused() -> None:
    ended = bench("nonsense")
    assert ended.returncode != 0
    assert "'nonsense'" in ended.stderr


def test_work_in_other_processes_claims_no_time_of_this_ones_processor() -> None:
    side = Side(lambda n: sum(range(n * 1_000)), elsewhere=True)
    times = in_turns([side, side], Budget.quick())
    line = compared("g", "b", *times, goal=at_least(1), other="raw")
    assert line.ratio is not None
    assert not [name for name in line.as_json() if "cpu" in name]


def test_a_process_that_fails_at_its_work_fails_the_benchmark(capfd: pytest.CaptureFixture[str]) -> None:
    processes = Processes("bench.remote.appender", [["postgres", "raw", "postgresql://nobody@127.0.0.1:1/none", "s"]])
    with pytest.raises(RuntimeError, match="ended"):
        processes.run(1)
    processes.close()
    assert "Connection refused" in capfd.readouterr().err


@pytest.mark.slow
def test_the_list_names_every_group() -> None:
    ended = bench("--list")
    assert ended.returncode == 0
    groups = {line.split()[0] for line in ended.stdout.splitlines()}
    assert groups == {"raw", "size", "peers", "postgres", "mysql", "etcd", "dynamodb", "scale", "dispatch"}


@pytest.mark.slow
def test_a_quick_run_prints_a_json_line_for_each_measurement(tmp_path: Path) -> None:
    ended = bench("--quick", "raw", "--json", str(tmp_path / "lines.json"))
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {line["group"] for line in lines} == {"raw"}
    assert len({line["bench"] for line in lines}) == 7
    for line in lines:
        assert {"ours", "unit", "ratio", "ratio_of_medians", "ratio_of_minima", "goal", "met"} <= line.keys()
        assert line["ours"] > 0
    assert (tmp_path / "lines.json").read_text() == ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "kind", "flush"),
    [
        ("postgres", "postgres", "fsync=on"),
        pytest.param("mysql", "mariadb", "innodb_flush_log_at_trx_commit=1", marks=pytest.mark.long),
        pytest.param("etcd", "etcd", "fsync of its log for every commit", marks=pytest.mark.long),
        pytest.param("dynamodb", "dynamodb", "in memory, nothing is flushed", marks=pytest.mark.long),
    ],
)
def test_a_quick_run_measures_both_sides_on_a_private_server(group: str, kind: str, flush: str) -> None:
    need(kind)
    other = "insert" if group == "dynamodb" else "log"  # a log there takes minutes
    ended = bench("--quick", f"{group} transaction", f"{group} {other}")
    assert ended.returncode == 0, ended.stderr
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert {line["group"] for line in lines} == {group}
    assert len({line["bench"] for line in lines}) == (2 if group == "dynamodb" else 3)
    for line in lines:
        assert line["ours"] > 0
        assert line["raw"] > 0
        assert flush in line["server"]
