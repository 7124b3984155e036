"""Signed notes: a text and the Ed25519 signatures under it, in the form of c2sp.org/signed-note.

A note is plain text that a person can read and mail, and that other tools of that form can check. The keys' texts are
those of Go's ``sumdb/note``. Signing and checking need the extra ``signing``; reading a note does not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from strongroom.errors import InvalidArgument, StrongroomError, Unsupported

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

MOST_SIGNATURES: Final = 100
"""How many signatures a note may have; the form asks for 16 or more."""
MOST_BYTES: Final = 1_000_000
"""How many bytes a note may have."""

_ED25519: Final = b"\x01"
_DASH: Final = "\N{EM DASH} "
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f]")
_SECRET: Final = "PRIVATE+KEY+"


class NoteMalformed(InvalidArgument):
    """The text is no signed note, or no key; the message shows nothing of it."""


class NoteUnverified(StrongroomError):
    """The note bears no signature of a trusted key, or a false one. What it says must not be used."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line: whose key it says to be of, that key's id, and the signature itself."""

    name: str
    key_id: int
    signature: bytes

    def __str__(self) -> str:
        return f"{_DASH}{self.name} {_base64(self.key_id.to_bytes(4) + self.signature)}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is read, nothing of it verified."""

    text: str
    """What is signed: it ends in a newline."""
    signatures: tuple[Signature, ...]

    @classmethod
    def parse(cls, note: str) -> Note:
        """The parts of a note. Raises `NoteMalformed`."""
        text, found, lines = note.rpartition("\n\n")
        if not found or not text.strip("\n") or not lines.endswith("\n") or not _is_sound(note):
            raise NoteMalformed("not a signed note: a text, an empty line, and signatures, each with a newline")
        signatures = tuple(map(_signature, lines[:-1].split("\n")))
        if len(signatures) > MOST_SIGNATURES:
            raise NoteMalformed(f"a note has at most {MOST_SIGNATURES} signatures")
        return cls(text + "\n", signatures)

    def __str__(self) -> str:
        return self.text + "\n" + "".join(map(str, self.signatures))


class NoteVerifier:
    """A key that checks signatures, trusted under a name.

    Raises `NoteMalformed` for a name that can't be (empty, with a space or a plus) and for what is no public key;
    `Unsupported` where the extra ``signing`` is not installed.
    """

    def __init__(self, name: str, public_key: bytes) -> None:
        _check_name(name)
        key = _ed25519().Ed25519PublicKey
        self.name = name
        self.public_key = public_key
        self.key_id = _key_id(name, _ED25519 + public_key)
        self._key: Ed25519PublicKey = _made(key.from_public_bytes, public_key)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The key of a text such as ``example.com/log+c74f20a3+ARpc2QcU...``. Raises as the class."""
        name, stated, data = _key_parts(text)
        verifier = cls(name, data[1:])
        if verifier.key_id != stated:
            raise NoteMalformed("a key whose id is another key's")
        return verifier

    @property
    def text(self) -> str:
        """The key as it is given to others."""
        return f"{self.name}+{self.key_id:08x}+{_base64(_ED25519 + self.public_key)}"

    def verifies(self, text: str, signature: bytes) -> bool:
        """Whether this key signed exactly this text."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True

    def __repr__(self) -> str:
        return f"<verifier {self.text}>"


class NoteSigner:
    """A key that signs, under a name; a URL without its scheme is a good one. Raises as `NoteVerifier`.

    Arguments:
        name: the key's name.
        seed: the 32 bytes that the key is made of, a secret.
    """

    def __init__(self, name: str, seed: bytes) -> None:
        self._seed = seed
        self._key: Ed25519PrivateKey = _made(_ed25519().Ed25519PrivateKey.from_private_bytes, seed)
        self.name = name
        self.verifier = NoteVerifier(name, self._key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls, name: str) -> Self:
        """A new key."""
        return cls(name, _ed25519().Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The key of a secret text such as ``PRIVATE+KEY+example.com/log+c74f20a3+AYEK...``. Raises as the class."""
        if not text.startswith(_SECRET):
            raise NoteMalformed("not a signing key")
        name, stated, data = _key_parts(text.removeprefix(_SECRET))
        signer = cls(name, data[1:])
        if signer.verifier.key_id != stated:
            raise NoteMalformed("a key whose id is another key's")
        return signer

    @property
    def secret(self) -> str:
        """The key as it is kept: whoever has it can sign."""
        return f"{_SECRET}{self.name}+{self.verifier.key_id:08x}+{_base64(_ED25519 + self._seed)}"

    def sign(self, text: str) -> Signature:
        """The signature of a text, which ends in a newline."""
        return Signature(self.name, self.verifier.key_id, self._key.sign(text.encode()))

    def __repr__(self) -> str:
        return f"<signer {self.name}+{self.verifier.key_id:08x}>"


def sign_note(text: str, *signers: NoteSigner) -> str:
    """The note of a text that each of one or more keys signs.

    Raises `NoteMalformed` for a text that is empty, does not end in a newline, or has control characters.
    """
    if not text.endswith("\n") or not text.strip("\n") or not signers:
        raise NoteMalformed("a note has a text that ends in a newline, and a signature")
    note = str(Note(text, tuple(signer.sign(text) for signer in signers)))
    Note.parse(note)
    return note


def open_note(note: str, *verifiers: NoteVerifier) -> Note:
    """The note, with the signatures of trusted keys only, each verified and each key once.

    Signatures of unknown keys are passed over. Raises `NoteMalformed`; `NoteUnverified` where a trusted key's signature
    is false, or there is none; `InvalidArgument` for two keys of one name and id.
    """
    known: dict[tuple[str, int], NoteVerifier] = {}
    for verifier in verifiers:
        other = known.setdefault((verifier.name, verifier.key_id), verifier)
        if other.public_key != verifier.public_key:
            raise InvalidArgument(f"two keys are both {verifier.name}+{verifier.key_id:08x}")
    parsed = Note.parse(note)
    verified: dict[tuple[str, int], Signature] = {}
    for signature in parsed.signatures:
        key = (signature.name, signature.key_id)
        if key not in known or key in verified:
            continue
        if not known[key].verifies(parsed.text, signature.signature):
            raise NoteUnverified(f"the signature of {signature.name}+{signature.key_id:08x} is false")
        verified[key] = signature
    if not verified:
        raise NoteUnverified("the note bears no signature of a trusted key")
    return Note(parsed.text, tuple(verified.values()))


def _signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    data = _bytes(encoded)
    if not line.startswith(_DASH) or len(data) < 5:
        raise NoteMalformed("not a signature: a dash, the key's name, and its id with the signature")
    _check_name(name)
    return Signature(name, int.from_bytes(data[:4]), data[4:])


def _key_parts(text: str) -> tuple[str, int, bytes]:
    """A key's name, the id that it says to have, and its kind with its bytes."""
    parts = text.split("+", 2)
    if len(parts) != 3 or not re.fullmatch(r"[0-9a-f]{8}", parts[1]):
        raise NoteMalformed("not a key: its name, its id and its bytes, with a plus between them")
    data = _bytes(parts[2])
    if len(data) != 33 or data[:1] != _ED25519:
        raise NoteMalformed("not an Ed25519 key")
    return parts[0], int(parts[1], 16), data


def _key_id(name: str, data: bytes) -> int:
    return int.from_bytes(hashlib.sha256(name.encode() + b"\n" + data).digest()[:4])


def _check_name(name: str) -> None:
    if not name or "+" in name or any(map(str.isspace, name)) or not _is_sound(name):
        raise NoteMalformed("a key's name is not empty, and has no space and no plus")


def _is_sound(text: str) -> bool:
    """Whether the text is short enough, has an encoding, and no control characters but newlines."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return False
    return size <= MOST_BYTES and _CONTROL.search(text) is None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    """What a base64 text stands for; only the one text that stands for it is taken."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise NoteMalformed("not base64") from None
    if _base64(data) != text:
        raise NoteMalformed("not base64 as it is written")
    return data


def _made(make: Callable[[bytes], Any], data: bytes) -> Any:
    try:
        return make(data)
    except (TypeError, ValueError):
        raise NoteMalformed("not an Ed25519 key") from None


def _ed25519() -> Any:
    # Only who signs or checks loads it: it takes longer than all of a room.
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError as missing:
        raise Unsupported(
            f"notes can't be signed or checked ({missing}): pip install 'strongroom[signing]' brings what it takes"
        ) from missing
    return ed25519
