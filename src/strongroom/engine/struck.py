"""Whose an exception is that strikes while one caller runs the functions of others.

Python runs the handlers of signals in the main thread, wherever that is just then. Where it leads a group, that may be
inside a neighbour's function; what the handler raises (Ctrl-C, a SIGTERM that ends the program, an alarm) is not that
function's, nor its caller's.
"""

from __future__ import annotations

import signal
import threading
from types import CodeType
from typing import Any


def is_from_a_signal(fault: BaseException) -> bool:
    """Whether `fault`, just caught, was raised by a signal's handler, and not by what was running."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if isinstance(fault, KeyboardInterrupt):  # the handler that raises it is not written in Python
        return True
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    while hasattr(handler, "func"):  # functools.partial
        handler = handler.func
    code = getattr(handler, "__code__", None)
    if code is None:  # an object that can be called
        code = getattr(vars(type(handler)).get("__call__"), "__code__", None)
    return code if isinstance(code, CodeType) else None
