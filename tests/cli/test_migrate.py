"""migrate says what it would do, does it once, and says from which version to which."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import strongroom
from tests.operations.shop import FIRST, fill

from .conftest import Run


@pytest.fixture
def first(tmp_path: Path) -> str:
    """A store with the shop's first version."""
    url = f"sqlite:///{tmp_path}/first.db"
    with strongroom.open(url) as engine:
        fill(engine, FIRST)
    return url


def test_a_dry_run_says_what_would_be_applied_and_applies_nothing(run: Run, first: str, tmp_path: Path) -> None:
    before = (tmp_path / "first.db").read_bytes()
    answer = run("migrate", first, "--dry-run")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout.splitlines() == [
        "strongroom: at version 1, nothing to apply",
        "shop: would go from version 1 to 2",
        "  2  shop_vouchers, shop_orders.colour, shop_orders.tags, shop_orders.scan",
    ]
    assert (tmp_path / "first.db").read_bytes() == before


def test_a_migration_says_from_where_to_where_and_is_done_once(run: Run, first: str) -> None:
    assert "shop: went from version 1 to 2" in run("migrate", first).stdout
    assert "shop: at version 2, nothing to apply" in run("migrate", first).stdout
    assert run("verify", first).exit_code == 0


def test_a_migration_as_json_has_stable_names(run: Run, first: str) -> None:
    told = json.loads(run("migrate", first, "--json").stdout)
    assert (told["store"], told["dry_run"]) == (first, False)
    assert told["schemas"] == [
        {"name": "strongroom", "from": 1, "to": 1, "steps": []},
        {
            "name": "shop",
            "from": 1,
            "to": 2,
            "steps": [
                {"number": 2, "summary": "shop_vouchers, shop_orders.colour, shop_orders.tags, shop_orders.scan"}
            ],
        },
    ]


def test_only_the_schemas_that_the_store_has_are_migrated(run: Run, first: str) -> None:
    told = json.loads(run("migrate", first, "--json").stdout)
    assert [schema["name"] for schema in told["schemas"]] == ["strongroom", "shop"]
    added = json.loads(run("migrate", first, "--schema", "changes", "--json").stdout)
    assert added["schemas"][1] == {
        "name": "changes", "from": 0, "to": 1, "steps": [{"number": 1, "summary": "changes"}],
    }  # fmt: skip


def test_a_new_store_gets_every_schema(command: list[str], tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    shown = subprocess.run([*command, "migrate", url], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    for name in ("strongroom", "stovepipe", "changes", "shop"):
        assert f"{name}: went from version 0 to" in shown.stdout
    with strongroom.open(url) as engine:
        assert {"stovepipe_requests", "changes", "shop_orders"} <= engine.tables()


def test_a_schema_that_is_not_known_is_a_wrong_call(run: Run, first: str) -> None:
    answer = run("migrate", first, "--schema", "shpo")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: no schema 'shpo' is known; known are stovepipe, changes, ")
