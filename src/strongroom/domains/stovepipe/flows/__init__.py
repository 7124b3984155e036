"""The flows of Stovepipe."""

from strongroom.domains.stovepipe.flows.faults import Inconsistent, NotReady, OperationConflict
from strongroom.domains.stovepipe.flows.ingest import Ingested, ingest
from strongroom.domains.stovepipe.flows.materializer import persist_log
from strongroom.domains.stovepipe.flows.request_ids import is_newer, request_number

__all__ = [
    "Inconsistent",
    "Ingested",
    "NotReady",
    "OperationConflict",
    "ingest",
    "is_newer",
    "persist_log",
    "request_number",
]
