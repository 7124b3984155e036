"""mutants hunts what it is told to, says who was caught by what, and fails if one survives."""

from __future__ import annotations

import json

import pytest

from strongroom.conformance.mutants import registry
from strongroom.conformance.mutants.registry import Ground, Mutant, all_mutants

from .conftest import Run

ABANDONS = "memory-abandon-commits"
CAUGHT = "an_abandoned_transaction_keeps_nothing_and_gives_out_its_result"


def test_one_object_tells_what_came_of_the_hunt(run: Run) -> None:
    answer = run("mutants", "--only", ABANDONS, "--only", ABANDONS, "--json")
    assert (answer.exit_code, answer.stderr) == (0, "")
    (line,) = answer.stdout.splitlines()
    hunted = json.loads(line)
    (catch,) = hunted.pop("catches")
    assert hunted == {"mutants": 1, "caught": 1, "survivors": [], "not_hunted": [], "unsound": []}
    names = ["mutant", "ground", "breaks", "caught_by", "clause", "note", "cases", "seconds"]
    assert list(catch) == names
    assert [catch[name] for name in ("mutant", "ground", "caught_by", "clause")] == [ABANDONS, "memory", CAUGHT, "T5"]


def test_people_get_a_line_for_each_mutant(run: Run) -> None:
    answer = run("mutants", "--only", ABANDONS)
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        f"caught   {ABANDONS} [memory] by T5 {CAUGHT}",
        "1 of 1 mutants caught, 0 survived",
    ]


def test_a_survivor_is_told_and_is_exit_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_patches: object) -> None:
        raise AttributeError("what it broke is gone")

    survivor = Mutant("survivor", "Nothing is broken.", ("W1",), (Ground.MEMORY,), nothing)
    monkeypatch.setitem(registry._mutants, "survivor", survivor)
    answer = run("mutants", "--only", "survivor", "--only", ABANDONS)
    assert answer.exit_code == 1
    first, _, last = answer.stdout.splitlines()
    assert first.startswith(
        "SURVIVED survivor [memory]: Nothing is broken. (too crippled to keep a row: AttributeError"
    )
    assert last == "1 of 2 mutants caught, 1 survived"
    assert json.loads(run("mutants", "--only", "survivor", "--json").stdout)["survivors"] == ["survivor"]


def test_what_takes_a_server_is_counted_and_told_how_to_hunt(run: Run) -> None:
    answer = run("mutants", "--only", "etcd-reads-not-compared", "--only", ABANDONS)
    assert answer.exit_code == 0
    assert answer.stdout.splitlines()[1:] == [
        "1 not hunted, or not everywhere: add --on 'etcd://HOST:2379/mutants'",
        "1 of 1 mutants caught, 0 survived",
    ]
    alone = json.loads(run("mutants", "--only", "etcd-reads-not-compared", "--json").stdout)
    assert (alone["mutants"], alone["not_hunted"]) == (0, ["etcd-reads-not-compared"])


def test_a_url_that_no_mutant_is_hunted_at_is_a_wrong_call(run: Run) -> None:
    answer = run("mutants", "--on", "sqlite:///a.db")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: sqlite: mutants are hunted on servers of ")


def test_a_name_that_no_mutant_has_is_a_wrong_call(run: Run) -> None:
    answer = run("mutants", "--only", "nobody")
    assert (answer.exit_code, answer.stdout, answer.stderr) == (2, "", "error: there is no mutant 'nobody'\n")


def test_the_mutants_can_be_listed(run: Run) -> None:
    listed = [json.loads(line) for line in run("mutants", "--list", "--json").stdout.splitlines()]
    assert [one["mutant"] for one in listed] == [one.name for one in all_mutants()]
    assert list(listed[0]) == ["mutant", "breaks", "clauses", "on"]
    answer = run("mutants", "--list", "--only", ABANDONS)
    assert answer.stdout == f"{ABANDONS} (T5; memory): What an abandoned transaction wrote is kept.\n"
