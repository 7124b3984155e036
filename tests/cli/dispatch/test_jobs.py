"""`dispatch job` and `dispatch submit`: what is made, what is made only once, and what is refused."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from strongroom.domains.dispatch import Release, RunState, Workspace
from tests.cli.conftest import Run
from tests.cli.dispatch.conftest import Answers


def test_a_job_is_made_once_and_listed_with_its_command(answers: Answers, workspace: Workspace) -> None:
    (made,) = answers("job", "create", "greet", command=("echo", "hello world"))
    (again,) = answers("job", "create", "greet", command=("echo", "hello world"))
    assert (made["name"], made["command"], made["replayed"]) == ("greet", ["echo", "hello world"], False)
    assert again == made | {"replayed": True}
    assert answers("job", "list") == [{key: made[key] for key in made if key != "replayed"}]
    kinds = [entry.kind.value for entry in workspace.journal.page().items]
    assert kinds == ["journal.began", "release.previewed", "job.created"]


def test_people_see_a_job_on_one_line(work: Run) -> None:
    made = work("job", "create", "greet", command=("echo", "hello world"))
    id, _, name = made.stdout.strip().partition("  ")
    assert (id.startswith("job_"), name) == (True, "greet")
    assert work("job", "create", "greet", command=("echo", "hello world")).stdout == f"{id}  greet (it was there)\n"
    assert work("job", "list").stdout == f"{id}  greet  echo hello world\n"


def test_the_first_job_makes_its_room(run: Run, here: Path) -> None:
    assert run("dispatch", "job", "create", "greet", "--", "true").exit_code == 0
    assert (here / "strongroom.db").exists()
    assert run("dispatch", "submit", "greet").exit_code == 0


@pytest.mark.parametrize("words", [("job", "list"), ("submit", "x"), ("runs",), ("run", "--drain"), ("audit",)])
def test_no_other_command_makes_a_room(run: Run, here: Path, words: tuple[str, ...]) -> None:
    told = run("dispatch", *words)
    assert (told.exit_code, (here / "strongroom.db").exists()) == (2, False)


@pytest.mark.parametrize("words", [("job", "list"), ("runs",), ("journal",), ("audit",), ("chain", "verify")])
def test_whoever_only_looks_makes_no_tables(run: Run, here: Path, words: tuple[str, ...]) -> None:
    url = f"sqlite:///{here}/other.db"
    assert run("migrate", url, "--schema", "changes").exit_code == 0
    told = run("dispatch", *words, "--room", url)
    assert (told.exit_code, "keeps no dispatch" in told.stderr) == (2, True)
    schemas = dict(line.split(maxsplit=1) for line in run("inspect", url).stdout.splitlines()[1:] if " " in line)
    assert schemas["dispatch"].startswith("not in the store")


def test_another_command_takes_another_name(work: Run, answers: Answers) -> None:
    answers("job", "create", "greet", command=("true",))
    told = work("job", "create", "greet", command=("false",))
    assert (told.exit_code, "runs another command" in told.stderr) == (2, True)
    assert len(answers("job", "list")) == 1


@pytest.mark.parametrize(
    ("words", "command", "reason"),
    [
        (("greet",), (), "say what is run behind --"),
        (("greet",), ("./build.sh",), "absolute path"),
        (("greet",), ("",), "can't be empty"),
        (("",), ("true",), "name"),
    ],
)
def test_what_is_no_job_is_refused(
    work: Run, workspace: Workspace, words: tuple[str, ...], command: tuple[str, ...], reason: str
) -> None:
    told = work("job", "create", *words, command=command)
    assert (told.exit_code, reason in told.stderr) == (2, True), told.stderr
    assert workspace.jobs.list().items == []


def test_a_command_that_does_not_stand_behind_dashes_is_none(run: Run, here: Path) -> None:
    told = run("dispatch", "job", "create", "greet", "true")
    assert (told.exit_code, "behind --" in told.stderr) == (2, True)
    assert not (here / "strongroom.db").exists()


def test_jobs_are_listed_newest_first_and_page_by_page(work: Run, answers: Answers) -> None:
    for name in ("one", "two", "three"):
        answers("job", "create", name, command=("true",))
    told = work("job", "list", "--limit", 2)
    assert [line.split()[1] for line in told.stdout.splitlines()] == ["three", "two"]
    cursor = told.stderr.strip().rpartition("--after=")[2]
    assert [job["name"] for job in answers("job", "list", "--after", cursor)] == ["one"]
    assert [job["name"] for job in answers("job", "list", "--q", "w")] == ["two"]


def test_a_job_that_others_made_without_a_command_is_listed_as_such(
    work: Run, answers: Answers, workspace: Workspace
) -> None:
    workspace.releases.save(Release(workspace.name, "release_1", "by hand"))
    job = workspace.jobs.create("by hand", "release_1").job
    assert work("job", "list").stdout == f"{job.id}  by hand  no command\n"
    assert answers("job", "list")[0]["command"] is None


def test_the_same_key_gives_the_runs_that_are_there(answers: Answers, workspace: Workspace) -> None:
    (job,) = answers("job", "create", "greet", command=("true",))
    first = answers("submit", "greet", "--key", "k", "--count", 3)
    again = answers("submit", job["id"], "--key", "k", "--count", 4)
    assert [one["key"] for one in again] == ["k-1", "k-2", "k-3", "k-4"]
    assert [one["replayed"] for one in again] == [True, True, True, False]
    assert [one["run"] for one in again[:3]] == [one["run"] for one in first]
    assert len(workspace.runs.list(state=RunState.QUEUED).items) == 4


def test_without_a_key_every_request_is_a_new_one(answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "greet", command=("true",))
    runs = [answers("submit", "greet")[0]["run"] for _ in range(2)]
    assert len({*runs}) == 2
    assert [workspace.runs.get(run).input for run in runs] == ["{}", "{}"]


def test_another_input_under_the_same_key_is_refused(work: Run, answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "greet", command=("true",))
    answers("submit", "greet", "--key", "k", "--input", '{"b":1, "a":2}')
    assert answers("submit", "greet", "--key", "k", "--input", '{"a":2,"b":1}')[0]["replayed"]
    assert work("submit", "greet", "--key", "k", "--input", "3").exit_code == 2
    assert len(workspace.runs.list().items) == 1


def test_a_full_queue_may_be_tried_again_later(work: Run, answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "greet", command=("true",))
    told = work("submit", "greet", "--key", "k", "--count", 3, "--queue-limit", 2)
    assert (told.exit_code, len(told.stdout.splitlines())) == (3, 2)
    assert len(workspace.runs.list().items) == 2
    again = answers("submit", "greet", "--key", "k", "--count", 3, "--queue-limit", 3)
    assert [one["replayed"] for one in again] == [True, True, False]


def test_an_input_comes_from_a_file_or_standard_input(
    answers: Answers, workspace: Workspace, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers("job", "create", "greet", command=("true",))
    (here / "input.json").write_text('{"from": "file"}')
    (filed,) = answers("submit", "greet", "--input", f"@{here}/input.json")
    assert workspace.runs.get(filed["run"]).input == '{"from":"file"}'

    monkeypatch.setattr(
        "strongroom.cli.dispatch.submit.sys",
        SimpleNamespace(stdin=SimpleNamespace(buffer=io.BytesIO(b"[1, 2]")), stdout=sys.stdout),
    )
    (piped,) = answers("submit", "greet", "--input", "-")
    assert workspace.runs.get(piped["run"]).input == "[1,2]"


@pytest.mark.parametrize("given", ["{", "@missing.json", "", "[1,]", '"\\ud800"', '{"a":1,"a":2}', f'"{"x" * 70_000}"'])
def test_an_input_that_is_none_is_refused(work: Run, answers: Answers, workspace: Workspace, given: str) -> None:
    answers("job", "create", "greet", command=("true",))
    assert work("submit", "greet", "--input", given).exit_code == 2
    assert workspace.runs.list().items == []


def test_an_input_file_that_is_too_long_is_refused_and_never_cut(
    work: Run, answers: Answers, workspace: Workspace, here: Path
) -> None:
    answers("job", "create", "greet", command=("true",))
    # What stands in the first bytes is a value by itself.
    (here / "long").write_text("1" + " " * 2**20 + "2")
    assert work("submit", "greet", "--input", "@long").exit_code == 2
    assert workspace.runs.list().items == []


def test_a_job_that_is_not_there_was_not_found(work: Run) -> None:
    told = work("submit", "nobody")
    assert (told.exit_code, "nobody" in told.stderr) == (1, True)


def test_a_name_that_several_jobs_have_stands_for_none(work: Run, answers: Answers, workspace: Workspace) -> None:
    answers("job", "create", "greet", command=("true",))
    workspace.releases.save(Release(workspace.name, "release_1", "by hand"))
    other = workspace.jobs.create("greet", "release_1").job
    told = work("submit", "greet")
    assert (told.exit_code, "2 jobs have the name" in told.stderr) == (2, True)
    assert answers("submit", other.id)[0]["job"] == other.id


def test_of_several_workspaces_one_has_to_be_named(run: Run, url: str, answers: Answers) -> None:
    answers("job", "create", "greet", command=("true",))
    assert run("dispatch", "submit", "greet", "--room", url).exit_code == 0, "it is the only one"
    made = run("dispatch", "job", "create", "greet", "--room", url, "--workspace", "other", "--", "true")
    assert made.exit_code == 0
    told = run("dispatch", "runs", "--room", url)
    assert (told.exit_code, "name one with --workspace" in told.stderr) == (2, True)
    assert run("dispatch", "runs", "--room", url, "--workspace", "other").stderr == "no runs\n"
