"""The documentation is true: its examples run in the order of each page, and its commands answer as it says.

The blocks of one page share a folder and, those in Python, a namespace. In a ``console`` block a line that begins with
``$`` is a command, and what follows is what it answers; ``...`` stands for anything. Commands of `strongroom` are run;
of those behind ``<!-- not run: why -->``, which take too long, every option is looked up. A block "from" a file stands
in that file, line for line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from strongroom.cli import app

from .pages import HOUSE, Block, pages

PAGES = pages()
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the answer that the page shows."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, answer = part.replace("\\\n", " ").partition("\n")
        yield command, answer


def ours(command: str) -> list[str] | None:
    """The words of a command of `strongroom`; None for another program's."""
    words = shlex.split(command, comments=True)
    return words[1:] if words and words[0] in ("strongroom", "bin/strongroom") else None


def answers(expected: str, found: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, found.strip(), re.DOTALL) is not None


class Terminal:
    """Runs the commands of a page, and remembers how the last one exited."""

    def __init__(self) -> None:
        self.exited = 0

    def run(self, command: str, answer: str) -> None:
        words = ours(command)
        if words is None:
            if command == "echo $?":
                assert answer.strip() == str(self.exited)
            return
        result = CliRunner().invoke(app, words, prog_name="strongroom")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        self.exited = result.exit_code
        if answer.strip():
            # Where both streams have something to say, a terminal shows it in an order that is not kept here.
            found = (result.output, result.stdout + result.stderr)
            assert any(answers(answer, one) for one in found), f"$ {command}\n{result.output}"
        else:
            assert result.exit_code == 0, f"$ {command}\n{result.output}"


def run(page: str, block: Block, namespace: dict[str, Any], terminal: Terminal) -> None:
    if block.language == "python":
        code = "\n" * (block.line - 1) + block.text
        exec(compile(code, str(HOUSE / page), "exec", dont_inherit=True), namespace)
    elif block.language == "console":
        for command, answer in commands(block.text):
            terminal.run(command, answer)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_work_in_their_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("STRONGROOM_SEAL_KEY_FILE", raising=False)
    namespace: dict[str, Any] = {"__name__": page}
    terminal = Terminal()
    for block in PAGES[page].blocks:
        if block.run:
            run(page, block, namespace, terminal)


def lines_of(text: str) -> list[str]:
    """The lines that say something, wherever they begin."""
    return [line.strip() for line in text.splitlines() if line.strip()]


PARTS = [(page, block) for page, content in PAGES.items() for block in content.blocks if block.source]


@pytest.mark.parametrize(("page", "block"), PARTS, ids=[f"{page}:{block.line}" for page, block in PARTS])
def test_a_part_of_a_file_is_what_stands_in_the_file(page: str, block: Block) -> None:
    part, whole = lines_of(block.text), lines_of((HOUSE / block.source).read_text())
    places = range(len(whole) - len(part) + 1)
    assert any(whole[at : at + len(part)] == part for at in places), f"{page}:{block.line} is not in {block.source}"


SHOWN = [
    (page, command)
    for page, content in PAGES.items()
    for block in content.blocks
    if block.language == "console"
    for command, _ in commands(block.text)
]


@pytest.mark.parametrize(("page", "command"), SHOWN)
def test_every_command_and_option_that_a_page_shows_exists(page: str, command: str) -> None:
    words = ours(command)
    if words is None:
        program = shlex.split(command)[0]
        assert not program.startswith("bin/") or (HOUSE / program).exists(), f"there is no {program}"
        return
    if words[0].startswith("-"):
        return
    assert words[0] in COMMANDS, f"there is no command {words[0]}"
    shown, depth = COMMANDS[words[0]], 1
    while nested := getattr(shown, "commands", None):
        assert words[depth] in nested, f"there is no command {' '.join(words[: depth + 1])}"
        shown, depth = nested[words[depth]], depth + 1
    known = {option for parameter in shown.params for option in parameter.opts} | {"--help"}
    given = words[: words.index("--")] if "--" in words else words
    assert {word.partition("=")[0] for word in given if word.startswith("-")} <= known


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    for link in PAGES[page].links:
        place, _, anchor = link.partition("#")
        target = (HOUSE / page).parent / place if place else HOUSE / page
        assert target.exists(), f"{link}: there is no {target}"
        name = str(target.resolve().relative_to(HOUSE))
        assert not anchor or anchor in PAGES[name].anchors, f"{link}: {name} has no such heading"
