"""What cases check with: each answers nothing if all is well, and otherwise says in one line what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

E = TypeVar("E", bound=BaseException)

_SHOWN = 300


class Failed(AssertionError):
    """The engine does not keep what a case asks of it."""


class Unprovable(Exception):
    """Raised by a case that finds only while it runs that it can't be run here; the message says why."""


def shown(value: object) -> str:
    """The value as a failure's message shows it."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}… ({len(text)} characters)"


def true(condition: object, what: str) -> None:
    """Fails with `what` unless the condition holds."""
    if not condition:
        raise Failed(what)


def equal(found: object, expected: object, what: str) -> None:
    """Fails unless the two are equal."""
    if found != expected:
        raise Failed(f"{what}: expected {shown(expected)}, found {shown(found)}")


def same(found: object, expected: object, what: str) -> None:
    """Fails unless the two are one object."""
    if found is not expected:
        raise Failed(f"{what}: expected the very object {shown(expected)}, found {shown(found)}")


def raises(
    kind: type[E],
    what: str,
    call: Callable[..., object],
    *args: Any,
    naming: Iterable[str] = (),
    hiding: Iterable[str] = (),
    **kwargs: Any,
) -> E:
    """The fault of type `kind` that the call raises; its message has every text of `naming` and none of `hiding`."""
    try:
        result = call(*args, **kwargs)
    except kind as fault:
        message = str(fault)
        for text in naming:
            if text not in message:
                raise Failed(f"{what}: the message should name {text!r}: {message!r}") from fault
        for text in hiding:
            if text in message:
                raise Failed(f"{what}: the message should not show {text!r}: {message!r}") from fault
        return fault
    except Exception as other:
        raise Failed(f"{what}: expected {kind.__name__}, got {type(other).__name__}: {other}") from other
    raise Failed(f"{what}: expected {kind.__name__}, but it was accepted and returned {shown(result)}")
