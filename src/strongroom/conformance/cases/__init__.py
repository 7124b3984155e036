"""The cases, one module for each theme of the contract."""

from __future__ import annotations

import importlib
from typing import Final

from strongroom.conformance.kit import Case, registered

MODULES: Final = (
    "keys",
    "values",
    "order",
    "writes",
    "transactions",
    "company",
    "functions",
    "isolation",
    "crossings",
    "visibility",
    "reads",
    "scopes",
    "logs",
    "chains",
    "leases",
    "idempotency",
    "proofs",
    "schemas",
    "faults",
    "network",
    "strengths",
    "errors",
    "sharing",
    "durability",
    "histories",
    "kills",
    "modelled",
    "edges",
)


def all_cases() -> tuple[Case, ...]:
    """Every case of the kit, in the contract's order of clauses."""
    for module in MODULES:
        importlib.import_module(f"{__name__}.{module}")
    return registered()
