"""Stovepipe's own sentinels: what its callers catch, told apart from every other domain's faults of the same kind.

Arguments out of range stay `strongroom.InvalidArgument`, a foreign queue `strongroom.ScopeMismatch`, and what is wrong
with an engine or with what it holds keeps its own name: none of these is an answer of this domain.
"""

from __future__ import annotations

from typing import Final

from strongroom import errors
from strongroom.patterns import Faults


class NotFound(errors.NotFound):
    """Nothing is stored under that key in the queue. Not retryable: a write that was acknowledged is seen (R1)."""


class AlreadyExists(errors.AlreadyExists):
    """The key is taken in the bound queue; what is stored was left untouched (W1)."""


class VersionMismatch(errors.VersionMismatch):
    """The stored row has another version, or there is none; nothing was written (W2). Retryable: read it again."""


FAULTS: Final = Faults(not_found=NotFound, already_exists=AlreadyExists, version_mismatch=VersionMismatch)
