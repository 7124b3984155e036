"""Each safeguard of the store, broken once: the case of the suite that is named for it notices."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import strongroom
from strongroom.conformance.mutants.patching import Patches
from strongroom.domains import dispatch
from strongroom.domains.dispatch.port import WritePort
from tests.domains.dispatch import mutants_of_our_own, mutants_of_the_source, test_dispatchers  # noqa: F401 - they list themselves
from tests.domains.dispatch.mutants import MUTANTS, Case
from tests.domains.dispatch.samples import OWNER, WORKSPACE, Yard


@contextmanager
def ground(folder: Path, case: Case) -> Iterator[dict[str, Any]]:
    """What the case asks for, on a memory engine; or a folder, for a case that opens stores by itself."""
    bound = case.keywords if isinstance(case, functools.partial) else {}
    wanted = inspect.signature(case).parameters.keys() - bound.keys()
    with pytest.MonkeyPatch.context() as patch, strongroom.open("memory://") as room:
        given: dict[str, Any] = {"tmp_path": folder, "room": room, "monkeypatch": patch}
        if "workspace" in wanted or "yard" in wanted:
            given["workspace"] = dispatch.open(room).for_workspace(WORKSPACE, owner=OWNER)
        if "yard" in wanted:
            given["yard"] = Yard(given["workspace"])
        if "hands" in wanted:
            hands = given["hands"] = test_dispatchers.Hands()
            patch.setattr(WritePort, "now", lambda self: hands.now)
        given |= {"record": b"two\nlines", "step": -3_600_000, "name": "claim"}
        yield {name: given[name] for name in wanted}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_safeguard_is_noticed(name: str, tmp_path: Path) -> None:
    broken, case = MUTANTS[name]
    with ground(tmp_path, case) as given:
        case(**given)  # which passes where nothing is broken
    with ground(tmp_path, case) as given, Patches() as patch:
        broken(patch)
        with pytest.raises(BaseException) as noticed:  # noqa: PT011 - whatever it is
            case(**given)
        assert patch.ran
    assert not isinstance(noticed.value, KeyboardInterrupt)
