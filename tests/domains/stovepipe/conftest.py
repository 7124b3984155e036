"""Stores of two queues in each room, and stores whose engine must not be asked."""

from __future__ import annotations

import pytest

from strongroom.domains import stovepipe
from strongroom.engine import Engine
from tests.domains.engines import RefusingEngine

QUEUE = "monorepo/main"
OTHER = "monorepo/release"


@pytest.fixture
def storage(room: Engine) -> stovepipe.Storage:
    """The stores of one queue."""
    return stovepipe.open(room).for_queue(QUEUE)


@pytest.fixture
def other(room: Engine) -> stovepipe.Storage:
    """The stores of another queue in the same room."""
    return stovepipe.open(room).for_queue(OTHER)


@pytest.fixture
def unasked() -> stovepipe.Storage:
    """The stores of the first queue on an engine that fails the test when it is asked for anything."""
    return stovepipe.Stovepipe(RefusingEngine()).for_queue(QUEUE)
