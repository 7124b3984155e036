"""Attempts: each has a folder that is used once, and one record line that lies in it before the store has it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strongroom.dispatcher.attempts import RECORD_BYTES, AttemptExists, Attempts, RecordUnfit
from strongroom.errors import InvalidArgument, StoreHeld

LINE = b'{"exit":0}'


@pytest.fixture
def attempts(tmp_path: Path) -> Attempts:
    return Attempts(tmp_path / "attempts", "build")


def test_an_attempt_begins_with_its_input_and_an_empty_folder_to_work_in(attempts: Attempts, tmp_path: Path) -> None:
    attempt = attempts.begin("run_1", 2, '{"name":"é"}')
    assert attempt.path == tmp_path / "attempts" / "build" / "run_1.2"
    assert attempt.input.read_bytes() == '{"name":"é"}'.encode()
    assert list(attempt.work.iterdir()) == []
    assert sorted(path.name for path in attempt.path.iterdir()) == ["input.json", "work"]


@pytest.mark.parametrize("kind", ["begun", "empty", "a file", "a link to nowhere"])
def test_a_folder_that_is_there_is_never_used_again(attempts: Attempts, kind: str) -> None:
    path = attempts.path("run_1", 1)
    if kind == "begun":
        (attempts.begin("run_1", 1, "1").work / "left").touch()
    elif kind == "empty":
        path.mkdir()
    elif kind == "a file":
        path.touch()
    else:
        path.symlink_to(path.with_name("nowhere"))
    before = sorted(path.parent.rglob("*"))
    with pytest.raises(AttemptExists, match="its attempt 1 was begun before"):
        attempts.begin("run_1", 1, "2")
    assert sorted(path.parent.rglob("*")) == before
    assert kind != "begun" or (path / "input.json").read_text() == "1"
    attempts.begin("run_1", 2, "2")


@pytest.mark.parametrize("name", ["a/b", "a-b", "a b", "..", ".", "é", "x" * 255, "x" * 254, "~"])
def test_any_workspace_has_a_folder_of_its_own_under_the_root(tmp_path: Path, name: str) -> None:
    folder = Attempts(tmp_path, name).folder
    assert folder.parent == tmp_path
    assert len(folder.name) < 255
    others = {Attempts(tmp_path, other).folder for other in ("a/b", "a-b", "a b", "é", "x" * 253) if other != name}
    assert folder not in others


def test_a_root_that_can_t_be_made_is_a_wrong_call(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match="can't be made: Not a directory"):
        Attempts(tmp_path / "file", "build")


def test_a_command_that_wrote_no_record_gets_the_line_that_is_written_of_it(attempts: Attempts) -> None:
    attempt = attempts.begin("run_1", 1, "{}")
    for path in (attempt.output, attempt.errors):
        path.touch()
    assert attempt.keep_record(LINE) == LINE
    assert attempt.record.read_bytes() == LINE + b"\n"


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_command_s_own_record_is_kept_as_it_wrote_it(attempts: Attempts, end: bytes) -> None:
    attempt = attempts.begin("run_1", 1, "{}")
    for path in (attempt.output, attempt.errors):
        path.touch()
    own = b"x" * RECORD_BYTES
    attempt.record.write_bytes(own + end)
    assert attempt.keep_record(LINE) == own
    assert attempt.record.read_bytes() == own + end


@pytest.mark.parametrize("own", [b"", b"\n", b"a\nb", b"a\n\n", b"a\r\n", b"x" * (RECORD_BYTES + 1)])
def test_a_record_that_is_not_one_line_is_unfit_and_not_written_over(attempts: Attempts, own: bytes) -> None:
    attempt = attempts.begin("run_1", 1, "{}")
    attempt.record.write_bytes(own)
    with pytest.raises(RecordUnfit, match="not exactly one line"):
        attempt.keep_record(LINE)
    assert attempt.record.read_bytes() == own


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_record_that_is_no_plain_file_is_unfit_and_nobody_waits_for_it(
    attempts: Attempts, tmp_path: Path, kind: str
) -> None:
    attempt = attempts.begin("run_1", 1, "{}")
    (tmp_path / "secret").write_bytes(LINE)
    if kind == "link":
        attempt.record.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(attempt.record)
    else:
        attempt.record.mkdir()
    with pytest.raises(RecordUnfit):
        attempt.keep_record(LINE)


def test_a_record_lies_flushed_with_what_it_names(attempts: Attempts, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []

    def fsync(handle: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{handle}"))

    attempt = attempts.begin("run_1", 1, "{}")
    for path in (attempt.output, attempt.errors):
        path.touch()
    monkeypatch.setattr(os, "fsync", fsync)
    attempt.keep_record(LINE)
    assert flushed == [
        str(path) for path in (attempt.output, attempt.errors, attempt.record, attempt.path, attempts.folder)
    ]


def test_two_dispatchers_without_leases_are_never_at_work_in_one_workspace(attempts: Attempts, tmp_path: Path) -> None:
    with attempts.alone():
        with pytest.raises(StoreHeld, match="several share a workspace by --lease"), attempts.alone():
            raise AssertionError
        with Attempts(tmp_path / "attempts", "another").alone():
            pass
    with attempts.alone():
        pass
