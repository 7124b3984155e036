"""The operator's tools as a library: verify, inspect, list and migrate a store. Knows no engine and no domain.

Each is given an open engine and the subjects (`strongroom.patterns.Subject`) that say what should be in its store.
"""

from strongroom.operations.inspection import Inspection, TableCount, inspect
from strongroom.operations.listing import get_record, list_records, stored_table
from strongroom.operations.migration import Plan, migrate, plan
from strongroom.operations.showing import parse_key, shown_record
from strongroom.operations.stored import StoredTable
from strongroom.operations.survey import Presence, SchemaState, State, Survey, TableState, survey
from strongroom.operations.verification import Finding, Kind, Verification, Walked, verify

__all__ = [
    "Finding",
    "Inspection",
    "Kind",
    "Plan",
    "Presence",
    "SchemaState",
    "State",
    "StoredTable",
    "Survey",
    "TableCount",
    "TableState",
    "Verification",
    "Walked",
    "get_record",
    "inspect",
    "list_records",
    "migrate",
    "parse_key",
    "plan",
    "shown_record",
    "stored_table",
    "survey",
    "verify",
]
