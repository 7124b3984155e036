"""`validate` and `report` at the command line: what they say, what they exit with, and what they refuse."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import strongroom
from strongroom.cli import output
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe.flows import ingest, set_enablement
from tests.validator.conftest import Checkout, checkout, new_checkout, plain_git
from tests.validator.trunks import Bench, cases

from .conftest import Run

__all__ = ["checkout", "new_checkout", "plain_git"]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A folder to stand in, with the command in it."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Bench(folder)


@pytest.fixture
def branch(checkout: Checkout) -> list[str]:
    """Three commits: green, red with a failed test, and fixed."""
    return [
        checkout.commit("green", exit="0", cases=cases("store/a.py keep passed", "web/b.py shop passed")),
        checkout.commit("red", exit="1", cases=cases("store/a.py keep failed", "web/b.py shop passed")),
        checkout.commit("fixed", exit="0", cases=cases("store/a.py keep passed", "web/b.py shop passed")),
    ]


def answer(run: Run, *words: object) -> Any:
    found = run(*words)
    assert found.stdout.count("\n") == 1
    return json.loads(found.stdout)


def test_each_commit_is_a_line_and_a_red_one_is_exit_code_1(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench
) -> None:
    told = run("validate", checkout.path, "--last", 2, "--", *bench.command)
    red, fixed, last = told.stdout.splitlines()
    assert told.exit_code == 1
    assert red.split()[:4] == [branch[1][:10], "failed", "(exit", "1)"]
    assert red.endswith(" s  red")
    assert fixed.split()[:2] == [branch[2][:10], "succeeded"]
    assert last == f"fruit/main: 2 commits validated: 1 failed, 1 succeeded; last green {branch[2][:10]}"
    log = bench.folder / "strongroom.db.logs"
    assert told.stderr.startswith(f"the output of {branch[1][:10]} is in {log}/fruit-main~")
    assert (bench.folder / "strongroom.db").exists()
    assert [path.read_text() for path in log.glob("*/1.1.log")] == [f"validating {branch[1]}\n"]


def test_when_all_is_on_record_there_is_nothing_to_do(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench
) -> None:
    run("validate", checkout.path, "--", *bench.command)
    told = run("validate", checkout.path, "--", *bench.command)
    assert (told.exit_code, told.stdout) == (0, "nothing to do: 3 commits on record in fruit/main\n")
    assert told.stderr == ""
    assert len(bench.runs()) == 3


def test_another_command_is_not_run_for_what_is_on_record_and_that_is_said(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench
) -> None:
    run("validate", checkout.path, "--", *bench.command)
    told = run("validate", checkout.path, "--", "false")
    assert (told.exit_code, "--queue NAME" in told.stderr) == (0, True)
    assert answer(run, "validate", checkout.path, "--queue", "other", "--json", "--", "false")["validated"] == 3


def test_json_is_one_object_at_the_end(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    told = answer(run, "validate", checkout.path, "--junit", "junit.xml", "--json", "--", *bench.command)
    commits = told.pop("commits")
    assert told == {
        "queue": "fruit/main",
        "branch": "main",
        "validated": 3,
        "elsewhere": 0,
        "skipped": 0,
        "states": {"failed": 1, "succeeded": 2},
        "last_green": branch[2],
        "interrupted": False,
    }
    red = commits[1]
    assert red.pop("started_at") > 0
    assert red.pop("duration_ms") > 0
    assert Path(red.pop("log")).read_text() == f"validating {branch[1]}\n"
    assert red == {
        "commit": branch[1],
        "uri": f"git:{branch[1]}",
        "subject": "red",
        "request": "2",
        "state": "failed",
        "reason": "build_failed",
        "degree": 1.0,
        "build": "2.1",
        "attempt": 1,
        "strategy": "incremental_since_green",
        "base": branch[0],
        "exit_code": 1,
        "timed_out": False,
        "tests": 2,
        "failures": 1,
        "report_fault": None,
        "issues_opened": 1,
        "issues_resolved": 0,
        "here": True,
    }
    assert [one["commit"] for one in commits] == branch
    again = answer(run, "validate", checkout.path, "--json", "--", *bench.command)
    assert (again["validated"], again["skipped"], again["commits"], again["states"]) == (0, 3, [], {})


def test_a_broken_report_is_one_warning_line(run: Run, checkout: Checkout, bench: Bench) -> None:
    commit = checkout.commit("one", report="<testsuite>")
    told = run("validate", checkout.path, "--junit", "junit.xml", "--", *bench.command)
    assert told.exit_code == 0
    [line] = told.stderr.splitlines()
    assert line.startswith(f"warning: {commit[:10]}: the test report says nothing: junit.xml, line 1")


def test_a_success_with_failed_tests_is_warned_of(run: Run, checkout: Checkout, bench: Bench) -> None:
    commit = checkout.commit("one", exit="0", cases="a.py keep failed")
    told = run("validate", checkout.path, "--junit", "junit.xml", "--", *bench.command)
    assert told.exit_code == 0
    assert told.stderr == f"warning: {commit[:10]}: the command succeeded, but its report has failed tests\n"


def test_a_timeout_is_told_as_one(run: Run, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("stuck", name="stuck")
    bench.block("stuck")
    told = run("validate", checkout.path, "--timeout", "1", "--", *bench.command)
    assert (told.exit_code, "failed (timeout)" in told.stdout) == (1, True)


def test_a_rule_names_the_projects(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    rule = r"/(\w+)\.py$"
    run("validate", checkout.path, "--junit", "junit.xml", "--project-from", rule, "--", *bench.command)
    told = answer(run, "report", "fruit/main", "--json")
    assert told["projects"] == [{"project": "a", "degree": 0.0}, {"project": "b", "degree": 0.0}]


def test_a_rule_that_matches_no_test_is_warned_of(run: Run, checkout: Checkout, bench: Bench) -> None:
    commit = checkout.commit("one", cases=cases("store/a.py keep passed", "web/b.py shop passed"))
    rule = "^services/([^/]+)/"
    told = run("validate", checkout.path, "--junit", "junit.xml", "--project-from", rule, "--", *bench.command)
    assert told.exit_code == 0
    assert told.stderr == f"warning: {commit[:10]}: the rule of --project-from matches none of its 2 tests\n"


def test_options_of_the_command_are_its_own(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    script = "import sys; sys.exit(sys.argv[1:] != ['--json', '--', '-x'])"
    command = (sys.executable, "-c", script, "--json", "--", "-x")
    assert run("validate", checkout.path, "--last", 1, "--", *command).exit_code == 0


def refused(run: Run, bench: Bench, *words: object) -> str:
    """The one line that a call is refused with, before anything is written."""
    told = run(*words)
    assert (told.exit_code, told.stdout) == (2, "")
    [line] = told.stderr.splitlines()
    assert line.startswith("error: ")
    assert sorted(path.name for path in bench.folder.iterdir()) == ["command.py", "diary"]
    assert bench.runs() == []
    return str(line)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--branch", "nope", "--", "true"], "no commit on a branch 'nope'"),
        (["--last", "0", "--", "true"], "commits must be 1 to 10000"),
        (["--last", "-3", "--", "true"], "commits must be 1 to 10000"),
        (["--jobs", "0", "--", "true"], "jobs must be 1 to 1000"),
        (["--timeout", "0", "--", "true"], "timeout must be a positive number"),
        (["--timeout", "nan", "--", "true"], "timeout must be a positive number"),
        (["--junit", "", "--", "true"], "--junit is a path"),
        (["--junit", "/etc/passwd", "--", "true"], "inside the worktree"),
        (["--junit", "../x.xml", "--", "true"], "inside the worktree"),
        (["--junit", "x.xml", "--project-from", "(", "--", "true"], "is no regular expression"),
        (["--junit", "x.xml", "--project-from", "a", "--", "true"], "must have one group"),
        (["--project-from", "^(a)", "--", "true"], "--junit PATH"),
        (["--queue", "", "--", "true"], "a queue's name has 1 to 255 bytes"),
        (["--queue", "x" * 256, "--", "true"], "a queue's name has 1 to 255 bytes"),
        (["--room", "strongroom.db", "--", "true"], "a store is named by a URL"),
        (["--room", "nosuch://x", "--", "true"], "no engine for nosuch://"),
        (["--room", "sqlite:///no/such/folder/x.db", "--", "true"], "make it first"),
        (["--seal-key-file", "no-such-file", "--", "true"], "can't be read"),
        (["--", "no-such-command"], "the command no-such-command is not found"),
        (["--", "./no-such-command"], "in none of the commits"),
        (["--", ""], "cannot be empty"),
        (["--"], "say what to run"),
        ([], "say what to run"),
        (["true"], "say what to run"),
    ],
)
def test_a_wrong_call_is_one_line_and_nothing_is_written(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, options: list[str], complaint: str
) -> None:
    assert complaint in refused(run, bench, "validate", checkout.path, *options)


@pytest.mark.parametrize("report", [False, True])
def test_a_file_that_is_no_room_is_refused_and_left_as_it_is(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, report: bool
) -> None:
    before = bench.script.read_bytes()
    room = ["--room", "sqlite:///command.py"]
    told = run("report", "q", *room) if report else run("validate", checkout.path, *room, "--", "true")
    assert (told.exit_code, told.stdout, bench.script.read_bytes()) == (2, "", before)
    assert told.stderr.startswith("error: the room sqlite:///command.py can't be used: ")
    assert told.stderr.count("\n") == 1


def test_what_is_no_repository_is_refused(run: Run, bench: Bench, tmp_path: Path) -> None:
    assert "not in a git repository" in refused(run, bench, "validate", tmp_path, "--", "true")
    assert "not a folder" in refused(run, bench, "validate", tmp_path / "nowhere", "--", "true")


def test_a_shallow_clone_is_refused(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, tmp_path: Path
) -> None:
    checkout.git("clone", "--quiet", "--depth", "1", f"file://{checkout.path}", str(tmp_path / "shallow"))
    assert "shallow clone" in refused(run, bench, "validate", tmp_path / "shallow", "--", "true")


def test_a_queue_that_nobody_named_is_never_shared_with_another_repository(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, new_checkout: Callable[..., Checkout]
) -> None:
    (checkout.path.parent / "other").mkdir()
    other = new_checkout("other/fruit")
    other.commit("of another fruit")
    run("validate", checkout.path, "--", *bench.command)
    before = bench.runs()
    told = run("validate", other.path, "--", *bench.command)
    assert (told.exit_code, told.stdout, bench.runs()) == (2, "", before)
    assert told.stderr == (
        "error: the queue fruit/main holds commits of another repository; name a queue with --queue\n"
    )
    assert run("validate", checkout.path, "--", *bench.command).exit_code == 0
    assert run("validate", other.path, "--queue", "fruit/main", "--", *bench.command).exit_code == 0
    assert len(bench.runs()) == len(before) + 1


def test_a_disabled_queue_is_refused(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    with strongroom.open("sqlite:///strongroom.db") as engine:
        set_enablement(stovepipe.open(engine).for_queue("fruit/main"), "op", False, "", "moving house")
    told = run("validate", checkout.path, "--", *bench.command)
    assert (told.exit_code, bench.runs()) == (2, [])
    assert told.stderr == (
        "error: the queue fruit/main is disabled: moving house; enable it, or name another with --queue\n"
    )
    assert "disabled" in run("report", "fruit/main").stdout


def test_a_report_shows_commits_issues_and_projects(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench
) -> None:
    red = checkout.commit("red again", exit="1", cases=cases("store/a.py keep failed", "web/b.py shop passed"))
    run("validate", checkout.path, "--junit", "junit.xml", "--", *bench.command)
    lines = run("report", "fruit/main").stdout.splitlines()
    assert lines[0] == f"fruit/main: enabled since {branch[0][:10]}, last green {branch[2][:10]}, 0 in flight"
    assert lines[1] == "commits"
    assert [line.split()[0] for line in lines[2:6]] == [one[:10] for one in [red, *reversed(branch)]]
    assert lines[2].split()[1:5] == ["failed", "(exit", "1)", "1"]
    assert lines[6:8] == ["open issues", f"  {red[:10]}  store/a.py  keep"]
    assert lines[8] == f"projects at {red[:10]}"
    assert [line.split() for line in lines[9:]] == [["100.0%", "store"], ["0.0%", "web"]]


def test_a_report_is_one_json_object(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    run("validate", checkout.path, "--last", 3, "--junit", "junit.xml", "--", *bench.command)
    red = checkout.commit("red again", exit="1", cases="store/a.py keep failed")
    run("validate", checkout.path, "--junit", "junit.xml", "--", *bench.command)
    told = answer(run, "report", "fruit/main", "--limit", 2, "--json")
    assert list(told) == [
        "queue",
        "enablement",
        "last_green",
        "in_flight",
        "commits",
        "more_commits",
        "open_issues",
        "more_issues",
        "projects_of",
        "projects",
        "more_projects",
    ]
    enablement = told["enablement"]
    assert (enablement["enabled"], enablement["sequence"], enablement["since"]) == (True, 1, branch[0])
    assert (told["last_green"], told["in_flight"], told["projects_of"]) == (branch[2], 0, red)
    assert [one["commit"] for one in told["commits"]] == [red, branch[2]]
    assert (told["more_commits"], told["more_issues"], told["more_projects"]) == (True, False, False)
    newest = told["commits"][0]
    assert (newest["state"], newest["degree"], newest["exit_code"]) == ("failed", 1.0, 1)
    assert newest["tail"] == f"validating {red}\n"
    assert newest["accepted_at"] <= newest["state_at"]
    [issue] = told["open_issues"]
    assert issue.pop("opened_at") > 0
    assert issue == {"task": "store/a.py", "unit": "keep", "build": "4.1", "commit": red}
    assert told["projects"] == [{"project": "store", "degree": 1.0}]


def test_a_time_beyond_all_calendars_is_reported_as_its_number(run: Run, bench: Bench) -> None:
    with strongroom.open("sqlite:///strongroom.db") as engine:
        ingest(stovepipe.open(engine).for_queue("by-hand"), "git://1", now=10**18)
    assert f"  {10**18} ms  " in run("report", "by-hand").stdout


def test_a_queue_that_no_validator_ever_served_is_reported_too(run: Run, bench: Bench) -> None:
    with strongroom.open("sqlite:///strongroom.db") as engine:
        ingest(stovepipe.open(engine).for_queue("by-hand"), "svn:17")
    told = answer(run, "report", "by-hand", "--json")
    [one] = told["commits"]
    assert (one["commit"], one["uri"], one["state"], one["subject"]) == (None, "svn:17", "accepted", None)
    assert (told["enablement"], told["last_green"], told["projects_of"]) == (None, None, None)
    assert run("report", "by-hand").stdout.startswith("by-hand: never enabled, none is green yet, 0 in flight\n")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["nope", "--room", "sqlite:///nowhere.db"], "there is no store at"),
        (["nope", "--room", "memory://"], "the store has no queue nope"),
        (["nope"], "there is no store at"),
        (["", "--room", "memory://"], "a queue's name has 1 to 255 bytes"),
    ],
)
def test_a_report_on_nothing_is_one_line_and_makes_no_room(
    run: Run, bench: Bench, options: list[str], complaint: str
) -> None:
    assert complaint in refused(run, bench, "report", *options)


@pytest.mark.parametrize("limit", ["0", "-1", "1001"])
def test_a_limit_out_of_range_is_refused(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, limit: str
) -> None:
    run("validate", checkout.path, "--last", 1, "--", *bench.command)
    told = run("report", "fruit/main", "--limit", limit)
    assert (told.exit_code, told.stderr) == (2, f"error: the limit must be 1 to 1000, not {limit}\n")


def test_an_unknown_queue_of_a_room_is_one_line(run: Run, checkout: Checkout, branch: list[str], bench: Bench) -> None:
    run("validate", checkout.path, "--last", 1, "--", *bench.command)
    told = run("report", "fruit/mian")
    assert (told.exit_code, told.stderr) == (2, "error: the store has no queue fruit/mian; it has fruit/main\n")


def test_of_many_queues_an_unknown_one_is_told_the_first_five(run: Run, bench: Bench) -> None:
    with strongroom.open("sqlite:///strongroom.db") as engine:
        for number in range(6):
            ingest(stovepipe.open(engine).for_queue(f"q{number}"), "svn:17")
    told = run("report", "nope")
    assert told.stderr == "error: the store has no queue nope; it has q0, q1, q2, q3, q4 and others\n"


def test_progress_is_shown_on_a_terminal_and_nowhere_else(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(output, "remarks", Console(file=terminal, force_terminal=True, width=100))
    told = answer(run, "validate", checkout.path, "--last", 2, "--json", "--", *bench.command)
    assert told["validated"] == 2
    assert "1 of 2" in terminal.getvalue()
    assert f"{branch[1][:10]} red" in terminal.getvalue()


def test_a_remark_while_bars_are_up_goes_to_their_terminal_so_that_neither_paints_over_the_other(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, remarks = (Console(file=io.StringIO(), force_terminal=True, width=300, soft_wrap=True) for _ in range(2))
    monkeypatch.setattr(output, "answers", answers)
    monkeypatch.setattr(output, "remarks", remarks)
    run("validate", checkout.path, "--last", 2, "--", *bench.command)
    assert isinstance(answers.file, io.StringIO)
    assert f"the output of {branch[1][:10]} is in " in answers.file.getvalue()
    output.remark("the bars are gone")
    assert isinstance(remarks.file, io.StringIO)
    assert "the output of" not in remarks.file.getvalue()
    assert "the bars are gone" in remarks.file.getvalue()


def test_a_remark_for_a_file_goes_there_although_bars_are_up(
    run: Run, checkout: Checkout, branch: list[str], bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "answers", Console(file=io.StringIO(), force_terminal=True, width=300))
    told = run("validate", checkout.path, "--last", 2, "--", *bench.command)
    assert told.stderr.startswith(f"the output of {branch[1][:10]} is in ")


def test_what_a_commit_says_of_itself_cannot_move_the_cursor(run: Run, checkout: Checkout, bench: Bench) -> None:
    checkout.commit("\x1b[2J[bold]evil[/]")
    told = run("validate", checkout.path, "--", *bench.command)
    assert "\\x1b[2J[bold]evil[/]" in told.stdout
    assert "\x1b" not in told.stdout + run("report", "fruit/main").stdout
