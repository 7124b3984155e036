"""The run chain: one line for each completed run, which pins down its record line and links to the line before.

A line is compact JSON of at most 1,024 bytes. It names the run and the digest of the run's record line, the exact bytes
that its evaluation wrote about itself. A checkpoint of the chain that is held elsewhere proves all that stands before
it; without one, the chain proves nothing against whoever can write the whole store.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from strongroom.domains.dispatch.records import CHAIN_LINES, CHAIN_RUNS
from strongroom.errors import InvalidArgument
from strongroom.patterns import Chain, ChainFinding, Checkpoint, JsonFormat

DOCUMENT_BYTES: Final = 16 * 2**20
"""The most bytes of a document of held checkpoints: it is read whole."""

_Digest = Annotated[str, msgspec.Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]
_Trail = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{32}\Z")]
_Sequence = Annotated[int, msgspec.Meta(ge=1, le=2**53 - 2)]


class RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A line of the run chain."""

    entry_version: Literal["1"]
    trail: _Trail
    sequence: _Sequence
    previous: _Digest
    """The digest of the exact bytes of the line before, of no bytes for the first."""
    kind: Literal["run"]
    run: str
    audit_digest: _Digest
    """The digest of the run's record line."""


class _CheckpointDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    checkpoint_version: Literal["1"]
    record_digest: _Digest
    sequence: _Sequence
    trail: _Trail


RUN_LINES: Final = JsonFormat(RunEntry, topic="run", max_bytes=1024)
"""The form of the chain's lines."""
RUN_CHAIN: Final = Chain(CHAIN_LINES, RUN_LINES, topics=CHAIN_RUNS)
"""The chain as the store keeps it: each run has one line at most."""


def is_record_line(record: bytes | None) -> bool:
    """Whether these are the bytes of exactly one line, without its line feed."""
    return bool(record) and b"\n" not in record and b"\r" not in record  # type: ignore[operator]


def finding_name(kind: ChainFinding) -> str:
    """A finding's kind as this domain calls it: its chain is about runs."""
    return kind.value.replace("topic", "run")


def checkpoint_line(checkpoint: Checkpoint) -> bytes:
    """A checkpoint as one line of a document of held checkpoints, without a line feed."""
    return msgspec.json.encode(
        _CheckpointDocument("1", checkpoint.digest, checkpoint.sequence, checkpoint.trail), order="sorted"
    )


def read_checkpoints(document: bytes) -> list[Checkpoint]:
    """The checkpoints of a document that has one on each line; blank lines are skipped.

    Raises `InvalidArgument` for a document without one, of more than 16 MiB, and with a line that is none.
    """
    if len(document) > DOCUMENT_BYTES:
        raise InvalidArgument(f"a document of held checkpoints has at most {DOCUMENT_BYTES} bytes")
    held = []
    for number, line in enumerate(document.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            read = msgspec.json.decode(line, type=_CheckpointDocument)
        except (msgspec.MsgspecError, RecursionError):
            raise InvalidArgument(f"line {number} is no checkpoint") from None
        held.append(Checkpoint(read.trail, read.sequence, read.record_digest))
    if not held:
        raise InvalidArgument("a document of held checkpoints has one at least")
    return held
