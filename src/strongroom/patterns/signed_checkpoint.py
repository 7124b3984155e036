"""Signed checkpoints: where a chain stood, as a note that others keep, in the form of c2sp.org/tlog-checkpoint.

The note says the chain's origin, how many entries it had, and the digest of the last one's exact line; a line of its
own, ``trail ...``, says which chain it is. The digest is a chain's and not the root of a Merkle tree: whoever checks it
reads the chain up to there (`Chain.verify`), and no proof shorter than that exists.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from strongroom.patterns.chain_check import Checkpoint
from strongroom.patterns.notes import NoteMalformed, NoteSigner, NoteUnverified, NoteVerifier, open_note, sign_note

_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_TRAIL: Final = "trail "


@dataclass(frozen=True, slots=True)
class CheckpointText:
    """The text of a checkpoint of any log: its origin, how many entries it has, its hash, and lines of its own.

    Raises `NoteMalformed` for what can't be written so.
    """

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for line in (self.origin, *self.extensions):
            if not line or "\n" in line:
                raise NoteMalformed("a checkpoint's lines are not empty")
        if type(self.size) is not int or not 0 <= self.size < 10**19 or len(self.root) != 32:
            raise NoteMalformed("a checkpoint has a size, and a hash of 32 bytes")

    @classmethod
    def parse(cls, text: str) -> CheckpointText:
        """What the text of a note says. Raises `NoteMalformed` for one that is no checkpoint."""
        lines = text.removesuffix("\n").split("\n")
        if not text.endswith("\n") or len(lines) < 3 or not _SIZE.fullmatch(lines[1]):
            raise NoteMalformed("not a checkpoint: an origin, a size and a hash, each on a line")
        try:
            root = base64.b64decode(lines[2], validate=True)
        except (binascii.Error, ValueError):
            raise NoteMalformed("not a checkpoint: its hash is not base64") from None
        found = cls(lines[0], int(lines[1]), root, tuple(lines[3:]))
        if str(found) != text:
            raise NoteMalformed("not a checkpoint as it is written")
        return found

    def __str__(self) -> str:
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode(), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


def sign_checkpoint(checkpoint: Checkpoint, *signers: NoteSigner, origin: str = "") -> str:
    """The checkpoint of a chain as a note that one or more keys sign.

    Arguments:
        origin: the name of the chain, unique among all that its readers know; that of the first key if empty.

    Raises `NoteMalformed` for an origin or a trail with a newline, and for no signer.
    """
    if not signers:
        raise NoteMalformed("a signed checkpoint has a signature")
    root = bytes.fromhex(checkpoint.digest.removeprefix("sha256:"))
    text = CheckpointText(origin or signers[0].name, checkpoint.sequence, root, (_TRAIL + checkpoint.trail,))
    return sign_note(str(text), *signers)


def open_checkpoint(note: str, *verifiers: NoteVerifier, origin: str) -> Checkpoint:
    """The checkpoint that a trusted key signed for the chain of this origin.

    Raises as `open_note`; `NoteUnverified` for another origin; `NoteMalformed` for what is no chain's checkpoint.
    """
    text = CheckpointText.parse(open_note(note, *verifiers).text)
    if text.origin != origin:
        raise NoteUnverified("the checkpoint is of another origin")
    trail = text.extensions[0] if text.extensions else ""
    if not trail.startswith(_TRAIL) or trail == _TRAIL or text.size < 1:
        raise NoteMalformed("not the checkpoint of a chain: it names no trail, or no entry")
    return Checkpoint(trail.removeprefix(_TRAIL), text.size, f"sha256:{text.root.hex()}")
