"""`dispatch chain`: a chain that was cut or changed is found, and a checkpoint held elsewhere is what finds it."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

import strongroom
from strongroom.domains import dispatch
from tests.cli.conftest import Run
from tests.cli.dispatch.conftest import Answers


def keep(work: Run, here: Path, *options: object, name: str = "held") -> Path:
    """A checkpoint of the chain, in a file."""
    told = work("chain", "checkpoint", *options)
    assert told.exit_code == 0, told.stderr
    (here / name).write_text(told.stdout)
    return here / name


@pytest.fixture
def key(run: Run, here: Path) -> Path:
    """A signing key in a file, and the public one beside it."""
    told = run("dispatch", "chain", "keygen", "build.example", "--out", here / "key")
    assert told.exit_code == 0
    (here / "key.pub").write_text(told.stdout)
    return here / "key"


@pytest.fixture
def cut(tmp_path: Path, work: Run) -> str:
    """Another room, whose workspace has the chain of somebody who wrote everything anew."""
    url = f"sqlite:///{tmp_path}/forged.db?synchronous=normal"
    with strongroom.open(url) as engine:
        forged = dispatch.open(engine).for_workspace("build")
        forged.releases.save(dispatch.Release("build", "release_1", "forged"))
        job = forged.jobs.create("forged", "release_1").job
        for name in ("one", "two", "three"):
            forged.submit(job.id, name, "{}")
        ending = dispatch.Ending(state=dispatch.EndState.COMPLETED, record=b"{}")
        forged.dispatcher().finish_many([(claim, ending) for claim in forged.dispatcher().claim(3)])
    return url


def test_a_whole_chain_is_good(work: Run, answers: Answers, two_done: list[str]) -> None:
    told = work("chain", "verify")
    assert (told.exit_code, told.stdout) == (0, "2 lines checked: all good\n")
    assert "no checkpoint was given" in told.stderr
    (report,) = answers("chain", "verify")
    assert (report["valid"], report["lines"], report["findings"], report["checkpoints"]) == (True, 2, [], 0)
    assert report["head"]["sequence"] == 2


def test_a_chain_that_agrees_with_a_held_checkpoint_is_witnessed(
    work: Run, answers: Answers, here: Path, two_done: list[str]
) -> None:
    held = keep(work, here)
    told = work("chain", "verify", "--checkpoint", held)
    assert told.stdout == "2 lines checked: all good, 1 of 1 checkpoints match, witnessed through line 2\n"
    assert told.stderr == ""
    (report,) = answers("chain", "verify", "--checkpoint", held)
    assert (report["checkpoints"], report["matched"], report["through"]) == (1, 1, 2)


def test_a_chain_that_was_written_anew_looks_sound_and_a_checkpoint_shows_it(
    run: Run, work: Run, here: Path, two_done: list[str], cut: str
) -> None:
    held = keep(work, here)
    forged = ("dispatch", "chain", "verify", "--room", cut)
    assert run(*forged).exit_code == 0
    told = run(*forged, "--checkpoint", held)
    assert told.exit_code == 1
    assert told.stdout.startswith("checkpoint-trail-mismatch: ")
    told = run(*forged, "--checkpoint", held, "--json")
    report = json.loads(told.stdout)
    assert (told.exit_code, report["valid"]) == (1, False)
    assert {finding["kind"] for finding in report["findings"]} >= {"checkpoint-trail-mismatch"}


def test_a_signed_checkpoint_is_what_its_key_signed(work: Run, here: Path, key: Path, two_done: list[str]) -> None:
    held = keep(work, here, "--sign", key)
    origin, size, *_ = held.read_text().splitlines()
    assert (origin, size) == ("build.example", "2")
    for public in (f"@{key}.pub", Path(f"{key}.pub").read_text().strip()):
        told = work("chain", "verify", "--checkpoint", held, "--key", public)
        assert told.stdout == "2 lines checked: all good, 1 of 1 checkpoints match, witnessed through line 2\n"


def test_a_signed_checkpoint_is_of_one_origin(work: Run, here: Path, key: Path, two_done: list[str]) -> None:
    held = keep(work, here, "--sign", key, "--origin", "build.example/main")
    verify = ("chain", "verify", "--checkpoint", held, "--key", f"@{key}.pub")
    assert work(*verify, "--origin", "build.example/main").exit_code == 0
    told = work(*verify)
    assert (told.exit_code, "another origin" in told.stderr, told.stdout) == (1, True, "")


def test_a_signed_checkpoint_that_was_changed_counts_for_nothing(
    work: Run, here: Path, key: Path, two_done: list[str]
) -> None:
    held = keep(work, here, "--sign", key)
    held.write_text(held.read_text().replace("\n2\n", "\n1\n", 1))
    told = work("chain", "verify", "--checkpoint", held, "--key", f"@{key}.pub")
    assert (told.exit_code, "is false" in told.stderr, told.stdout) == (1, True, "")


def test_a_signature_of_another_key_counts_for_nothing(
    run: Run, work: Run, here: Path, key: Path, two_done: list[str]
) -> None:
    held = keep(work, here, "--sign", key)
    other = run("dispatch", "chain", "keygen", "build.example", "--out", here / "other").stdout.strip()
    told = work("chain", "verify", "--checkpoint", held, "--key", other)
    assert (told.exit_code, "no signature of a trusted key" in told.stderr) == (1, True)


def test_where_a_key_is_named_an_unsigned_checkpoint_is_refused(
    work: Run, here: Path, key: Path, two_done: list[str]
) -> None:
    held = keep(work, here)
    told = work("chain", "verify", "--checkpoint", held, "--key", f"@{key}.pub")
    assert (told.exit_code, "is not signed" in told.stderr) == (2, True)


def test_a_signed_checkpoint_without_a_key_to_check_it_is_refused(
    work: Run, here: Path, key: Path, two_done: list[str]
) -> None:
    held = keep(work, here, "--sign", key)
    told = work("chain", "verify", "--checkpoint", held)
    assert (told.exit_code, "--key" in told.stderr) == (2, True)


def test_a_key_is_its_owner_s_alone_and_never_overwritten(run: Run, here: Path, key: Path) -> None:
    secret = key.read_text()
    assert secret.startswith("PRIVATE+KEY+build.example+")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    told = run("dispatch", "chain", "keygen", "build.example", "--out", key)
    assert (told.exit_code, told.stdout) == (2, "")
    assert key.read_text() == secret


def test_no_message_shows_a_secret(work: Run, here: Path, key: Path, two_done: list[str]) -> None:
    secret = key.read_text().strip()
    told = work("chain", "verify", "--key", f"@{key}")
    assert told.exit_code == 2
    assert secret not in told.output
    assert secret.split("+", 4)[4] not in told.output


@pytest.mark.parametrize(
    "options",
    [
        ("verify", "--checkpoint", "missing"),
        ("verify", "--key", "no key"),
        ("verify", "--key", "@missing"),
        ("checkpoint", "--sign", "missing"),
        ("checkpoint", "--origin", "build.example"),
    ],
)
def test_what_can_t_be_read_or_is_no_key_is_refused(work: Run, two_done: list[str], options: tuple[str, ...]) -> None:
    told = work("chain", *options)
    assert (told.exit_code, told.stdout) == (2, "")
    assert told.stderr.startswith("error: ")


@pytest.mark.parametrize("text", [b"", b"\n", b"{}", b"\xff", b"hello\n"])
def test_a_file_that_holds_no_checkpoint_is_refused(work: Run, here: Path, two_done: list[str], text: bytes) -> None:
    (here / "held").write_bytes(text)
    assert work("chain", "verify", "--checkpoint", here / "held").exit_code == 2


def test_a_chain_without_lines_has_no_checkpoint(work: Run) -> None:
    told = work("chain", "checkpoint")
    assert (told.exit_code, told.stdout) == (1, "")
