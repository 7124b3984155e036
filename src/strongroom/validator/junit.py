"""Reading JUnit XML test reports, as pytest, Maven Surefire, gotestsum, jest-junit and many others write them.

A report is untrusted: its size and depth are limited, and one with a document type is refused, which rules out
entity expansion and external entities.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import posixpath
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal
from xml.parsers import expat

from strongroom.errors import InvalidArgument, clip

REPORT_LIMIT = 64 * 1024 * 1024
"""The most bytes of one report."""

DEPTH_LIMIT = 1000
"""The most elements of a report that lie in one another."""

Outcome = Literal["passed", "failed", "error", "skipped"]

# From the least to the worst: a test that was skipped once and passed once did pass.
_SEVERITY: dict[Outcome, int] = {"skipped": 0, "passed": 1, "failed": 2, "error": 3}
_CHILDREN: dict[str, Outcome] = {"skipped": "skipped", "failure": "failed", "error": "error"}
_STATUSES: dict[str, Outcome] = {
    **dict.fromkeys(("skipped", "notrun", "disabled", "ignored", "suppressed"), "skipped"),
    **dict.fromkeys(("fail", "failed", "failure"), "failed"),
    "error": "error",
}


# Expat asks Python for any other, which has codecs that are no encodings of text, or warn.
_ENCODINGS = re.compile(r"(utf-?8|utf-?16|us-ascii|ascii|iso-8859-\d+|latin-?1|windows-\d+|cp\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Case:
    """One test of a report, by names as long as the report has them."""

    file: str
    """Its file, relative to the worktree where it lies in it and with ``/`` between folders; ``""`` if not told."""
    classname: str
    """Its class, module or package; the name of its suite if not told. May be ``""``."""
    name: str
    """Never empty: a test without a name goes by its class or its suite."""
    outcome: Outcome
    time: float
    """Seconds; 0 if not told."""


def fit(text: str, limit: int) -> str:
    """`text` itself if its UTF-8 has at most `limit` bytes (32 at least), else a name of it that does.

    The name is as much of the beginning as fits, cut between characters, with ``~`` and 16 hex digits of the whole
    text's SHA-256. It is the same every time, and two texts have the same one only if those 64 bits collide.
    """
    if limit < 32:
        raise InvalidArgument(f"a name cannot be made to fit {limit} bytes: allow 32 or more")
    whole = text.encode("utf-8")
    if len(whole) <= limit:
        return text
    mark = "~" + hashlib.sha256(whole).hexdigest()[:16]
    return whole[: limit - len(mark)].decode("utf-8", "ignore") + mark


def parse_pattern(pattern: str) -> str:
    """`pattern` itself: the path of a report, or a glob of several (``*``, ``?``, ``[...]``, ``**``).

    Raises `InvalidArgument` if it is empty, malformed, absolute or leads out of the worktree: a report elsewhere
    could be that of another commit.
    """
    path = PurePosixPath(pattern)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in pattern:
        raise InvalidArgument(f"{clip(pattern)} must be a path or glob inside the worktree, such as build/junit.xml")
    if any("**" in part and part != "**" for part in path.parts):
        raise InvalidArgument(f"{clip(pattern)} is no glob: '**' stands for whole folders, as in '**/TEST-*.xml'")
    return pattern


def find_reports(worktree: Path, pattern: str) -> list[Path]:
    """The files of `worktree` that `pattern` names, sorted; a file of just that name comes before any glob.

    Raises `InvalidArgument` as `parse_pattern` does.
    """
    parse_pattern(pattern)
    if os.path.isfile(worktree / pattern):
        return [worktree / pattern]
    try:
        return sorted(path for path in worktree.glob(pattern) if path.is_file())
    except ValueError as fault:
        raise InvalidArgument(f"the glob {clip(pattern)} cannot be followed: {fault}") from fault
    except OSError:  # The name is too long for there to be such a file, which not every Python takes as that.
        return []


def discard_reports(worktree: Path, pattern: str) -> None:
    """Remove the reports that `pattern` names, before a command is run that should leave its own.

    Otherwise a report that was committed by mistake would pass for that of a command that left none. Raises
    `InvalidArgument` as `find_reports` does, or if one cannot be removed.
    """
    for path in find_reports(worktree, pattern):
        try:
            path.unlink()
        except OSError as fault:
            raise InvalidArgument(f"the old report {path} cannot be removed: {fault.strerror}") from fault


def read(path: Path, worktree: Path | None = None) -> list[Case]:
    """The cases of one report, in its order, each (file, class, name) once with the worst of its outcomes.

    Absolute file names inside `worktree` are made relative to it. Raises `InvalidArgument`, naming the file and
    where possible line and column, if it is not a regular file, over `REPORT_LIMIT` or `DEPTH_LIMIT`, not well-formed
    XML, has a document type, or is not a JUnit report.
    """
    source = str(path.relative_to(worktree) if worktree and path.is_relative_to(worktree) else path)
    reader = _Reader(source, worktree)
    reader.parse(_content(path, source))
    return merge(reader.cases)


def merge(cases: Iterable[Case]) -> list[Case]:
    """The cases, each (file, class, name) once, where it came first: its worst outcome and its longest time.

    This is how the cases of several reports become those of one run.
    """
    merged: dict[tuple[str, str, str], Case] = {}
    for case in cases:
        key = (case.file, case.classname, case.name)
        if (known := merged.get(key)) is not None:
            worst = max(known.outcome, case.outcome, key=_SEVERITY.__getitem__)
            case = replace(known, outcome=worst, time=max(known.time, case.time))
        merged[key] = case
    return list(merged.values())


def _content(path: Path, source: str) -> bytes:
    try:
        # Not to wait for the writer of a FIFO.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidArgument(f"{source} is not a regular file")
            content = file.read(REPORT_LIMIT + 1)
    except (OSError, ValueError) as fault:
        if isinstance(fault, InvalidArgument):
            raise
        raise InvalidArgument(f"{source} cannot be read: {getattr(fault, 'strerror', None) or fault}") from fault
    if len(content) > REPORT_LIMIT:
        raise InvalidArgument(f"{source} has over {REPORT_LIMIT // 1024**2} MiB: write shorter reports, or several")
    return content


@dataclass(slots=True)
class _Open:
    """A test case whose end was not reached yet."""

    attributes: dict[str, str]
    depth: int
    outcome: Outcome


@dataclass(slots=True)
class _Reader:
    source: str
    worktree: Path | None
    cases: list[Case] = field(default_factory=list)
    _depth: int = 0
    _suites: list[tuple[int, str, str]] = field(default_factory=list)
    _case: _Open | None = None
    _roots: tuple[str, ...] = ()

    def parse(self, content: bytes) -> None:
        if self.worktree is not None:
            roots = {str(self.worktree.absolute()), os.path.realpath(self.worktree)}
            self._roots = tuple(f"{root}/" for root in sorted(roots))
        parser = expat.ParserCreate()

        def refuse(why: str) -> InvalidArgument:
            at = f"line {parser.CurrentLineNumber}, column {parser.CurrentColumnNumber + 1}"
            return InvalidArgument(f"{self.source}, {at}: {why}")

        def doctype(*_: object) -> None:
            raise refuse("a document type is not allowed in a test report")

        def declaration(_: str, encoding: str | None, __: int) -> None:
            if encoding is not None and not _ENCODINGS.fullmatch(encoding):
                raise refuse(f"the encoding {clip(encoding)} is not known here: write the report in UTF-8")

        def start(tag: str, attributes: dict[str, str]) -> None:
            tag = tag.rpartition(":")[2]
            if self._depth == 0 and tag not in ("testsuites", "testsuite"):
                raise refuse(f"not a JUnit report: it begins with {clip(tag)}, not with 'testsuites' or 'testsuite'")
            if self._depth == DEPTH_LIMIT:
                raise refuse(f"elements are nested more than {DEPTH_LIMIT} deep")
            self._start(tag, attributes)

        parser.XmlDeclHandler = declaration
        parser.StartDoctypeDeclHandler = doctype
        parser.StartElementHandler = start
        parser.EndElementHandler = self._end
        try:
            parser.Parse(content, True)
        except InvalidArgument:
            raise
        except expat.ExpatError as fault:
            raise refuse(f"not well-formed XML: {expat.ErrorString(fault.code)}") from fault
        except (LookupError, ValueError) as fault:
            raise refuse("the text is not in its encoding: write the report in UTF-8") from fault

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._case is not None:
            if self._depth == self._case.depth + 1 and (outcome := _CHILDREN.get(tag)):
                known = self._case.outcome
                # Only a case of which nothing is told yet can be made a skipped one.
                if known == "passed" or _SEVERITY[outcome] > _SEVERITY[known]:
                    self._case.outcome = outcome
        elif tag == "testsuite":
            _, outer_name, outer_file = self._suites[-1] if self._suites else (0, "", "")
            name, file = attributes.get("name", outer_name), attributes.get("file", outer_file)
            self._suites.append((self._depth, name, file))
        elif tag == "testcase":
            told = (attributes.get("result", ""), attributes.get("status", ""))
            outcomes = [_STATUSES[text.lower()] for text in told if text.lower() in _STATUSES]
            self._case = _Open(attributes, self._depth, outcomes[0] if outcomes else "passed")

    def _end(self, _: str) -> None:
        if self._case is not None and self._case.depth == self._depth:
            self.cases.append(self._finished(self._case))
            self._case = None
        elif self._suites and self._suites[-1][0] == self._depth:
            self._suites.pop()
        self._depth -= 1

    def _finished(self, case: _Open) -> Case:
        _, suite, suite_file = self._suites[-1] if self._suites else (0, "", "")
        classname = self._inside(case.attributes.get("classname", suite))
        name = next(filter(str.strip, (case.attributes.get("name", ""), classname, suite)), "(unnamed)")
        file = case.attributes.get("file", "") or suite_file
        return Case(self._file(file), classname, name, case.outcome, _seconds(case.attributes.get("time", "")))

    def _file(self, text: str) -> str:
        if not text.strip():
            return ""
        return posixpath.normpath(self._inside(text.replace("\\", "/").removeprefix("file://")))

    def _inside(self, text: str) -> str:
        for root in self._roots:
            text = text.removeprefix(root)
        return text


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        seconds = float(text.replace(",", ""))
        if math.isfinite(seconds) and seconds > 0:
            return seconds
    return 0.0
