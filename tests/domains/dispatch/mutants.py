"""The list of the dispatch store's mutants: what each breaks, and the case that is to notice."""

from __future__ import annotations

from collections.abc import Callable

from strongroom.conformance.mutants.patching import Patches

Case = Callable[..., None]
Break = Callable[[Patches], None]
MUTANTS: dict[str, tuple[Break, Case]] = {}


def caught_by(case: Case) -> Callable[[Break], Break]:
    def register(broken: Break) -> Break:
        MUTANTS[broken.__name__] = (broken, case)
        return broken

    return register
