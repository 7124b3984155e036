"""Logs of bounded size: of what a command writes, the beginning and the end are kept, and the digest of both."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import Final

TAIL_BYTES: Final = 4096
"""The most bytes of output that are told beside the log."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a log keeps of a stream."""

    written: int
    """How many bytes the command wrote."""
    size: int
    """How many bytes the log has; fewer than `written`, or more by its mark, where some were left out."""
    digest: str
    """``sha256:`` and the hex digits of the log's own bytes, as they lie in the file."""


class Log:
    """A log file of bounded size that keeps the beginning and the end of what is written. Raises `OSError`.

    Between both stands a mark that says how much was left out.
    """

    def __init__(self, path: str | os.PathLike[str], limit: int) -> None:
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115
        self._half, self._total, self._size = limit // 2, 0, 0
        self._end = bytearray()
        self._hash = hashlib.sha256()
        self.fault = ""

    def write(self, output: bytes) -> None:
        """Keep what the command wrote next. A full disk is told by `fault`, as the command is not to blame for it."""
        self._append(output[: max(0, self._half - self._total)])
        self._total += len(output)
        self._end += output
        if len(self._end) > 2 * self._half:
            del self._end[: -self._half]

    def close(self) -> None:
        """Write the end, and close the file."""
        rest = max(0, self._total - self._half)
        if rest > self._half:
            self._append(b"\n[... %d bytes left out ...]\n" % (rest - self._half))
        self._append(bytes(self._end[len(self._end) - min(rest, self._half) :]))
        self._file.close()

    @property
    def kept(self) -> Kept:
        """What the file holds, once it is closed."""
        return Kept(self._total, self._size, f"sha256:{self._hash.hexdigest()}")

    @property
    def tail(self) -> str:
        """The last `TAIL_BYTES` of what was written, decoded as UTF-8 with U+FFFD for what is not and for NUL."""
        return self._end[-TAIL_BYTES:].decode("utf-8", "replace").replace("\0", "\ufffd")

    def _append(self, output: bytes) -> None:
        try:
            while output and not self.fault:
                done = self._file.write(output)
                self._hash.update(output[:done])
                self._size += done
                output = output[done:]
        except OSError as fault:
            self.fault = f"the log is incomplete: {fault.strerror}"
