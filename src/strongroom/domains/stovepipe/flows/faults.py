"""The faults that only flows can find: between records that are each as they were written."""

from __future__ import annotations

from strongroom.errors import StrongroomError


class Inconsistent(StrongroomError):
    """Two things that are, or would be, on record contradict each other. Nothing was overwritten.

    Not retryable: the first writer won, and the second one says something else of the same thing.
    """


class OperationConflict(StrongroomError):
    """The operation id was used before, for another change. Nothing was written; not retryable."""


class NotReady(StrongroomError):
    """An earlier step of the same request has not come this far. Nothing was written; retry later."""

    retryable = True
