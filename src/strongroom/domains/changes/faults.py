"""The sentinels of the changes domain, told apart from every other domain's faults of the same kind.

There is no `AlreadyExists` among them: a repeated claim is absorbed.
"""

from __future__ import annotations

from typing import Final

from strongroom import errors
from strongroom.patterns import Faults


class NotFound(errors.NotFound):
    """The request has no claim on that change in the queue."""


class VersionMismatch(errors.VersionMismatch):
    """The claim has another version, or there is none; nothing was written (W2). Retryable: read it again."""


FAULTS: Final = Faults(not_found=NotFound, version_mismatch=VersionMismatch)
