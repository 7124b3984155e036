"""Stores as commands name them: never made by looking, and shown without their keys and passwords."""

from __future__ import annotations

from pathlib import Path

import pytest

import strongroom
from strongroom.cli.stores import existing, read_seal_key, shown_url
from strongroom.errors import InvalidArgument
from tests.operations.shop import SUBJECT, fill

from .conftest import Run, announce

KEY = bytes(range(32))
LOOKS = [["verify"], ["inspect"], ["ls", "shop_orders"], ["get", "shop_orders", "0", "o1"], ["migrate", "--dry-run"]]


def put_url(words: list[str], url: str) -> list[str]:
    return [words[0], url, *words[1:]]


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[0])
def test_looking_at_a_store_that_does_not_exist_makes_none(run: Run, tmp_path: Path, look: list[str]) -> None:
    before = set(tmp_path.iterdir())
    answer = run(*put_url(look, f"sqlite:///{tmp_path}/missing.db"))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == f"error: there is no store at {tmp_path}/missing.db\n"
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[0])
def test_a_url_that_asks_for_a_store_to_be_made_makes_none_either(run: Run, tmp_path: Path, look: list[str]) -> None:
    answer = run(*put_url(look, f"sqlite:///{tmp_path}/missing.db?create=1"))
    assert answer.exit_code == 2
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///a.db", "sqlite:///a.db?create=0"),
        ("sqlite:///a%20b.db?timeout_ms=5&create=1", "sqlite:///a%20b.db?timeout_ms=5&create=0"),
        ("sqlite://:memory:", "sqlite://:memory:"),
        ("memory://name", "memory://name"),
    ],
)
def test_a_url_is_turned_into_one_that_makes_nothing(url: str, expected: str) -> None:
    assert existing(url) == expected


def test_a_url_that_is_none_is_a_wrong_call(run: Run) -> None:
    answer = run("verify", "strongroom.db")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: a store is named by a URL such as")


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[0])
def test_a_store_that_another_holds_is_told_with_code_3(run: Run, url: str, look: list[str]) -> None:
    with strongroom.open(f"{url}?exclusive=1"):
        answer = run(*put_url(look, url))
    assert (answer.exit_code, answer.stdout) == (3, "")
    assert len(answer.stderr.splitlines()) == 1


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "seal.key"
    file.write_text(KEY.hex() + "\n")
    return file


@pytest.fixture
def sealed(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/sealed.db"
    with strongroom.open(url, seal_key=KEY) as engine:
        fill(engine, SUBJECT)
    return url


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[0])
def test_a_sealed_store_is_read_with_its_key_file(
    run: Run, sealed: str, key_file: Path, look: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run(*put_url(look, sealed), "--seal-key-file", key_file)
    assert answer.exit_code == 0
    assert KEY.hex() not in answer.output
    monkeypatch.setenv("STRONGROOM_SEAL_KEY_FILE", str(key_file))
    again = run(*put_url(look, sealed))
    assert (again.exit_code, again.stdout) == (0, answer.stdout)


@pytest.mark.parametrize("look", LOOKS, ids=lambda words: words[0])
def test_another_seal_key_is_told_by_fingerprints_and_is_a_wrong_call(
    run: Run, sealed: str, tmp_path: Path, look: list[str]
) -> None:
    other = tmp_path / "other.key"
    other.write_text("ab" * 32)
    for answer in (run(*put_url(look, sealed)), run(*put_url(look, sealed), "--seal-key-file", other)):
        assert (answer.exit_code, answer.stdout) == (2, "")
        assert answer.stderr.startswith("error: the store is sealed with the key ")
        assert len(answer.stderr.splitlines()) == 1


def test_the_fingerprint_of_the_seal_key_is_shown_and_not_the_key(run: Run, sealed: str, key_file: Path) -> None:
    answer = run("inspect", sealed, "--seal-key-file", key_file)
    with strongroom.open(sealed, seal_key=KEY) as engine:
        assert f"sealed with the key {engine.check_seal_key()}" in answer.stdout


@pytest.mark.parametrize("text", ["", "not hex at all", "abc", "ab" * 600, "\xff"])
def test_a_key_file_without_a_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.key"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidArgument) as refused:
        strongroom.open("memory://", seal_key=read_seal_key(file))
    assert text[:6] == "" or text not in str(refused.value)


def test_a_key_file_that_cannot_be_read_is_refused(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.key"
    answer = run("inspect", "memory://", "--seal-key-file", missing)
    assert answer.exit_code == 2
    assert (
        answer.stderr == f"error: the seal key file {tmp_path}/missing.key can't be read: No such file or directory\n"
    )


SECRETIVE = """
import strongroom

def open_url(url, *, seal_key=None):
    return strongroom.open("memory://", seal_key=seal_key)
"""


@pytest.mark.parametrize("words", [["verify", "--json"], ["inspect"], ["inspect", "--json"], ["migrate", "--json"]])
def test_a_url_is_shown_without_its_secrets(run: Run, packages: Path, words: list[str]) -> None:
    (packages / "secretive.py").write_text(SECRETIVE)
    announce(packages, "strongroom.engines", secretive="secretive:open_url")
    answer = run(*put_url(words, "secretive://me:pass-word@host/room?token=tok-en"))
    assert answer.exit_code == 0
    assert "secretive://host/room?token" in answer.stdout
    assert "pass-word" not in answer.output
    assert "tok-en" not in answer.output
    assert shown_url("secretive://me:pass-word@host/room") == "secretive://host/room"
