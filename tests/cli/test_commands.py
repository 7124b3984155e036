"""Every command teaches by an example that works, and ends every fault with one line and its exit code."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import typer

import strongroom
from strongroom.cli import app, output
from strongroom.cli.catalogue import complete_table
from strongroom.domains import stovepipe
from strongroom.errors import (
    CommitUnknown,
    Conflict,
    Corrupt,
    InvalidArgument,
    MigrationFailed,
    NotFound,
    SchemaTooNew,
    StoreHeld,
    StrongroomError,
    TooLarge,
    Unavailable,
    Unsupported,
)
from tests.operations.shop import JOURNAL, Entry

from .conftest import Run, announce

COMMANDS = {command.name: command for command in typer.main.get_command(app).commands.values()}  # type: ignore[attr-defined]
STORE_COMMANDS = ["get", "inspect", "ls", "migrate", "verify"]


def example(name: str) -> str:
    """The example in a command's help."""
    found = re.search(r"^Example: (strongroom .*)$", COMMANDS[name].help or "", re.MULTILINE)
    assert found, f"{name} has no line that begins with 'Example: strongroom'"
    return found[1]


def test_these_are_the_store_commands() -> None:
    assert set(STORE_COMMANDS) <= set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_explained_with_an_example_of_itself(name: str) -> None:
    words = shlex.split(example(name))
    assert words[:2] == ["strongroom", name]
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", ""), f"{name}: {parameter.name} is not explained"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_answers_to_help(run: Run, name: str) -> None:
    answer = run(name, "--help")
    assert answer.exit_code == 0
    assert f"Usage: strongroom {name}" in answer.stdout
    assert "Example: strongroom" in answer.stdout


@pytest.mark.parametrize("name", STORE_COMMANDS)
def test_the_examples_of_the_store_commands_work(
    run: Run, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with strongroom.open("sqlite:///strongroom.db") as engine:
        requests = stovepipe.open(engine).for_queue("monorepo/main").requests
        requests.create(stovepipe.Request("monorepo/main", "1", "git://monorepo/1"))
    answer = run(*shlex.split(example(name))[1:])
    assert answer.exit_code == 0
    assert not [line for line in answer.stderr.splitlines() if not line.startswith("schemas not in the store: ")]


def test_the_version_is_told(run: Run) -> None:
    answer = run("--version")
    assert (answer.exit_code, answer.stdout) == (0, f"strongroom {strongroom.__version__}\n")


def test_without_a_command_the_commands_are_shown(run: Run) -> None:
    answer = run()
    for name in COMMANDS:
        assert name in answer.output


def test_a_command_that_does_not_exist_is_a_usage_error(run: Run) -> None:
    assert run("verfiy", "memory://").exit_code == 2


def test_a_shell_completes_the_names_of_tables(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_STRONGROOM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "strongroom ls memory:// shop_")
    monkeypatch.setenv("COMP_CWORD", "3")
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.stdout.split() == ["shop_orders", "shop_by_amount", "shop_journal", "shop_vouchers"]
    assert completed.stderr == ""


def test_a_schema_that_cannot_be_loaded_completes_nothing(run: Run, packages: Path) -> None:
    points = packages / "strongroom_schemas-1.0.dist-info" / "entry_points.txt"
    assert complete_table("shop_o") == ["shop_orders"]
    points.write_text("[strongroom.schemas]\nshop = nowhere:SUBJECT\n")
    assert complete_table("shop_o") == []


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Corrupt("bad"), 1),
        (NotFound("bad"), 1),
        (SchemaTooNew("bad"), 1),
        (MigrationFailed("bad"), 1),
        (InvalidArgument("bad"), 2),
        (Unsupported("bad"), 2),
        (TooLarge("bad"), 2),
        (Unavailable("bad"), 3),
        (StoreHeld("bad"), 3),
        (Conflict("bad"), 3),
        (CommitUnknown("bad", token="t"), 3),
    ],
)
def test_every_fault_is_one_line_and_an_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, fault: StrongroomError, code: int
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise fault

    monkeypatch.setattr(strongroom, "open", refuse)
    for words in (["inspect", "memory://"], ["migrate", "memory://"]):
        answer = run(*words)
        # A store that is not there is a wrong call.
        expected = 2 if isinstance(fault, NotFound) else code
        assert (answer.exit_code, answer.stdout, answer.stderr) == (expected, "", "error: bad\n")


def test_a_fault_s_line_is_one_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert output.fail(Corrupt("a\nb\x1b[31m[bold]c[/bold]\u202ed")) == 1
    assert capsys.readouterr().err == "error: a\\nb\\x1b[31m[bold]c[/bold]\\u202ed\n"


def test_ctrl_c_ends_quietly(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(strongroom, "open", stop)
    answer = run("verify", "memory://")
    assert (answer.exit_code, answer.output) == (130, "")


def test_ctrl_c_ends_a_real_process_quietly(command: list[str], packages: Path) -> None:
    (packages / "endless.py").write_text(
        textwrap.dedent(
            """
            import signal, time
            # Whoever runs the tests in the background has it ignored.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print("ready", flush=True)
            time.sleep(60)
            """
        )
    )
    announce(packages, "strongroom.engines", endless="endless:open_url")
    process = subprocess.Popen(
        [*command, "verify", "endless://"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    rest, remarks = process.communicate(timeout=60)
    assert (process.returncode, rest, remarks) == (130, "", "")


def test_a_reader_that_goes_away_ends_it_quietly(command: list[str], url: str) -> None:
    process = subprocess.Popen(
        [*command, "ls", url, "shop_orders", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, remarks = process.communicate(timeout=60)
    assert (process.returncode, remarks) == (141, b"")


def test_a_terminal_that_cannot_show_a_character_gets_its_number(
    command: list[str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with strongroom.open(url) as engine:
        engine.insert(JOURNAL, Entry("é", 1, "ü"))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    shown = subprocess.run([*command, "ls", url, "shop_journal", "é"], capture_output=True, check=False)
    assert (shown.returncode, shown.stdout) == (0, b"branch=\\xe9  position=1  note=\\xfc\n")


def test_the_program_runs_as_a_module_and_as_a_script(command: list[str]) -> None:
    for beginning in (command, [str(Path(sys.executable).parent / "strongroom")]):
        shown = subprocess.run([*beginning, "--version"], capture_output=True, text=True, check=False)
        assert (shown.returncode, shown.stdout) == (0, f"strongroom {strongroom.__version__}\n")
