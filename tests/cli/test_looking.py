"""verify, inspect, ls and get: what they tell, how they end, and that they leave the store as it was."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import strongroom
from strongroom.cli import output
from strongroom.conformance.backdoors import SqliteBackDoor
from strongroom.engine.catalog import FACTS, STEPS, AppliedStep
from tests.operations.shop import FIRST, JOURNAL, ORDERS, SUBJECT, VOUCHERS, Entry, Voucher, fill

from .conftest import Run, announce


@pytest.fixture
def back(url: str, tmp_path: Path) -> SqliteBackDoor:
    return SqliteBackDoor(tmp_path / "shop.db")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# verify


def test_a_sound_store_verifies(run: Run, url: str) -> None:
    answer = run("verify", url)
    assert (answer.exit_code, answer.stdout) == (0, "41 rows of 6 tables checked: all good\n")


def test_tampered_rows_are_listed_and_the_walk_goes_on(run: Run, url: str, back: SqliteBackDoor) -> None:
    assert back.tamper(ORDERS, ("0", "o1"), "card", "forged")
    back.remove(JOURNAL, ("2", 2))
    answer = run("verify", url)
    assert answer.exit_code == 1
    bad_order = "shop_orders('0', 'o1'): the row is not what was written: its seal does not match"
    assert answer.stdout.splitlines() == [
        bad_order,
        f"shop_by_amount('0', 1.0, 'o1'): points to what can't be read: {bad_order}",
        "shop_journal('2', 2): position 2 is missing: the log has a gap",
        "40 rows of 6 tables checked: 3 bad",
    ]


def test_a_real_process_lists_a_tampered_row(command: list[str], url: str, back: SqliteBackDoor) -> None:
    assert back.tamper(JOURNAL, ("1", 3), "note", "it never came")
    shown = subprocess.run([*command, "verify", url], capture_output=True, text=True, check=False)
    assert shown.returncode == 1
    assert shown.stdout.startswith("shop_journal('1', 3): the row is not what was written")
    assert "Traceback" not in shown.stderr


def test_findings_as_json_have_stable_names(run: Run, url: str, back: SqliteBackDoor) -> None:
    assert back.tamper(ORDERS, ("0", "o1"), "colour", "beige")
    finding, _mapping, summary = lines(run("verify", url, "--json").stdout)
    assert finding == {
        "type": "finding",
        "kind": "row",
        "table": "shop_orders",
        "key": ["0", "o1"],
        "column": "colour",
        "what": "column colour: expected one of red, blue, found 'beige'",
    }
    assert set(summary) == {"type", "store", "rows", "bad", "tables", "schemas", "absent", "unknown", "unreadable"}
    assert (summary["type"], summary["store"], summary["rows"], summary["bad"]) == ("summary", url, 41, 2)
    assert summary["tables"][2] == {"table": "shop_orders", "schema": "shop", "rows": 12, "bad": 1}
    assert summary["schemas"][-1] == {"name": "shop", "state": "current", "version": 2, "known": 2}


def test_a_newer_schema_is_found_and_the_store_left_as_it_is(run: Run, url: str, tmp_path: Path) -> None:
    with strongroom.open(url) as engine:
        engine.insert(STEPS, AppliedStep("shop", 3, "0" * 32, "from the future", 1))
    before = (tmp_path / "shop.db").read_bytes()
    answer = run("verify", url)
    assert answer.exit_code == 1
    assert answer.stdout.splitlines()[0] == (
        "strongroom_steps('shop'): schema shop: the store is at version 3, this code knows 2: use newer code"
    )
    assert "not readable with this code, and not checked: shop_orders" in answer.stderr
    for words in (["ls", url, "shop_orders"], ["get", url, "shop_orders", "0", "o1"], ["migrate", url]):
        refused = run(*words)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "the store is at version 3, this code knows 2" in refused.stderr
    assert (tmp_path / "shop.db").read_bytes() == before


def test_looking_migrates_nothing(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/first.db"
    with strongroom.open(url) as engine:
        fill(engine, FIRST)
        before = engine.tables()
    assert "schemas to be migrated: shop" in run("verify", url).stderr
    assert "version 1, behind; this code knows version 2" in run("inspect", url).stdout
    assert run("ls", url, "shop_orders").stdout.count("colour=red") == 12
    assert "red" in run("get", url, "shop_orders", "0", "o1").stdout
    absent = run("ls", url, "shop_vouchers")
    assert absent.exit_code == 2
    assert absent.stderr == "error: shop_vouchers: the store has no such table yet; a migration would make it\n"
    with strongroom.open(url) as engine:
        assert engine.tables() == before


def test_what_the_code_does_not_know_is_named(run: Run, url: str, packages: Path) -> None:
    (packages / "strongroom_schemas-1.0.dist-info" / "entry_points.txt").write_text("")
    answer = run("verify", url)
    assert answer.exit_code == 0
    assert "schemas not known to this code: shop" in answer.stderr
    assert "not checked: shop_by_amount, shop_journal, shop_orders, shop_vouchers" in answer.stderr
    told = json.loads(run("inspect", url, "--json").stdout)
    assert {"name": "shop_orders", "schema": "", "presence": "unknown"} in told["others"]


def test_a_store_that_was_never_prepared_is_said_to_hold_nothing(run: Run) -> None:
    answer = run("verify", "memory://")
    assert answer.exit_code == 0
    assert answer.stderr.startswith("the store was never prepared: it holds nothing that could be checked\n")


def test_a_schema_that_cannot_be_loaded_is_one_line_and_not_passed_over(run: Run, packages: Path) -> None:
    (packages / "broken.py").write_text("raise RuntimeError('out of order')\n")
    announce(packages, "strongroom.schemas2", broken="broken:SUBJECT")
    points = packages / "strongroom_schemas2-1.0.dist-info" / "entry_points.txt"
    points.write_text("[strongroom.schemas]\nbroken = broken:SUBJECT\n")
    answer = run("verify", "memory://")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == ("error: the schema broken (broken:SUBJECT) can't be loaded: RuntimeError: out of order\n")


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ("tests.operations.shop:KEY", "can't be loaded: TypeError: neither a Subject nor a Schema, but a tuple"),
        ("tests.operations.shop:SUBJECT", "two schemas are named shop"),
    ],
)
def test_an_announcement_that_is_no_schema_or_known_already_is_refused(
    run: Run, packages: Path, declared: str, complaint: str
) -> None:
    points = packages / "strongroom_schemas-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"[strongroom.schemas]\none = tests.operations.shop:SUBJECT\ntwo = {declared}\n")
    for words in (["inspect", "memory://"], ["migrate", "memory://", "--schema", "shop"]):
        answer = run(*words)
        assert (answer.exit_code, answer.stdout) == (2, "")
        assert complaint in answer.stderr


# inspect


def test_a_store_is_told_for_people(run: Run, url: str) -> None:
    answer = run("inspect", url)
    assert answer.exit_code == 0
    told = re.sub(" +", " ", answer.stdout)
    for line in (
        f"{url}\n",
        " engine sqlite\n",
        " seal sealed without a key\n",
        " strength multi-record\n",
        " durability flushed\n",
        " flush every commit\n",
        " wal bytes ",
        " shop version 2\n",
        " shop_orders 12 rows\n",
        " changes not in the store; this code knows version 1\n",
    ):
        assert line in told
    with strongroom.open(url) as engine:
        assert f" epoch {engine.epoch}\n" in told


def test_a_store_as_json_has_stable_names(run: Run, url: str) -> None:
    told = json.loads(run("inspect", url, "--json").stdout)
    assert set(told) == {
        "store", "engine", "claims", "facts", "seal_key", "epoch", "schemas", "tables", "others", "problems",
    }  # fmt: skip
    assert set(told["claims"]) == {"strength", "durability", "sharing", "guards_immutable", "reopens"}
    shop = told["schemas"][-1]
    assert set(shop) == {"name", "state", "version", "known", "problem", "steps"}
    assert [step["number"] for step in shop["steps"]] == [1, 2]
    assert set(shop["steps"][0]) == {"number", "summary", "digest", "applied_at"}
    assert {"name": "shop_orders", "schema": "shop", "rows": 12, "more": False} in told["tables"]


def test_a_forged_epoch_is_told_and_ends_with_1(run: Run, url: str, back: SqliteBackDoor) -> None:
    assert back.tamper(FACTS, ("epoch",), "value", "forged")
    answer = run("inspect", url)
    assert answer.exit_code == 1
    assert "wrong: strongroom_facts('epoch'): the row is not what was written" in answer.stdout
    assert " shop_orders  " in answer.stdout


# ls and get


@pytest.mark.parametrize("reverse", [[], ["--reverse"]])
@pytest.mark.parametrize("prefix", [[], ["1"]])
@pytest.mark.parametrize("limit", [1, 5, 12])
def test_pages_together_are_the_whole_listing(
    run: Run, url: str, prefix: list[str], reverse: list[str], limit: int
) -> None:
    words = ["ls", url, "shop_by_amount", *prefix, *reverse, "--json"]
    whole = lines(run(*words).stdout)
    assert len(whole) == (4 if prefix else 12)
    pages: list[dict[str, Any]] = []
    way_on: list[str] = []
    for _ in range(20):
        page = run(*words, "--limit", limit, *way_on)
        pages += lines(page.stdout)
        if not page.stderr:
            break
        way_on = shlex.split(page.stderr.partition("there is more: go on with ")[2])
    assert pages == whole


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_way_on_comes_last_also_where_both_streams_go_to_one_place(
    command: list[str], url: str, form: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    words = [*command, "ls", url, "shop_orders", "--limit", "2", *form]
    ran = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert ran.stdout.splitlines()[2].startswith("there is more: ")


def test_a_way_on_survives_the_shell(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/odd.db"
    odd = ["-1", "a b", "it's", "$HOME", "[bold]", "ü"]
    with strongroom.open(url) as engine:
        engine.prepare(SUBJECT.schema)
        for branch in odd:
            engine.insert(JOURNAL, Entry(branch, 1, ""))
    seen: list[str] = []
    way_on: list[str] = []
    for _ in odd:
        page = run("ls", url, "shop_journal", "--limit", 1, "--json", *way_on)
        seen += [line["key"][0] for line in lines(page.stdout)]
        way_on = shlex.split(page.stderr.partition("there is more: go on with ")[2])
    assert seen == sorted(odd)
    assert not way_on


def test_a_key_value_that_begins_with_a_dash_comes_after_two(run: Run, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/odd.db"
    with strongroom.open(url) as engine:
        engine.prepare(SUBJECT.schema)
        engine.insert(JOURNAL, Entry("-b", -5, "negative"))
    assert "negative" in run("get", url, "shop_journal", "--", "-b", "-5").stdout


def test_a_record_is_shown_whole_and_without_secrets(run: Run, url: str) -> None:
    answer = run("get", url, "shop_orders", "0", "o1")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        "branch   0",
        "id       o1",
        "amount   1.0",
        "card     <hidden>",
        "version  1",
        "colour   red",
        "tags     -",
        "scan     ''",
    ]
    assert "card-0-1" not in run("ls", url, "shop_orders").stdout
    record = json.loads(run("get", url, "shop_orders", "0", "o1", "--json").stdout)
    assert record == {
        "key": ["0", "o1"],
        "record": {
            "branch": "0", "id": "o1", "amount": 1.0, "card": "<hidden>", "version": 1,
            "colour": "red", "tags": None, "scan": "",
        },
    }  # fmt: skip


def test_a_sensitive_key_is_hidden_also_from_the_way_on(run: Run, url: str) -> None:
    with strongroom.open(url) as engine:
        for number in range(3):
            engine.insert(VOUCHERS, Voucher("let-me-in", number))
    answer = run("ls", url, "shop_vouchers", "--limit", 2)
    assert answer.stdout == "code=<hidden>  number=0\ncode=<hidden>  number=1\n"
    assert answer.stderr == "there is more: list more of it with --limit\n"
    within = run("ls", url, "shop_vouchers", "let-me-in", "--limit", 2)
    assert within.stderr == "there is more: go on with --after=1\n"


def test_what_is_stored_never_reaches_the_terminal_as_control_or_markup(run: Run, url: str) -> None:
    note = "[bold red]\x1b[2J\r\n\u202e\x9b" + "x" * 100
    with strongroom.open(url) as engine:
        engine.insert(JOURNAL, Entry("0", 5, note))
    short = run("ls", url, "shop_journal", "0", "--after=4").stdout
    assert short.startswith(r"branch=0  position=5  note='[bold red]\x1b[2J\r\n\u202e\x9bxxx")
    assert short.endswith("…\n")
    whole = run("get", url, "shop_journal", "0", "5").stdout
    assert whole.splitlines()[2] == f"note      {note!r}"
    assert json.loads(run("get", url, "shop_journal", "0", "5", "--json").stdout)["record"]["note"] == note


def test_a_record_that_is_not_there_ends_with_1(run: Run, url: str) -> None:
    answer = run("get", url, "shop_orders", "0", "o9")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == "error: nothing is stored as shop_orders('0', 'o9')\n"


def test_a_corrupt_record_ends_with_1(run: Run, url: str, back: SqliteBackDoor) -> None:
    assert back.tamper(ORDERS, ("0", "o1"), "version", 5)
    for words in (["get", url, "shop_orders", "0", "o1"], ["ls", url, "shop_orders"]):
        answer = run(*words)
        assert (answer.exit_code, answer.stdout) == (1, "")
        assert answer.stderr.startswith("error: shop_orders('0', 'o1'): the row is not what was written")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ls", "shop_ordres"], "no table 'shop_ordres' is known"),
        (["ls", "shop_journal", "0", "x"], "shop_journal.position: expected an integer, not 'x'"),
        (["ls", "shop_journal", "0", "1", "2"], "at most 2 key values here (branch, position), not 3"),
        (["ls", "shop_journal", "0", "1"], "this is a full key"),
        (["ls", "shop_journal", "--after=0"], "a cursor after 0 fixed values has 2, not 1"),
        (["get", "shop_journal", "0"], "the key has 2 values (branch, position), not 1"),
        (["get", "shop_orders", "0", "o" * 41], "shop_orders.id: expected at most 40 bytes"),
    ],
)
def test_a_wrong_call_is_told_with_code_2(run: Run, url: str, words: list[str], complaint: str) -> None:
    answer = run(words[0], url, *words[1:])
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert complaint in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_a_limit_below_one_is_a_usage_error(run: Run, url: str) -> None:
    assert run("ls", url, "shop_orders", "--limit", "0").exit_code == 2


# Progress


def test_progress_is_shown_on_a_terminal_and_nowhere_else(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.fullmatch(r"schemas not in the store: .*\n", run("verify", url).stderr)
    terminal = io.StringIO()
    monkeypatch.setattr(output, "remarks", Console(file=terminal, force_terminal=True, width=80))
    answer = run("verify", url)
    assert answer.stdout == "41 rows of 6 tables checked: all good\n"
    assert "shop_vouchers" in terminal.getvalue()
    assert "0 of 0 rows" in terminal.getvalue()


def test_json_is_never_mixed_with_progress(run: Run, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(output, "answers", Console(file=terminal, force_terminal=True, width=80))
    answer = run("verify", url, "--json")
    assert lines(answer.stdout)[-1]["type"] == "summary"
    assert terminal.getvalue() == ""
