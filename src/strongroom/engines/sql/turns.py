"""Turns: how transactions that rivals would undo again and again get done one after another instead."""

from __future__ import annotations

from typing import Final

from strongroom.engine import Rivals
from strongroom.errors import StrongroomError

_IN_TURN: Final = 256
"""How many transactions take turns with other processes' after rivals won over one."""


class Turns:
    """Whether an engine's transactions take turns: the next few do after a conflict, and the others cost nothing.

    One that does begins by waiting for a lock that only such transactions ask for. One thread at a time uses this.
    """

    def __init__(self) -> None:
        self._left = 0

    def notice(self, fault: StrongroomError) -> None:
        """Say that a transaction failed: after a conflict the next ones take turns."""
        if isinstance(fault, Rivals):
            self._left = _IN_TURN

    def is_next_in_turn(self) -> bool:
        """Whether the transaction that begins now takes its turn; to be asked once for each."""
        if not self._left:
            return False
        self._left -= 1
        return True
