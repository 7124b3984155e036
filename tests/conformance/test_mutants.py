"""The mutants, and the hunt for them: what it takes for one to count as caught, and that all of them are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import strongroom
from servers.etcd import store_url
from servers.server import Address
from strongroom.conformance.cases import all_cases
from strongroom.conformance.mutants.grounds import EXAMPLES, ground_of
from strongroom.conformance.mutants.hunt import hunt
from strongroom.conformance.mutants.patching import Patches
from strongroom.conformance.mutants.registry import VARIABLE, Ground, Mutant, all_mutants, find, mutant
from strongroom.engine import Clock, Engine, retry
from strongroom.engine.operations import WriteOperations
from strongroom.errors import InvalidArgument

SAMPLES = {
    "memory-create-once-dropped": ("memory", "W1"),
    "sqlite-abandon-commits": ("sqlite", "T5"),
    "cursor-epoch-not-checked": ("memory", "R5"),
}


SERVERS: dict[Ground, tuple[str, Callable[[Any], str]]] = {
    Ground.POSTGRES: ("postgres", lambda address: str(address.url(schema="mutants"))),
    Ground.MYSQL: ("mariadb", lambda address: str(address.url("mutants"))),
    Ground.GALERA: ("galera", lambda nodes: cluster_url(nodes, "mutants")),
    Ground.ETCD: ("etcd", lambda address: store_url([address], "mutants")),
    Ground.DYNAMODB: ("dynamodb", lambda address: str(address.url("mutants"))),
}
"""The fixture of the server for each ground that needs one, and the URL of a store there."""


def cluster_url(nodes: list[Address], database: str) -> str:
    """Each connection goes to any of the nodes."""
    others = ",".join(f"{node.host}:{node.port}" for node in nodes[1:])
    return nodes[0].url(database, hosts=others, balance="1")


def of_our_own(mutate: Callable[[Patches], None], *clauses: str) -> Mutant:
    return Mutant("of-our-own", "Something.", clauses or ("W1",), (Ground.MEMORY,), mutate)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_mutant_survives(tmp_path: Path) -> None:
    hunted = hunt(folder=tmp_path)
    assert hunted.survivors == ()
    assert hunted.unsound == ()
    assert hunted.caught == hunted.mutants >= 150
    elsewhere = {one.name for one in all_mutants() if any(ground.needs_server for ground in one.grounds)}
    assert set(hunted.not_hunted) == elsewhere


SERVER_SAMPLES: dict[Ground, str] = {
    Ground.POSTGRES: """
        postgres-keys-in-the-order-of-a-language postgres-read-committed postgres-single-writes-outside-of-serializable
        postgres-conflicts-are-not-retried postgres-commit-error-swallowed postgres-mark-not-written
    """,
    Ground.MYSQL: """
        mysql-insert-ignore mysql-update-of-equal-values-counts-as-none mysql-plain-reads
        mysql-deadlocks-are-not-retried mysql-commit-error-swallowed mysql-mark-not-written
    """,
    Ground.GALERA: "galera-no-guards",
    Ground.ETCD: """
        etcd-reads-not-compared etcd-ranges-not-compared etcd-deleted-keys-not-compared
        etcd-lost-answer-is-taken-for-kept etcd-lost-answer-is-taken-for-lost-commit etcd-mark-used-twice
    """,
    Ground.DYNAMODB: """
        dynamodb-guards-not-counted-up dynamodb-sent-again-under-another-token dynamodb-mark-used-twice
    """,
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("ground", SERVER_SAMPLES, ids=lambda ground: ground.value)
def test_mutants_of_a_server_are_caught(ground: Ground, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Some of each engine's: all of them take hours, and are hunted with `strongroom mutants --on URL`."""
    fixture, url = SERVERS[ground]
    chosen = [find(name) for name in SERVER_SAMPLES[ground].split()]
    hunted = hunt(chosen, folder=tmp_path, servers={ground: url(request.getfixturevalue(fixture))})
    assert hunted.survivors == ()
    assert hunted.unsound == ()
    assert hunted.caught == hunted.mutants == len(chosen) >= 1


def test_every_ground_that_needs_a_server_gets_one_here() -> None:
    assert set(SERVERS) == set(EXAMPLES) == {ground for ground in Ground if ground.needs_server}


def test_mutants_of_a_server_that_is_not_given_are_not_hunted_and_named(tmp_path: Path) -> None:
    hunted = hunt([find("postgres-read-committed"), find("memory-abandon-commits")], folder=tmp_path)
    assert (hunted.mutants, hunted.caught, hunted.survivors, hunted.ok) == (1, 1, (), True)
    assert hunted.not_hunted == ("postgres-read-committed",)


def test_a_server_s_url_says_where_mutants_are_hunted() -> None:
    assert {ground_of(url) for url in EXAMPLES.values()} == set(EXAMPLES)
    assert all(ground_of(url) is ground for ground, url in EXAMPLES.items())
    for url, why in (("sqlite:///a.db", "mutants are hunted on servers"), ("no url", "URL")):
        with pytest.raises(InvalidArgument, match=why):
            ground_of(url)


def test_a_mutant_is_caught_by_a_case_of_its_clauses(tmp_path: Path) -> None:
    hunted = hunt([find(name) for name in SAMPLES], folder=tmp_path)
    assert (hunted.mutants, hunted.caught, hunted.survivors, hunted.unsound, hunted.ok) == (3, 3, (), (), True)
    assert {catch.mutant: (catch.ground, catch.clause) for catch in hunted.catches} == SAMPLES
    assert all(catch.caught_by and catch.note for catch in hunted.catches)


def test_every_clause_with_cases_has_a_mutant() -> None:
    assert {one.clause for one in all_cases()} <= {clause for one in all_mutants() for clause in one.clauses}


def test_a_mutant_s_name_says_where_it_is_hunted() -> None:
    places = {ground.name.lower(): {ground} for ground in Ground if ground.needs_server}
    places |= {"memory": {Ground.MEMORY}, "sqlite": {Ground.SQLITE, Ground.WATCHED}}
    for one in all_mutants():
        expected = places.get(one.name.partition("-")[0])
        assert expected is None or set(one.grounds) <= expected, one.name
        assert one.breaks.endswith("."), one.name


def everything() -> list[tuple[Mapping[str, object], str, object]]:
    """Whatever a mutant may take the place of: what the package's modules hold, and what their classes define."""
    spaces = [vars(module) for name, module in sys.modules.items() if name.partition(".")[0] == "strongroom"]
    held = {kind for space in spaces for kind in space.values() if isinstance(kind, type)}
    classes = [kind for kind in held if (kind.__module__ or "").startswith("strongroom")]
    places = [*spaces, *map(vars, classes)]
    return [(space, name, value) for space in places for name, value in list(space.items())]


def test_every_mutant_breaks_something_and_leaves_nothing_behind() -> None:
    for one in all_mutants():
        with one.loose():
            pass  # what a mutant imports is imported now
    before = everything()
    for one in all_mutants():
        with one.loose():
            assert any(space.get(name) is not value for space, name, value in before), one.name
    assert [name for space, name, value in before if space.get(name) is not value] == []


@pytest.mark.slow
def test_a_mutant_that_breaks_nothing_survives() -> None:
    now = Clock.now
    harmless = of_our_own(lambda patch: patch.method(Clock, "now", lambda self: now(self)), "W5")
    hunted = hunt([harmless], slow=False)
    (catch,) = hunted.catches
    assert (hunted.caught, hunted.survivors, hunted.ok) == (0, ("of-our-own",), False)
    assert (catch.caught_by, catch.note) == ("", "no case noticed")
    assert catch.cases > 100


def test_a_mutant_that_is_good_for_nothing_survives() -> None:
    def crippled(_self: object, _table: object, _record: object) -> None:
        raise NotImplementedError("no inserts")

    (catch,) = hunt([of_our_own(lambda patch: patch.method(WriteOperations, "insert", crippled))]).catches
    assert catch.caught_by == ""
    assert catch.note == "too crippled to keep a row: NotImplementedError: no inserts"


def test_a_mutant_of_code_that_is_gone_survives() -> None:
    (catch,) = hunt([of_our_own(lambda patch: patch.method(Clock, "was_here_once", lambda self: 0))]).catches
    assert catch.caught_by == ""
    assert "Clock has no was_here_once of its own" in catch.note


def test_a_crash_is_no_catch() -> None:
    update = WriteOperations.update

    def crashing(self: Any, table: Any, record: Any, *, expect: Any) -> None:
        update(self, table, record, expect=expect)
        raise LookupError("not a fault of the contract's")

    mutate = of_our_own(lambda patch: patch.method(WriteOperations, "update", crashing), "L1")
    (catch,) = hunt([mutate], slow=False).catches
    # Cases that look whether an update raises do notice; those that merely stumble over it do not count.
    assert not catch.note.startswith("LookupError")


def test_a_function_is_replaced_wherever_it_was_imported_by_name_and_given_back() -> None:
    def held() -> list[Any]:
        modules = [import_module(f"strongroom.{name}") for name in ("engine", "engine.retry", "patterns.log")]
        return [vars(module)["retry"] for module in modules]

    with Patches() as patches:
        patches.function(retry, lambda call, **_: "broken")
        before = patches.ran
        assert [again(lambda: "healthy") for again in held()] == ["broken"] * 3
        assert (before, patches.ran) == (False, True)
    assert held() == [retry] * 3


def test_a_module_that_is_imported_meanwhile_keeps_nothing_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    with Patches() as patches:
        patches.function(retry, lambda call, **_: "broken")
        monkeypatch.setattr(
            strongroom, "imported_meanwhile", vars(import_module("strongroom.engine"))["retry"], raising=False
        )
        assert vars(strongroom)["imported_meanwhile"] is not retry
    assert vars(strongroom)["imported_meanwhile"] is retry


def test_what_is_not_there_can_not_be_broken() -> None:
    with Patches() as patches:
        with pytest.raises(AttributeError, match="no get of its own"):
            patches.method(Engine, "get", lambda self: None)  # inherited: patched there, or not at all
        with pytest.raises(AttributeError, match="nowhere"):
            patches.function(lambda: None, lambda: None)


def test_a_worker_process_is_the_mutant_that_it_is_told_to_be() -> None:
    command = [sys.executable, "-m", "strongroom.conformance.worker", "strongroom:open", "memory://", "hold"]
    paths = os.pathsep.join(path for path in sys.path if path)

    def work(name: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, VARIABLE: name, "PYTHONPATH": paths}
        return subprocess.run(command, env=environment, input="", capture_output=True, text=True, check=False)

    assert "there is no mutant 'nobody'" in work("nobody").stderr
    crippled = work("use-after-close")
    assert (crippled.returncode, crippled.stdout.split()) == (0, ["held", "done"])


def test_a_name_that_no_mutant_has_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no mutant 'nobody'"):
        find("nobody")


def test_a_mutant_needs_a_name_of_its_own_clauses_and_a_docstring() -> None:
    def speechless(_patch: Patches) -> None: ...

    def memory_abandon_commits(_patch: Patches) -> None:
        """Another of that name."""

    all_mutants()  # so that the names that there are are known
    with pytest.raises(TypeError, match="speechless"):
        mutant("W1", on=Ground.MEMORY)(speechless)
    with pytest.raises(TypeError, match="memory-abandon-commits"):
        mutant("W1", on=Ground.MEMORY)(memory_abandon_commits)
    with pytest.raises(TypeError, match="clauses"):
        mutant("W99", on=Ground.MEMORY)(test_a_name_that_no_mutant_has_is_refused)  # type: ignore[arg-type]
