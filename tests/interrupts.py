"""Ctrl-C at every place where it can strike: the interpreter's own places, one after the other.

The interpreter looks for signals after a call, at the beginning of a function, at the end of a loop's turn, and while
it waits for a lock. `interrupted_everywhere` runs something again and again, and has it interrupted at the first such
place, then at the second, and so on, until it comes through.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any, Final

_LOOKED_AFTER: Final = {"RESUME", "CALL", "CALL_FUNCTION_EX", "CALL_KW", "JUMP_BACKWARD"}
_LOOKED_WHILE: Final = {"BEFORE_WITH"}


class Interrupt:
    """Raises KeyboardInterrupt at the place number `at` of what it is given to run, counted in the modules' code."""

    def __init__(self, at: int, *modules: ModuleType) -> None:
        self._left = at
        self._files = {module.__file__ for module in modules}
        self._before: dict[FrameType, int] = {}
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
            self._before.clear()  # or the frames would keep alive what they lost

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if frame.f_code.co_filename not in self._files or _is_in_finalizer(frame):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "opcode":
            before, self._before[frame] = self._before.get(frame, 0), frame.f_lasti
            if _is_looked_at(frame.f_code, before, frame.f_lasti):
                self._left -= 1
                if self._left == 0:
                    self.where = f"{frame.f_code.co_qualname} line {frame.f_lineno}, offset {frame.f_lasti}"
                    raise KeyboardInterrupt
        return self._step


def _is_in_finalizer(frame: FrameType | None) -> bool:
    """Whether an interrupt would be lost there: what is raised in a finalizer the interpreter swallows."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


@functools.cache
def _is_looked_at(code: CodeType, before: int, now: int) -> bool:
    """Whether the interpreter looks for signals between two instructions that follow each other.

    What it raises there is raised by the first one; what is raised here, by the second. Where another handler is in
    charge of that (as behind ``with lock: return call()``), it would not be the same.
    """
    first, second = (dis.opname[code.co_code[at]] for at in (before, now))
    return (first in _LOOKED_AFTER or second in _LOOKED_WHILE) and _handler(code, before) == _handler(code, now)


@functools.cache
def _handler(code: CodeType, at: int) -> int | None:
    entries: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= at < entry.end), None)


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
