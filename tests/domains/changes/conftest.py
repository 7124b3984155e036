"""Claims of two queues in each room, and claims whose engine must not be asked."""

from __future__ import annotations

import pytest

from strongroom.domains import changes
from strongroom.engine import Engine
from tests.domains.engines import RefusingEngine


@pytest.fixture
def claims(room: Engine) -> changes.ChangeStore:
    """The claims of one queue."""
    return changes.open(room).for_queue("main")


@pytest.fixture
def other(room: Engine) -> changes.ChangeStore:
    """The claims of another queue in the same room."""
    return changes.open(room).for_queue("release")


@pytest.fixture
def unasked() -> changes.ChangeStore:
    """The claims of the first queue on an engine that fails the test when it is asked for anything."""
    return changes.Changes(RefusingEngine()).for_queue("main")
