"""The flows of Stovepipe."""

from strongroom.domains.stovepipe.flows.faults import Inconsistent, NotReady, OperationConflict
from strongroom.domains.stovepipe.flows.materializer import persist_log

__all__ = ["Inconsistent", "NotReady", "OperationConflict", "persist_log"]
