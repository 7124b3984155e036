"""`dispatch runs`, `show`, `journal` and `audit`: what has come of it, for people and for programs."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from strongroom.domains.dispatch import Ending, EndState, Workspace
from tests.cli.conftest import Run
from tests.cli.dispatch.conftest import NAME, Answers


def test_runs_are_listed_newest_first_and_page_by_page(work: Run, two_done: list[str]) -> None:
    told = work("runs", "--limit", 1)
    (line,) = told.stdout.splitlines()
    assert line.split()[:2] == [two_done[1], "completed"]
    cursor = told.stderr.strip().rpartition("--after=")[2]
    rest = work("runs", "--after", cursor)
    assert (rest.stdout.split()[0], rest.stderr) == (two_done[0], "")


def test_runs_are_filtered_by_job_state_and_text(work: Run, answers: Answers, two_done: list[str]) -> None:
    answers("job", "create", "other", command=("true",))
    (other,) = answers("submit", "other")

    def found(*words: object) -> list[str]:
        return [run["id"] for run in answers("runs", *words)]

    assert found() == [other["run"], *reversed(two_done)]
    assert found("--job", "greet") == list(reversed(two_done))
    assert found("--state", "queued") == [other["run"]]
    assert found("--q", "gree") == list(reversed(two_done))
    assert found("--q", "gree", "--state", "queued") == []
    assert work("runs", "--q", "nothing").stderr == "no runs\n"
    assert work("runs", "--job", "nobody").exit_code == 1
    assert work("runs", "--state", "gone").exit_code == 2


def test_a_run_is_shown_whole_with_what_the_journal_tells_of_it(
    work: Run, answers: Answers, workspace: Workspace, two_done: list[str]
) -> None:
    (shown,) = answers("show", two_done[0])
    journal = shown.pop("journal")
    assert [entry["kind"] for entry in journal] == ["run.queued", "run.started", "run.completed"]
    assert [entry["sequence"] for entry in journal] == [shown["number"], shown["token"], shown["token"] + 1]
    assert (shown["state"], shown["input"], shown["key"], shown["entry"]) == ("completed", '"you"', "k-1", 1)
    record = json.loads(shown["record"])
    assert (record["run"], record["exitCode"], record["stdout"]["bytes"]) == (two_done[0], 0, 5)
    assert shown["record"].encode() == workspace.runs.get(two_done[0]).record
    told = work("show", two_done[0])
    assert told.stdout.startswith("id ")
    assert [line.split()[4] for line in told.stdout.partition("journal\n")[2].splitlines()] == [
        entry["kind"] for entry in journal
    ]


def test_a_run_that_is_not_there_was_not_found(work: Run, two_done: list[str]) -> None:
    assert work("show", "run_nobody").exit_code == 1


def test_the_journal_is_listed_from_a_place_on(work: Run, answers: Answers, two_done: list[str]) -> None:
    entries = answers("journal")
    assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
    assert answers("journal", "--after", 3, "--limit", 2) == entries[3:5]
    assert answers("journal", "--job", "greet") == [entry for entry in entries if entry["job"]]
    told = work("journal", "--limit", 2)
    assert len(told.stdout.splitlines()) == 2
    assert told.stderr == "there is more: go on with --after=2\n"
    assert work("journal", "--limit", len(entries)).stderr == ""


def test_what_a_command_wrote_and_was_given_is_not_in_the_journal(work: Run, two_done: list[str]) -> None:
    assert "you" not in work("journal").stdout


@pytest.mark.slow
def test_a_journal_is_followed_as_it_grows(
    command: list[str], url: str, workspace: Workspace, two_done: list[str]
) -> None:
    head = workspace.journal.head()
    words = ["dispatch", "journal", "--json", "--after", str(head - 1), "--follow", "--interval", "0.05"]
    follower = subprocess.Popen(
        [*command, *words, "--room", url, "--workspace", NAME], stdout=subprocess.PIPE, text=True
    )

    def line() -> dict[str, Any]:
        assert follower.stdout is not None
        entry: dict[str, Any] = json.loads(follower.stdout.readline())
        return entry

    try:
        assert line()["sequence"] == head
        workspace.dispatcher("other").stop()
        entry = line()
        assert (entry["sequence"], entry["kind"]) == (head + 1, "runner.stopped")
    finally:
        follower.kill()
        follower.communicate()


def test_an_audit_says_that_every_run_is_explained(work: Run, answers: Answers, two_done: list[str]) -> None:
    (report,) = answers("audit")
    assert report == {"valid": True, "entries": len(answers("journal")), "runs": 2, "findings": []}
    assert work("audit").stdout == f"2 runs held to {report['entries']} entries of the journal: all explained\n"


def test_an_audit_names_a_run_that_the_journal_does_not_explain(
    work: Run, answers: Answers, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, two_done: list[str]
) -> None:
    answers("submit", "greet")
    (claim,) = workspace.dispatcher("by hand").claim()
    # An ending that the journal does not hear of.
    monkeypatch.setattr("strongroom.domains.dispatch.journal.Moment.record", lambda *_, **__: 1)
    workspace.dispatcher().finish(claim, Ending(state=EndState.FAILED, problem="unheard"))
    monkeypatch.undo()
    told = work("audit")
    assert told.exit_code == 1
    assert f"{claim.run} is failed" in told.stdout
    assert told.stdout.endswith("3 runs held to 13 entries of the journal: 1 bad\n")


def test_whoever_looks_changes_nothing(work: Run, workspace: Workspace, two_done: list[str]) -> None:
    head = workspace.journal.head()
    for words in (("runs",), ("show", two_done[0]), ("journal",), ("audit",), ("chain", "verify"), ("job", "list")):
        assert work(*words).exit_code == 0
    assert workspace.journal.head() == head
