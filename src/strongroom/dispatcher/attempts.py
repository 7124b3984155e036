"""The folders that commands run in: one for each attempt of each run, made once and never used again.

In `RUN.ATTEMPT/` lie `input.json`, `stdout` and `stderr`, the record line in `record.json`, and `work/`, where the
command runs. Nothing is removed here: what came of a run is kept by the store, and what it left behind is its owner's.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from strongroom.domains.dispatch import is_record_line
from strongroom.errors import AlreadyExists, InvalidArgument, StoreHeld, StrongroomError, Unavailable
from strongroom.patterns import digest

RECORD_BYTES: Final = 65_535
"""The most bytes of a record line: what an outcome can keep."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


class AttemptExists(AlreadyExists):
    """The folder of this attempt is there already: somebody has run it before, and it is not run into that again."""


class RecordUnfit(StrongroomError):
    """What a command left as its record is not exactly one line that can be kept."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The folder of one attempt."""

    path: Path

    @property
    def work(self) -> Path:
        """Where the command runs: a folder with nothing in it."""
        return self.path / "work"

    @property
    def input(self) -> Path:
        return self.path / "input.json"

    @property
    def output(self) -> Path:
        return self.path / "stdout"

    @property
    def errors(self) -> Path:
        return self.path / "stderr"

    @property
    def record(self) -> Path:
        """The record line: the command's own, if it writes one there, else what is written of it."""
        return self.path / "record.json"

    def keep_record(self, line: bytes) -> bytes:
        """The record line of this attempt, on the disk when this returns: the command's own, or else `line`.

        Raises `RecordUnfit` where the command left something else there; `Unavailable` for a folder that can't be
        written any more.
        """
        try:
            own = self._own_record()
            if own is None:
                with open(self.record, "xb") as file:
                    file.write(line + b"\n")
            # What a record names by digest must not be less durable than it is itself.
            for path in (self.output, self.errors, self.record, self.path, self.path.parent):
                _flush(path)
        except OSError as fault:
            raise Unavailable(f"{self.path} can't be written: {fault.strerror}") from fault
        return line if own is None else own

    def _own_record(self) -> bytes | None:
        try:
            with open(self.record, "rb", opener=_open_plain) as file:
                line = file.read(RECORD_BYTES + 2)
        except FileNotFoundError:
            return None
        except OSError as fault:
            raise RecordUnfit(f"its record can't be read: {fault.strerror}") from fault
        line = line.removesuffix(b"\n")
        if not is_record_line(line) or len(line) > RECORD_BYTES:
            raise RecordUnfit(f"its record is not exactly one line of at most {RECORD_BYTES} bytes")
        return line


class Attempts:
    """The attempts of one workspace, in a folder of their own under `root`.

    Raises `InvalidArgument` for a `root` that can't be made or written.
    """

    def __init__(self, root: Path, workspace: str) -> None:
        self.folder = root.absolute() / _plain(workspace)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise InvalidArgument(f"{self.folder} can't be made: {fault.strerror}") from fault
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise InvalidArgument(f"{self.folder} can't be written")

    def path(self, run: str, attempt: int) -> Path:
        """Where an attempt of a run lies, whether it is there or not."""
        return self.folder / f"{_plain(run)}.{attempt}"

    def begin(self, run: str, attempt: int, input: str) -> Attempt:
        """Make the folder of an attempt, with the run's input in it.

        Raises `AttemptExists`, nothing touched, if it is there, whatever is in it; `Unavailable` if it can't be made.
        """
        made = Attempt(self.path(run, attempt))
        try:
            made.path.mkdir()
        except FileExistsError as fault:
            raise AttemptExists(f"its attempt {attempt} was begun before: {made.path} is there") from fault
        except OSError as fault:
            raise Unavailable(f"{made.path} can't be made: {fault.strerror}") from fault
        try:
            made.work.mkdir()
            made.input.write_text(input, encoding="utf-8")
        except OSError as fault:
            raise Unavailable(f"{made.path} can't be written: {fault.strerror}") from fault
        return made

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other dispatcher without leases, on this machine, away from these attempts while this lasts.

        It ends with the process, however that ends. Raises `StoreHeld` where another one is at work.
        """
        with open(self.folder / "alone.lock", "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as fault:
                raise StoreHeld(
                    "another dispatcher without leases is at work here: several share a workspace by --lease"
                ) from fault
            yield


def _plain(name: str) -> str:
    """A file name for any text: itself where it is plain, else what is plain of it, and a digest."""
    if _PLAIN.fullmatch(name):
        return name
    return f"{re.sub('[^A-Za-z0-9_-]', '-', name)[:100]}~{digest(name.encode()).removeprefix('sha256:')[:12]}"


def _open_plain(path: str, flags: int) -> int:
    # Neither a link to elsewhere nor a pipe that nobody writes is followed.
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
