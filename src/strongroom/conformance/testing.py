"""The kit in a test suite of one's own: one pytest test for each case, in three lines.

    from strongroom.conformance import UrlHarness, conformance_tests

    test_conformance = conformance_tests(lambda folder: UrlHarness(f"mydb:///{folder}/store-{{n}}"))

A case that the engine claims too little for, or that the harness can't show, is skipped and says why. Cases
that are slow by nature carry the marker ``slow``: declare it among your markers, and leave them out with
``-m 'not slow'``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from strongroom.conformance.harness import Harness
from strongroom.conformance.kit import KILLS, Case
from strongroom.conformance.runner import introduce, run_case, select
from strongroom.errors import Unsupported


def conformance_tests(
    make: Callable[..., Harness],
    *,
    clauses: Collection[str] = (),
    cases: Collection[str] = (),
    quick: Collection[str] | None = None,
    timeout: float | None = None,
    kills: int = KILLS,
) -> Callable[..., None]:
    """A test function over the kit's cases; bind it to a name that pytest collects, such as ``test_conformance``.

    Arguments:
        make: called for each case with a folder of its own; the harness it answers is closed afterwards. Its other
            parameters, if it has any, name fixtures that it gets, as in ``lambda folder, server: UrlHarness(...)``.
        quick: the clauses whose cases carry the marker only if they are slow by nature, where setting up a store takes
            so long that all others are to carry it; None for all.
        clauses, cases, timeout, kills: as for `run`.

    Raises `Unsupported` where pytest is not installed, `InvalidArgument` for a clause or case that the kit has not.
    """
    try:
        import pytest
    except ImportError as missing:
        raise Unsupported("conformance tests need pytest: pip install 'strongroom[conformance]'") from missing

    chosen = [
        pytest.param(
            one,
            id=f"{one.clause}-{one.name}",
            marks=[pytest.mark.slow] if one.slow or (quick is not None and one.clause not in quick) else [],
        )
        for one in select(clauses=clauses, cases=cases, slow=True)
    ]

    def conformance(case: Case, tmp_path: Path, **fixtures: Any) -> None:
        with make(tmp_path, **fixtures) as harness:
            _, claims = introduce(harness)
            if beyond := case.beyond(claims):
                pytest.skip(beyond)
            outcome = run_case(harness, case, claims, timeout=timeout, kills=kills)
        if outcome.status == "unsupported":
            pytest.skip(outcome.note)
        if outcome.status == "failed":
            raise AssertionError(f"{outcome.clause} {outcome.case}: {outcome.note}") from outcome.error

    # What pytest takes for the names of fixtures.
    own = list(inspect.signature(conformance).parameters.values())[:2]
    given = list(inspect.signature(make).parameters.values())[1:]
    vars(conformance)["__signature__"] = inspect.Signature([*own, *given])
    tests: Callable[..., None] = pytest.mark.parametrize("case", chosen)(conformance)
    return tests
