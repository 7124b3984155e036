"""The kit in a test suite of one's own: one pytest test for each case, in three lines.

    from strongroom.conformance import UrlHarness, conformance_tests

    test_conformance = conformance_tests(lambda folder: UrlHarness(f"mydb:///{folder}/store-{{n}}"))

A case that can't be run on the engine, or through the harness, is skipped and says why. Cases that are slow by nature
carry the marker ``slow``: declare it among your markers, and leave them out with ``-m 'not slow'``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from strongroom.conformance.harness import Harness
from strongroom.conformance.kit import KILLS, Case
from strongroom.conformance.runner import introduce, run_case, select
from strongroom.errors import Unsupported


def conformance_tests(
    make: Callable[[Path], Harness],
    *,
    clauses: Collection[str] = (),
    cases: Collection[str] = (),
    timeout: float | None = None,
    kills: int = KILLS,
) -> Callable[..., None]:
    """A test function over the kit's cases; bind it to a name that pytest collects, such as ``test_conformance``.

    Arguments:
        make: called for each case with a folder of its own; the harness it answers is closed afterwards.
        clauses, cases, timeout, kills: as for `run`.

    Raises `Unsupported` where pytest is not installed, `InvalidArgument` for a clause or case that the kit has not.
    """
    try:
        import pytest
    except ImportError as missing:
        raise Unsupported("conformance tests need pytest: pip install 'strongroom[conformance]'") from missing

    chosen = [
        pytest.param(one, id=f"{one.clause}-{one.name}", marks=[pytest.mark.slow] if one.slow else [])
        for one in select(clauses=clauses, cases=cases, slow=True)
    ]

    @pytest.mark.parametrize("case", chosen)
    def conformance(case: Case, tmp_path: Path) -> None:
        with make(tmp_path) as harness:
            _, claims = introduce(harness)
            if not case.concerns(claims):
                pytest.skip("the case is for engines that claim less")
            outcome = run_case(harness, case, claims, timeout=timeout, kills=kills)
        if outcome.status == "unsupported":
            pytest.skip(outcome.note)
        if outcome.status == "failed":
            raise AssertionError(f"{outcome.clause} {outcome.case}: {outcome.note}") from outcome.error

    return conformance
