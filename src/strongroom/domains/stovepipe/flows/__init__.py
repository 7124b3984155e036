"""The flows of Stovepipe: what takes several of its stores, in writes of one record each.

A commit goes through `ingest`, `process`, `build`, `build_signal` (once for each status of its build) and `record`,
with `reconcile_issues` beside it once the build is analyzed; `dead_letter` ends what can't be worked off. Each says
what is to be done next, and whoever runs them does that: a queue of messages, a loop, a person. `set_enablement`
changes a queue, `list_requests` and `get_project_status` show one; `persist_log` is what all history goes through.

What they all promise: a flow may be stopped at any write, by a fault or by death, and run again with the same
arguments; it then ends as one undisturbed run would have. It may run beside others, for the same request and for
other ones, on any engine of single-record strength. A `now` is the time to log by, in Unix milliseconds; what is
logged keeps the time of whoever logged it first. What an engine raises comes out as it is; where rivals win a
compare-and-set, a flow reads again and decides anew, a bounded number of times.
"""

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
