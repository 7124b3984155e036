"""Local absolute paths, by their text alone: checked, brought to normal form, compared. No filesystem is asked.

A fleet may have hosts of several systems, and whoever reads its store may run on another one. So the rules are those of
the path's own system, not of the reader's: a path that begins with a drive letter is a Windows path, every other a Unix
path. Where the host is known, its system says which of the two it must be.
"""

from __future__ import annotations

import re
from typing import Final

from strongroom.domains.runners.refusals import InvalidPath
from strongroom.domains.runners.words import Os

_DRIVE: Final = re.compile(r"[A-Za-z]:[\\/]")
_WINDOWS_SEPARATORS: Final = re.compile(r"[\\/]+")
_RESERVED_CHARACTERS: Final = re.compile(r'[\x00-\x1f<>:"|?*]')
_RESERVED_NAMES: Final = re.compile(r"(?i)(con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])(\s*\..*)?")

MAX_PATH_BYTES: Final = 4096
"""The longest path that a column holds, in bytes of UTF-8."""


def local_absolute_path(text: str, os: Os | None = None) -> str:
    """The path in normal form: separators once, none at the end, no ``.``, the drive letter upper-case.

    Arguments:
        text: the path as somebody wrote it, 4,096 bytes of UTF-8 at most.
        os: the system that it is for; None for the one that it looks like.

    Raises `InvalidPath` for a path that is empty, relative, over-long or nothing but a root, for ``..`` and NUL, and
    under Windows for shares, device names, reserved names and characters, and parts that end in a dot or space.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidPath("expected a path of UTF-8 text") from None
    if not text or "\0" in text or size > MAX_PATH_BYTES:
        raise InvalidPath(f"expected a path of 1 to {MAX_PATH_BYTES} bytes, without NUL")
    windows = _DRIVE.match(text) is not None
    if os is not None and windows != (os is Os.WINDOWS):
        raise InvalidPath(f"expected an absolute path of {os}")
    return _windows_path(text) if windows else _unix_path(text)


def is_normal(text: str, os: Os | None = None) -> bool:
    """Whether the text is a local absolute path in normal form."""
    try:
        return local_absolute_path(text, os) == text
    except InvalidPath:
        return False


def join_child(path: str, child: str) -> str:
    """The path of something directly under `path`; `InvalidPath` where `child` is not exactly one component."""
    path = local_absolute_path(path)
    separator = "\\" if _DRIVE.match(path) else "/"
    joined = local_absolute_path(f"{path}{separator}{child}")
    if _parts(joined)[:-1] != _parts(path) or _parts(joined)[-1] != child:
        raise InvalidPath("expected exactly one component")
    return joined


def overlap(one: str, other: str) -> bool:
    """Whether two paths are the same, or one lies in the other. Letters' case is ignored under Windows."""
    parts, others = (_compared(local_absolute_path(path)) for path in (one, other))
    shorter = min(len(parts), len(others))
    return parts[:shorter] == others[:shorter]


def _unix_path(text: str) -> str:
    if not text.startswith("/"):
        raise InvalidPath("expected an absolute path")
    return "/" + "/".join(_checked([part for part in text.split("/") if part not in ("", ".")]))


def _windows_path(text: str) -> str:
    parts = _checked([part for part in _WINDOWS_SEPARATORS.split(text[3:]) if part not in ("", ".")])
    for part in parts:
        if _RESERVED_CHARACTERS.search(part) or _RESERVED_NAMES.fullmatch(part) or part[-1] in ". ":
            raise InvalidPath("expected parts that Windows allows")
    return f"{text[0].upper()}:\\" + "\\".join(parts)


def _checked(parts: list[str]) -> list[str]:
    if ".." in parts:
        raise InvalidPath("expected a path without '..'")
    if not parts:
        raise InvalidPath("expected more than a root")
    return parts


def _parts(path: str) -> list[str]:
    return path.split("\\" if _DRIVE.match(path) else "/")


def _compared(path: str) -> list[str]:
    return _parts(path.casefold() if _DRIVE.match(path) else path)
