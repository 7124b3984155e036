"""Taking one function's place for a while, wherever it is known by name, and giving every place back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any, Final, Self

PACKAGE: Final = "strongroom"


class Patches:
    """Replacements that last as long as the context does. `ran` says whether any replacement was ever called.

    Raises AttributeError for a name that is not there any more, so that no mutant outlives what it breaks.
    """

    def __init__(self) -> None:
        self.ran = False
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _fault: BaseException | None, _trace: TracebackType | None
    ) -> None:
        while self._undo:
            self._undo.pop()()

    def method(self, owner: type, name: str, broken: Callable[..., Any]) -> None:
        """Have `broken` answer for a method of a class that defines it itself; all instances are concerned."""
        if name not in vars(owner):
            raise AttributeError(f"{owner.__name__} has no {name} of its own")
        self._set(owner, name, self._watched(broken))

    def function(self, original: Callable[..., Any], broken: Callable[..., Any]) -> None:
        """Have `broken` answer for a function of a module, in every module that imported it by name."""
        watched = self._watched(broken)
        places = _places(original)
        if not places:
            raise AttributeError(f"{original!r} is nowhere to be found")
        for module, name in places:
            self._set(module, name, watched)
        # A module that is imported meanwhile takes the broken one with it.
        self._undo.insert(0, lambda: _restore(watched, original))

    def _set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner)[name]
        self._undo.append(lambda: setattr(owner, name, before))
        setattr(owner, name, value)

    def _watched(self, broken: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(broken)
        def watched(*args: Any, **kwargs: Any) -> Any:
            self.ran = True
            return broken(*args, **kwargs)

        return watched


def _places(value: object) -> list[tuple[ModuleType, str]]:
    """Every module of the package, and the name in it, that holds the very object."""
    modules = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == PACKAGE]
    return [(module, name) for module in modules for name, held in list(vars(module).items()) if held is value]


def _restore(broken: object, original: object) -> None:
    for module, name in _places(broken):
        setattr(module, name, original)
