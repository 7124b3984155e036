from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from strongroom.conformance.stopping import check_stops
from strongroom.domains import stovepipe
from strongroom.domains.stovepipe import SCHEMA, Storage
from strongroom.engine import Engine
from tests.conftest import OPENERS
from tests.domains.stovepipe.flows.support import QUEUE

Step = Callable[[Storage], object]
CheckStops = Callable[[Step, Step], int]


@pytest.fixture
def storage(room: Engine) -> Storage:
    return stovepipe.open(room).for_queue(QUEUE)


KINDS = [pytest.param(kind, marks=[pytest.mark.slow] if kind == "sqlite" else []) for kind in sorted(OPENERS)]
"""Every stop needs a store of its own, which on a disk takes its time."""


@pytest.fixture(params=KINDS)
def survives_stops(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CheckStops]:
    """Shows that a flow, after the steps that lead up to it, may be stopped after each of its writes: how many."""
    numbers = count()
    with ExitStack() as open_engines:

        def check(before: Step, flow: Step) -> int:
            def fresh() -> Engine:
                folder = tmp_path / str(next(numbers))
                folder.mkdir()
                engine = open_engines.enter_context(OPENERS[request.param](folder))
                before(stovepipe.open(engine).for_queue(QUEUE))
                return engine

            return check_stops(fresh, lambda engine: flow(Storage(engine, QUEUE)), SCHEMA)

        yield check
