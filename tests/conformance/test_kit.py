"""The kit itself: what it reports, what it waits for, and that it catches engines that are not right."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

import strongroom
from strongroom.conformance import (
    CLAUSES,
    Ability,
    Case,
    Harness,
    Kit,
    Outcome,
    Report,
    SingleRecordEngine,
    UrlHarness,
    WrappedHarness,
    case,
    conformance_tests,
    run,
    run_case,
    select,
)
from strongroom.conformance.checks import Failed, Unprovable
from strongroom.conformance.tables import MARKS, SCHEMA, Mark
from strongroom.engine import Claims, Durability, Engine, Rows, SchemaRows, Sharing, Strength, WritableRows
from strongroom.errors import InvalidArgument, Unsupported

T = TypeVar("T")

UNPROVED = {"B1", "B2", "B3"}
"""Clauses of patterns and tools that stand above every engine: they are proved where those are."""

MEMORY = Claims(Strength.MULTI_RECORD, Durability.NONE, Sharing.PROCESS, guards_immutable=False, reopens=False)


def memory() -> UrlHarness:
    return UrlHarness("memory://kit")


class Careless(Engine):
    """An engine over another, each of whose operations may be broken: by name, what is done instead of it."""

    def __init__(self, inner: Engine, **broken: Callable[..., Any]) -> None:
        self.inner = inner
        self.claims = inner.claims
        super().__init__("careless")
        self._codecs = inner._codecs
        self._broken = broken

    def _read(self, work: Callable[[Rows], T]) -> T:
        return self.inner._read(lambda rows: work(_Carelessly(rows, self._broken)))

    def _write(self, work: Callable[[WritableRows], T], abandoned: Callable[[], bool]) -> T:
        return self.inner._write(lambda rows: work(_Carelessly(rows, self._broken)), abandoned)

    def _migrate(self, work: Callable[[SchemaRows], T]) -> T:
        return self.inner._migrate(work)

    def _tables(self) -> set[str]:
        return self.inner._tables()

    def _close(self) -> None:
        self.inner.close()


class _Carelessly:
    def __init__(self, rows: Any, broken: dict[str, Callable[..., Any]]) -> None:
        self._inner = rows
        self._broken = broken

    def __getattr__(self, name: str) -> Any:
        if name in self._broken:
            return lambda *args: self._broken[name](self._inner, *args)
        return getattr(self._inner, name)


def careless(**broken: Callable[..., Any]) -> Harness:
    return WrappedHarness(memory(), lambda inner: Careless(inner, **broken), name="careless")


def insert_anyway(rows: Any, table: Any, key: Any, row: Any) -> bool:
    rows.put(table, key, row)
    return True


def replace_anyway(rows: Any, table: Any, key: Any, row: Any, _guard: Any) -> bool:
    rows.put(table, key, row)
    return True


class TestBrokenEnginesAreCaught:
    @pytest.mark.parametrize(
        ("clause", "broken"),
        [
            ("W1", {"insert": insert_anyway}),
            ("W2", {"replace": replace_anyway}),
            ("W3", {"remove": lambda rows, table, key, _guard: rows.remove(table, key, None)}),
            ("R5", {"tally": lambda rows, table, prefix, _limit: rows.tally(table, prefix, 10_000)}),
            ("R3", {"fetch_range": lambda rows, table, wanted: rows.fetch_range(table, wanted) or [None]}),
            ("K1", {"fetch": lambda rows, table, key: rows.fetch(table, tuple(str(part).lower() for part in key))}),
            ("T1", {"clock": lambda _rows: 0}),
        ],
    )
    def test_by_a_case_of_the_clause(self, clause: str, broken: dict[str, Callable[..., Any]]) -> None:
        report = run(careless(**broken), clauses=[clause], stop_at_first_failure=True)
        assert [failure.clause for failure in report.failed] == [clause]
        assert not report.ok

    def test_by_the_model(self) -> None:
        broken = {"remove": lambda rows, table, key, _guard: rows.remove(table, key, None)}
        report = run(careless(**broken), cases=["an_engine_answers_as_a_plain_model_does"])
        assert "delete" in report.failed[0].error

    def test_and_a_sound_one_is_not(self) -> None:
        assert run(careless(), clauses=["W1", "W2", "W3", "R5", "K1"]).failed == ()


class TestWatchdog:
    def test_a_case_on_a_stuck_engine_fails_and_says_where_it_stands(self) -> None:
        stuck = threading.Event()
        harness = careless(fetch=lambda *_: stuck.wait(30))
        report = run(harness, cases=["what_is_not_there_is_nothing_and_no_fault"], timeout=0.5)
        stuck.set()
        assert "did not end within" in report.failed[0].error
        assert "reads.py" in report.failed[0].error

    def test_what_is_left_of_a_stuck_case_can_not_meddle_with_the_next(self) -> None:
        freed = threading.Event()
        left: list[BaseException] = []

        def stuck(kit: Kit) -> None:
            kit.engine.count(MARKS, limit=1)
            freed.wait(30)
            try:
                kit.fresh()
            except Failed as fault:
                left.append(fault)

        harness = memory()
        assert run_case(harness, Case("stuck", "W1", stuck), MEMORY, timeout=0.2).status == "failed"
        freed.set()
        deadline = time.monotonic() + 30
        while not left and time.monotonic() < deadline:
            time.sleep(0.01)
        assert str(left[0]) == "the case was given up"

    def test_the_next_case_has_a_store_of_its_own(self) -> None:
        seen = []

        def look(kit: Kit) -> None:
            kit.engine.insert(MARKS, Mark("a"))
            seen.append(kit.engine.count(MARKS, limit=5))

        harness = memory()
        for _ in range(2):
            assert run_case(harness, Case("look", "W1", look), MEMORY).status == "passed"
        assert seen == [1, 1]


class TestReport:
    OUTCOMES = (
        Outcome("a", "K1", "passed"),
        Outcome("b", "K1", "failed", "what went wrong"),
        Outcome("c", "W4", "unsupported", "why not"),
    )

    def test_counts_what_was_selected_and_what_passed(self) -> None:
        report = Report.of("memory", "multi-record", self.OUTCOMES)
        assert (report.cases, report.passed, report.ok) == (3, 1, False)
        assert "FAILED K1 b: what went wrong" in str(report)

    def test_is_one_json_object_with_its_names_in_order(self) -> None:
        report = Report.of("memory", "multi-record", self.OUTCOMES)
        assert "\n" not in report.to_json()
        found = json.loads(report.to_json())
        assert list(found) == ["engine", "strength", "clauses", "cases", "passed", "failed", "unsupported"]
        assert found["clauses"] == {"K1": {"cases": 2, "passed": 1}, "W4": {"cases": 1, "passed": 0}}
        assert found["failed"] == [{"case": "b", "clause": "K1", "error": "what went wrong"}]
        assert found["unsupported"] == [{"case": "c", "clause": "W4", "reason": "why not"}]

    def test_what_can_not_be_run_is_never_passed(self) -> None:
        report = run(memory(), clauses=["D1", "D3", "M1"])
        reasons = {unproved.case: unproved.reason for unproved in report.unsupported}
        assert reasons["a_full_disk_loses_nothing_and_work_goes_on_afterwards"] == "the harness can't fill the disk"
        assert all(reason.startswith("the harness can't") for reason in reasons.values())
        assert report.cases == report.passed + len(report.unsupported)
        assert report.clauses["D3"].passed == 0

    def test_what_the_engine_does_not_claim_is_not_counted(self) -> None:
        [killed] = select(cases=["what_a_killed_writer_was_told_is_kept"])
        assert killed.beyond(MEMORY) == "the engine claims to be shared by process only"
        assert "D1" not in run(memory(), clauses=["D1", "D3", "M1"]).clauses
        [held] = select(cases=["two_holders_never_exist"])
        assert not held.concerns(MEMORY)
        assert not held.concerns(replace(MEMORY, exclusive=True, sharing=Sharing.ENGINE))
        assert held.concerns(replace(MEMORY, exclusive=True))

    def test_a_case_that_finds_out_only_as_it_runs_is_unsupported_too(self) -> None:
        def give_up(_kit: Kit) -> None:
            raise Unprovable("not here")

        outcome = run_case(memory(), Case("give_up", "W1", give_up), MEMORY)
        assert (outcome.status, outcome.note) == ("unsupported", "not here")

    def test_what_a_case_raises_is_shown_with_its_place(self) -> None:
        def fail(_kit: Kit) -> None:
            raise KeyError("k")

        outcome = run_case(memory(), Case("fail", "W1", fail), MEMORY)
        assert outcome.status == "failed"
        assert outcome.note.startswith("KeyError: 'k' (test_kit.py:")
        assert isinstance(outcome.error, KeyError)

    def test_a_case_without_an_obstacle_runs_only_where_it_concerns_the_engine(self) -> None:
        weak = WrappedHarness(memory(), SingleRecordEngine)
        names = ["a_second_read_in_one_snapshot_is_refused"]
        assert run(weak, cases=names).passed == 1
        assert run(memory(), cases=names).cases == 0


class TestSelection:
    def test_by_clause_and_by_name(self) -> None:
        assert {one.clause for one in select(clauses=["W2", "K1"])} == {"W2", "K1"}
        [one] = select(cases=["two_holders_never_exist"])
        assert one.clause == "D4"

    def test_slow_cases_run_when_asked_for_or_named(self) -> None:
        name = "nothing_is_lost_however_often_a_writer_is_killed"
        assert name not in {one.name for one in select()}
        assert name in {one.name for one in select(slow=True)}
        assert [one.name for one in select(cases=[name])] == [name]

    def test_what_the_kit_does_not_have_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="no clause 'X9'"):
            run(memory(), clauses=["X9"])
        with pytest.raises(InvalidArgument, match="no case 'nothing'"):
            run(memory(), cases=["nothing"])

    def test_every_clause_but_those_of_tools_has_a_case_and_every_case_reads_as_a_sentence(self) -> None:
        cases = select(slow=True)
        assert set(CLAUSES) - {one.clause for one in cases} == UNPROVED
        assert all(len(one.name.split("_")) > 3 for one in cases)

    def test_a_run_can_end_with_the_first_failure(self) -> None:
        broken = careless(insert=insert_anyway)
        assert len(run(broken, clauses=["W1"]).failed) > 1
        report = run(broken, clauses=["W1"], stop_at_first_failure=True)
        assert len(report.failed) == 1
        assert report.cases < len(select(clauses=["W1"]))

    def test_progress_is_told_after_each_case(self) -> None:
        told: list[tuple[int, int, str]] = []
        run(memory(), clauses=["S3"], progress=lambda done, total, outcome: told.append((done, total, outcome.status)))
        assert told == [(1, 2, "passed"), (2, 2, "passed")]

    def test_a_case_needs_a_clause_and_a_name_of_its_own(self) -> None:
        def two_holders_never_exist(_kit: Kit) -> None:
            raise Failed

        with pytest.raises(TypeError):
            case("X9")(two_holders_never_exist)
        select()
        with pytest.raises(TypeError):
            case("D4")(two_holders_never_exist)


class TestHarnesses:
    def test_a_url_needs_a_place_for_the_number_of_each_store(self) -> None:
        with pytest.raises(InvalidArgument, match="number"):
            UrlHarness("memory://")
        with pytest.raises(InvalidArgument, match="number"):
            UrlHarness("someday://host/database")
        harness = UrlHarness("someday://host/database_{n}")
        first = harness.url
        harness.fresh()
        assert harness.url != first
        assert harness.abilities == {Ability.PROCESSES}

    def test_what_a_harness_can_not_do_is_unsupported(self) -> None:
        harness = memory()
        for call in (harness.image, harness.open_exclusive, lambda: harness.inflict(Ability.DISK_FULL)):
            with pytest.raises(Unsupported, match="the harness can't"):
                call()
        with pytest.raises(Unsupported, match="the harness can't"):
            harness.raw_delete_refused(MARKS, ("a",))

    @pytest.mark.parametrize("url", ["memory://tampered", "sqlite:///{folder}/tampered.db"])
    def test_a_stored_row_can_be_seen_changed_and_removed(self, url: str, tmp_path: Path) -> None:
        with UrlHarness(url.replace("{folder}", str(tmp_path))) as harness:
            engine = harness.open()
            engine.prepare(SCHEMA)
            engine.insert(MARKS, Mark("a", "first"))
            before = harness.peek(MARKS, ("a",))
            assert before is not None
            assert before["value"] == "first"
            assert harness.tamper(MARKS, ("a",), "value", "second")
            assert harness.peek(MARKS, ("a",)) == {**before, "value": "second"}
            harness.remove(MARKS, ("a",))
            assert harness.peek(MARKS, ("a",)) is None
            assert engine.get(MARKS, "a") is None
            engine.insert(MARKS, Mark("a", "guards are back"))
            if Ability.TOOLS in harness.abilities:
                assert harness.raw_delete_refused(MARKS, ("a",))
            engine.close()

    def test_no_file_is_left(self, tmp_path: Path) -> None:
        with UrlHarness(f"sqlite:///{tmp_path}/store.db") as harness:
            run(harness, clauses=["W1"])
        assert list(tmp_path.iterdir()) == []


class TestPytest:
    def test_a_failing_case_is_a_failing_test(self) -> None:
        function = conformance_tests(lambda _folder: careless(insert=insert_anyway), clauses=["W1"])
        [one] = select(cases=["a_duplicate_insert_leaves_the_stored_row_untouched"])
        with pytest.raises(AssertionError, match="W1 a_duplicate_insert"):
            function(case=one, tmp_path=Path())

    def test_a_case_that_can_not_be_run_is_skipped(self) -> None:
        function = conformance_tests(lambda _folder: memory(), clauses=["W1"])
        for name, why in {
            "a_full_disk_loses_nothing_and_work_goes_on_afterwards": "the harness can't fill the disk",
            "two_holders_never_exist": "the engine does not claim",
        }.items():
            [one] = select(cases=[name])
            with pytest.raises(pytest.skip.Exception, match=why):
                function(case=one, tmp_path=Path())

    def test_what_makes_a_harness_may_ask_for_fixtures(self) -> None:
        function = conformance_tests(lambda _folder, server: UrlHarness(server), clauses=["W1"])
        assert list(inspect.signature(function).parameters) == ["case", "tmp_path", "server"]
        [one] = select(cases=["a_duplicate_insert_leaves_the_stored_row_untouched"])
        function(case=one, tmp_path=Path(), server="memory://given")

    def test_neither_pytest_nor_hypothesis_is_needed_but_where_they_are_used(self) -> None:
        script = """
import sys
sys.modules["pytest"] = sys.modules["hypothesis"] = None
from strongroom.conformance import UrlHarness, conformance_tests, run
from strongroom.errors import Unsupported
names = ["an_engine_answers_as_a_plain_model_does", "a_stale_delete_never_removes_a_later_opening"]
report = run(UrlHarness("memory://bare"), cases=names)
assert report.passed == 1 and not report.failed, report
print(report.unsupported[0].reason)
try:
    conformance_tests(lambda folder: None)
except Unsupported as fault:
    print(fault)
"""
        source = str(Path(strongroom.__file__).parents[1])
        ran = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env={"PYTHONPATH": source}, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.count("pip install 'strongroom[conformance]'") == 2
