"""The conformance kit: what an engine, or a store of anybody's, must be shown to keep.

`run` holds an engine to the contract's clauses through a `Harness` and answers a `Report`; `conformance_tests` makes
pytest tests of the same cases. The test engines beside them stand in front of any engine: one of single-record
strength, one that stops its user dead, one whose commits fail.
"""

from strongroom.conformance.checks import Failed, Unprovable
from strongroom.conformance.clauses import CLAUSES
from strongroom.conformance.flushes import FlushCountingHarness
from strongroom.conformance.harness import Ability, Harness
from strongroom.conformance.kit import Case, Kit, case
from strongroom.conformance.report import Outcome, Report
from strongroom.conformance.runner import Progress, run, run_case, select
from strongroom.conformance.single_record import SingleRecordEngine
from strongroom.conformance.testing import conformance_tests
from strongroom.conformance.unreliable import UnreliableEngine, UnreliableHarness
from strongroom.conformance.url_harness import UrlHarness
from strongroom.conformance.wrapping import WrappedHarness

__all__ = [
    "CLAUSES",
    "Ability",
    "Case",
    "Failed",
    "FlushCountingHarness",
    "Harness",
    "Kit",
    "Outcome",
    "Progress",
    "Report",
    "SingleRecordEngine",
    "Unprovable",
    "UnreliableEngine",
    "UnreliableHarness",
    "UrlHarness",
    "WrappedHarness",
    "case",
    "conformance_tests",
    "run",
    "run_case",
    "select",
]
