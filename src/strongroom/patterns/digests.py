"""Digests as texts: ``sha256:`` and 64 hex digits, which is how requests, lines and checkpoints name exact bytes."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_FORM: Final = re.compile(r"sha256:[0-9a-f]{64}")


def digest(data: bytes) -> str:
    """The digest of exactly these bytes."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


EMPTY_DIGEST: Final = digest(b"")
"""The digest of no bytes: what the first entry of a chain links to."""


def is_digest(text: str) -> bool:
    """Whether the text has a digest's form."""
    return _FORM.fullmatch(text) is not None
