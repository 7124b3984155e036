"""Ctrl-C and SIGTERM as something to be asked for, for commands that have work to bring to an end."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Signals:
    """Signals that are kept, while this is entered, instead of an exception in the middle of anything at all."""

    def __init__(self) -> None:
        self.received = threading.Event()
        """Set by the first one."""
        self.repeated = threading.Event()
        """Set by the second one."""
        self.number = 0
        """The first one's number; 0 for none."""
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # Where a signal is ignored, as in a shell's background job, it stays so.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if self.received.is_set():
            self.repeated.set()
        self.number = self.number or number
        self.received.set()
