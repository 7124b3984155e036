"""Nothing is left out of the documentation: clauses, commands and their options, public names, engines and examples."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer

import strongroom
from strongroom.cli import app
from strongroom.conformance.cases import all_cases
from strongroom.conformance.clauses import CLAUSES
from strongroom.engine import Claims

from .pages import HOUSE, pages

PAGES = pages()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]

_CLAUSE = re.compile(r"^- \*\*([A-Z]\d)\*\* (.*?)(?=^- \*\*|^$|\Z)", re.MULTILINE | re.DOTALL)


def described_clauses() -> dict[str, str]:
    return {clause: " ".join(text.split()) for clause, text in _CLAUSE.findall(PAGES["docs/contract.md"].text)}


def kit_modules() -> dict[str, set[str]]:
    modules: dict[str, set[str]] = defaultdict(set)
    for case in all_cases():
        modules[case.clause].add(case.check.__module__.rpartition(".")[2])
    return modules


def test_the_contract_has_every_clause_once_and_in_order() -> None:
    found = [clause for clause, _ in _CLAUSE.findall(PAGES["docs/contract.md"].text)]
    assert found == list(CLAUSES)


@pytest.mark.parametrize("clause", CLAUSES)
def test_a_clause_tells_truly_where_it_is_shown(clause: str) -> None:
    text = described_clauses()[clause]
    shown = text.partition("*Shown by*")[2]
    named = set(re.findall(r"`(\w+)`", shown))
    assert named == kit_modules()[clause]
    assert bool(named) != ("*Not built yet.*" in text)
    assert ("*Why:*" in text) == bool(named)
    for test in re.findall(r"`(tests/[^`]+)`", shown):
        assert (HOUSE / test).exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section_with_an_example_and_all_its_options(command: str) -> None:
    page = PAGES["docs/cli.md"]
    section = page.section(f"strongroom {command}")
    assert f"$ strongroom {command} " in section, f"docs/cli.md shows no example of {command}"
    common = page.section("What all commands have in common")
    for parameter in COMMANDS[command].params:
        for option in parameter.opts:
            if option.startswith("--") and option != "--help":
                assert f"`{option}" in section or f"`{option}" in common, f"{option} of {command} is not explained"


@pytest.mark.parametrize("name", strongroom.__all__)
def test_every_public_name_is_in_the_documentation(name: str) -> None:
    spans = {
        word
        for page in PAGES.values()
        for span in [*re.findall(r"`([^`\n]+)`", page.text), *(b.text for b in page.blocks if b.language == "python")]
        for word in re.findall(r"\w+", span)
    }
    assert name in spans


def claims_row(claims: Claims) -> str:
    def word(grade: Any) -> str:
        return str(grade.name).lower().replace("_", "-")

    def yes(value: bool) -> str:
        return "yes" if value else "no"

    return (
        f"{word(claims.strength)} | {word(claims.durability)} | {word(claims.sharing)} "
        f"| {yes(claims.guards_immutable)} | {yes(claims.reopens)} |"
    )


@pytest.mark.parametrize(
    "url",
    [
        "memory://",
        "sqlite:///FILE.db",
        "sqlite:///FILE.db?exclusive=1",
        "sqlite:///FILE.db?synchronous=normal",
        "sqlite://:memory:",
    ],
)
def test_the_table_of_engines_says_what_they_claim(url: str, tmp_path: Path) -> None:
    rows = [line for line in PAGES["docs/engines.md"].text.splitlines() if line.startswith(f"| `{url}` |")]
    with strongroom.open(url.replace("FILE.db", f"{tmp_path}/claims.db")) as engine:
        assert rows == [f"| `{url}` | {claims_row(engine.claims)}"]


def test_every_page_is_in_the_index() -> None:
    linked = {link.partition("#")[0] for link in PAGES["docs/index.md"].links}
    assert {Path(name).name for name in PAGES if name.startswith("docs/")} - linked == {"index.md"}


def test_every_example_is_in_the_documentation() -> None:
    text = "".join(page.text for page in PAGES.values())
    for example in (HOUSE / "examples").iterdir():
        if not example.name.startswith("_"):
            assert f"examples/{example.name}" in text


def test_the_readme_s_ten_lines_are_the_example() -> None:
    (block,) = [block.text for block in PAGES["README.md"].blocks if block.language == "python"]
    assert block == (HOUSE / "examples/ten_lines.py").read_text()
