"""conform runs the kit on stores of its own, touches nothing that exists, and tells programs and people what came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import strongroom
from strongroom.conformance import CLAUSES
from strongroom.conformance.mutants.registry import find
from strongroom.errors import InvalidArgument

from .conftest import Run, announce

FOLDER_ENGINE = Path(__file__).parents[2] / "examples" / "own_engine"


def test_the_chosen_cases_run_and_one_object_tells_what_came_of_them(run: Run, tmp_path: Path) -> None:
    answer = run("conform", f"sqlite:///{tmp_path}/new.db", "--clause", "W1", "--clause", "D2", "--json")
    assert (answer.exit_code, answer.stderr) == (0, "")
    (line,) = answer.stdout.splitlines()
    report = json.loads(line)
    assert list(report) == ["engine", "strength", "clauses", "cases", "passed", "failed", "unsupported"]
    assert (report["engine"], report["strength"]) == ("sqlite", "multi-record")
    assert list(report["clauses"]) == ["W1", "D2"]
    assert all(count["cases"] == count["passed"] > 1 for count in report["clauses"].values())
    assert report["cases"] == report["passed"] == sum(count["cases"] for count in report["clauses"].values())
    assert report["failed"] == report["unsupported"] == []


def test_people_get_a_line_for_each_clause(run: Run) -> None:
    answer = run("conform", "memory://", "--case", "the_clock_never_goes_back", "--clause", "T1")
    assert (answer.exit_code, answer.stderr) == (0, "")
    clause, end = answer.stdout.splitlines()
    assert clause.split(maxsplit=4) == ["T1", "1", "of", "1", CLAUSES["T1"]]
    assert end == "memory (multi-record): 1 of 1 cases passed, 0 failed"


def test_what_could_not_be_run_is_told_beside_the_answer(run: Run) -> None:
    answer = run("conform", "memory://", "--case", "a_commit_that_fails_is_no_success_and_keeps_nothing")
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[-1] == "memory (multi-record): 0 of 1 cases passed, 0 failed"
    assert answer.stderr == "unsupported (1): the harness can't make a commit fail\n"


def test_what_the_engine_does_not_claim_is_told_beside_the_answer(run: Run) -> None:
    answer = run("conform", "memory://", "--case", "what_is_acknowledged_was_flushed_before")
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[-1] == "memory (multi-record): 0 of 0 cases passed, 0 failed"
    assert answer.stderr == "not asked (1): the engine claims durability none only\n"


def test_a_case_that_fails_is_told_and_is_exit_code_1(run: Run) -> None:
    words = ["conform", "memory://", "--clause", "T5"]
    with find("memory-abandon-commits").loose():
        answer, as_json = run(*words), run(*words, "--json")
    assert (answer.exit_code, as_json.exit_code) == (1, 1)
    assert (
        "FAILED T5 an_abandoned_transaction_keeps_nothing_and_gives_out_its_result: the rows: expected" in answer.stdout
    )
    failed = json.loads(as_json.stdout)["failed"]
    assert {failure["clause"] for failure in failed} == {"T5"}
    assert list(failed[0]) == ["case", "clause", "error"]
    assert run(*words).exit_code == 0


def test_a_store_that_exists_is_refused_and_left_as_it_is(run: Run, url: str, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in tmp_path.glob("shop*")}
    answer = run("conform", url)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert f"{tmp_path}/shop.db exists: conform writes, and never touches what is there" in answer.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.glob("shop*")} == before


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda path: path.symlink_to("nowhere")])
def test_whatever_stands_under_the_path_is_refused(run: Run, tmp_path: Path, make: object) -> None:
    make(tmp_path / "there.db")  # type: ignore[operator]
    answer = run("conform", f"sqlite:///{tmp_path}/there.db")
    assert (answer.exit_code, "exists" in answer.stderr) == (2, True)


def test_nothing_is_left_beside_the_path(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "new-1.db").write_text("a neighbour whose name the kit might have used")
    monkeypatch.chdir(tmp_path / "disk")
    assert run("conform", "sqlite:///new.db", "--clause", "K1").exit_code == 0
    assert run("conform", "sqlite:///new.db", "--case", "an_engine_answers_as_a_plain_model_does").exit_code == 0
    assert [path.name for path in Path().iterdir()] == ["new-1.db"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "which engine"),
        (["sqlite:///{folder}/none/new.db"], "no stores can be made in"),
        (["sqlite:///{folder}/new.db?create=0"], "leave the option create out"),
        (["sqlite:///{folder}/new.db?nonsense=1"], "nonsense"),
        (["memory://", "--clause", "W99"], "no clause 'W99'"),
        (["memory://", "--case", "nothing"], "no case 'nothing'"),
        (["strange://place"], "strange"),
        (["strange://place-{{n}}"], "no engine for strange://"),
    ],
)
def test_a_wrong_call_is_exit_code_2_and_makes_nothing(
    run: Run, tmp_path: Path, words: list[str], complaint: str
) -> None:
    answer = run("conform", *[word.format(folder=tmp_path) for word in words])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert complaint in answer.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packages"]


def test_an_engine_of_somebody_else_gets_a_number_for_each_store_and_only_new_ones(
    run: Run, tmp_path: Path, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(FOLDER_ENGINE))
    announce(packages, "strongroom.engines", drawers="folder_engine:open_url")
    words = ["conform", f"drawers:///{tmp_path}/store-{{n}}", "--case", "what_is_not_there_is_nothing_and_no_fault"]
    answer = run(*words)
    assert (answer.exit_code, answer.stderr) == (0, "")
    made = {path.name for path in tmp_path.glob("store-*")}
    assert len(made) >= 1
    monkeypatch.setattr("strongroom.conformance.url_harness._numbers", iter(sorted(int(n[6:]) for n in made)))
    again = run(*words)
    assert (again.exit_code, again.stdout) == (2, "")
    assert "holds something: conform never touches what is there" in again.stderr


def test_the_cases_can_be_listed(run: Run) -> None:
    answer = run("conform", "--list", "--clause", "D1", "--slow")
    head, *cases = answer.stdout.splitlines()
    assert head == f"D1  {CLAUSES['D1']}"
    assert "    nothing_is_lost_however_often_a_writer_is_killed (slow)" in cases
    fast = [json.loads(line) for line in run("conform", "--list", "--json").stdout.splitlines()]
    assert len(fast) > 200
    assert not any(one["slow"] for one in fast)
    assert list(fast[0]) == ["case", "clause", "slow"]


def test_the_faults_of_opening_come_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise InvalidArgument("bad")

    monkeypatch.setattr(strongroom, "open", refuse)
    answer = run("conform", "memory://")
    assert (answer.exit_code, answer.stderr) == (2, "error: bad\n")
