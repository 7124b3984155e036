"""Ctrl-C at every place where it can strike: the interpreter's own places, one after the other.

The interpreter looks for signals after a call, at the beginning of a function, at the end of a loop's turn, and while
it waits for a lock. `interrupted_everywhere` runs something again and again, and has it interrupted at the first such
place, then at the second, and so on, until it comes through.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, Final

_LOOKED_AFTER: Final = {"RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD"}
_LOOKED_WHILE: Final = {"BEFORE_WITH"}


class Interrupt:
    """Raises KeyboardInterrupt at the place number `at` of what it is given to run, counted in the modules' code."""

    def __init__(self, at: int, *modules: ModuleType) -> None:
        self._left = at
        self._files = {module.__file__ for module in modules}
        self._before: dict[FrameType, str] = {}
        self.where = ""
        """The place where it struck; empty if there was no such place."""

    def run(self, work: Callable[[], object]) -> None:
        """Run `work`, and swallow the interrupt."""
        outer = sys.gettrace()
        sys.settrace(self._enter)
        try:
            work()
        except KeyboardInterrupt:
            if not self.where:
                raise
        finally:
            sys.settrace(outer)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in self._files:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if self._before.get(frame) in _LOOKED_AFTER or name in _LOOKED_WHILE:
                self._left -= 1
                if self._left == 0:
                    self.where = f"{frame.f_code.co_qualname} line {frame.f_lineno}, before {name}"
                    raise KeyboardInterrupt
            self._before[frame] = name
        return self._step


def interrupted_everywhere(*modules: ModuleType) -> Iterator[Interrupt]:
    """One interrupt for each place in the modules' code; ends after the first that found none."""
    at = 0
    while True:
        at += 1
        interrupt = Interrupt(at, *modules)
        yield interrupt
        if not interrupt.where:
            assert at > 1, "nothing of these modules was run"
            return
