"""The flows of Stovepipe."""

from strongroom.domains.stovepipe.flows.build import Trigger, build
from strongroom.domains.stovepipe.flows.build_signal import Signal, Signalled, build_signal
from strongroom.domains.stovepipe.flows.dead_letter import dead_letter, dead_letter_record
from strongroom.domains.stovepipe.flows.enablement import set_enablement, settle_enablement
from strongroom.domains.stovepipe.flows.faults import Inconsistent, NotReady, OperationConflict
from strongroom.domains.stovepipe.flows.ingest import Ingested, ingest
from strongroom.domains.stovepipe.flows.issues import Reconciled, reconcile_issues
from strongroom.domains.stovepipe.flows.listing import RequestPage, list_requests
from strongroom.domains.stovepipe.flows.materializer import persist_log
from strongroom.domains.stovepipe.flows.process import Baseline, Gate, Processed, Verdict, process
from strongroom.domains.stovepipe.flows.project_status import ProjectStatus, get_project_status
from strongroom.domains.stovepipe.flows.record import Advance, Promote, Recorded, record
from strongroom.domains.stovepipe.flows.request_ids import is_newer, request_number

__all__ = [
    "Advance",
    "Baseline",
    "Gate",
    "Inconsistent",
    "Ingested",
    "NotReady",
    "OperationConflict",
    "Processed",
    "ProjectStatus",
    "Promote",
    "Reconciled",
    "Recorded",
    "RequestPage",
    "Signal",
    "Signalled",
    "Trigger",
    "Verdict",
    "build",
    "build_signal",
    "dead_letter",
    "dead_letter_record",
    "get_project_status",
    "ingest",
    "is_newer",
    "list_requests",
    "persist_log",
    "process",
    "reconcile_issues",
    "record",
    "request_number",
    "set_enablement",
    "settle_enablement",
]
