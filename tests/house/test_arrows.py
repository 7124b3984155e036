"""The house rules that a machine can hold: which room may import which, how long a file may be, what no file names.

A room is a folder or a module directly under ``src/strongroom``. Arrows between rooms point one way, so that an engine
can be read without the domains and a domain without any engine. An import counts wherever it stands: inside a function,
under ``TYPE_CHECKING``, or as the name given to ``import_module``.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PACKAGE = "strongroom"
LONGEST = 450
"""The most lines of a source file: a longer one is usually two things."""

CORE = {"engine", "records"}
LIBRARY = CORE | {"patterns", "domains", "operations", "routing", "processes", "validator", "dispatcher"}
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "records": set(),
    "engine": {"records"},
    "engines": CORE,
    "patterns": CORE,
    "routing": CORE,
    "domains": CORE | {"patterns"},
    "operations": CORE | {"patterns"},
    "processes": set(),
    "validator": CORE | {"patterns", "domains", "processes"},
    "dispatcher": CORE | {"patterns", "domains", "processes"},
    "__init__": LIBRARY,
    "conformance": LIBRARY | {"__init__"},
    "server": LIBRARY | {"__init__"},
    "cli": LIBRARY | {"__init__", "conformance", "server"},
    "__main__": {"cli"},
}
"""What each room may import, beside itself and `errors`. `__init__` is the package's own front."""


def broken_rules(package: Path) -> list[str]:
    """What the sources of `package` break, each as ``file:line: what is wrong``."""
    files = {path.relative_to(package.parent): path for path in sorted(package.rglob("*.py"))}
    modules = {_module(file) for file in files}
    found = []
    for file, path in files.items():
        text = path.read_text(encoding="utf-8")
        lines = len(text.splitlines())
        if lines > LONGEST:
            found.append(f"{file}:{lines}: {lines} lines, and {LONGEST} is the most")
        for line, target, by_name in sorted(_imports(ast.parse(text), file, modules)):
            wrong = _wrong_arrow(file, target, by_name) or _wrong_privacy(file, target)
            if wrong:
                found.append(f"{file}:{line}: imports {'.'.join(target)}, but {wrong}")
    return found


Module = tuple[str, ...]


def _module(file: Path) -> Module:
    parts = file.with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _room(module: Module) -> str:
    return module[1] if len(module) > 1 else "__init__"


def _imports(tree: ast.AST, file: Path, modules: set[Module]) -> Iterator[tuple[int, Module, bool]]:
    """Every module of the package that `tree` imports: the line, the module, whether it is given as a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                targets = [tuple(alias.name.split(".")) for alias in names]
            case ast.ImportFrom(module=source, names=names, level=level):
                base = file.parts[: len(file.parts) - level] if level else ()
                base += tuple(source.split(".")) if source else ()
                # `from strongroom.domains import leases` names the module, not the folder.
                targets = [(*base, alias.name) if (*base, alias.name) in modules else base for alias in names]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                targets = [tuple(name.split("."))]
            case _:
                continue
        for target in dict.fromkeys(targets):
            if target[0] == PACKAGE:
                yield node.lineno, target, isinstance(node, ast.Call)


def _wrong_arrow(file: Path, target: Module, by_name: bool) -> str:
    here, there = _room(_module(file)), _room(target)
    parts = file.with_suffix("").parts[1:]
    if here not in ARROWS:
        return f"the room {here} has no arrows yet"
    if there == "engines" != here:
        if parts[:2] == ("conformance", "mutants") or (by_name and parts == ("engine", "registry")):
            return ""
        return "only engine/registry.py knows the engines, and it goes by name"
    if here == there == "domains":
        mine, other = parts[1], target[2] if len(target) > 2 else ""
        if not mine.startswith("_") and mine != other and not (other.startswith("_")):
            return "domains never import each other"
    if there in {here, "errors"} or there in ARROWS[here]:
        return ""
    return f"{here} may import only {', '.join(sorted(ARROWS[here] | {'errors'}))}"


def _wrong_privacy(file: Path, target: Module) -> str:
    for depth, part in enumerate(target):
        private = part.startswith("_") and not part.endswith("__")
        if private and file.parts[:depth] != target[:depth]:
            return f"{part} is private to {'/'.join(target[:depth])}"
    return ""


def test_arrows_between_rooms_point_one_way() -> None:
    assert broken_rules(HOUSE / "src" / PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "source", "complaint"),
    [
        ("records/a.py", "from strongroom.engine import port", "records may import only errors"),
        ("records/a.py", "from ..engine import port", "records may import only errors"),
        ("records/a.py", "from .. import engine", "records may import only errors"),
        ("records/a.py", "import strongroom", "records may import only errors"),
        ("errors.py", "import strongroom.records.table", "errors may import only errors"),
        ("engine/a.py", "def f():\n    import strongroom.patterns.log", "engine may import only errors, records"),
        ("engine/a.py", "if TYPE_CHECKING:\n    from strongroom.domains.leases import L", "engine may import only"),
        ("engine/a.py", "import_module('strongroom.cli')", "engine may import only"),
        ("operations/a.py", "from strongroom.domains import leases", "operations may import only"),
        ("conformance/a.py", "from strongroom.cli import main", "conformance may import only"),
        ("attic/a.py", "import strongroom.errors", "the room attic has no arrows yet"),
        ("engine/registry.py", "from strongroom.engines import memory", "only engine/registry.py knows the engines"),
        ("engine/a.py", "importlib.import_module('strongroom.engines.memory')", "only engine/registry.py knows"),
        ("cli/a.py", "from strongroom.engines.memory import open_url", "only engine/registry.py knows the engines"),
        ("__init__.py", "from .engines import memory", "only engine/registry.py knows the engines"),
        ("domains/spine.py", "from strongroom.domains.leases import Lease", "domains never import each other"),
        ("domains/spine/a.py", "from ..leases import Lease", "domains never import each other"),
        ("domains/spine/a.py", "from .. import leases", "domains never import each other"),
        ("domains/spine/a.py", "from strongroom.domains import Lease", "domains never import each other"),
        ("cli/a.py", "from strongroom.engine._queue import Queue", "_queue is private to strongroom/engine"),
        ("engines/b/a.py", "from strongroom.engines.a import _wire", "_wire is private to strongroom/engines/a"),
        ("records/a.py", "\n" * (LONGEST + 1), "451 lines, and 450 is the most"),
    ],
)
def test_a_broken_rule_is_reported(tmp_path: Path, file: str, source: str, complaint: str) -> None:
    [report] = broken_rules(small_house(tmp_path, file, source))
    assert report.startswith(f"{PACKAGE}/{file}:")
    assert complaint in report


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("records/a.py", "import ast, strongroom.errors\nfrom strongroom.records import table\nfrom . import table"),
        ("engine/registry.py", "importlib.import_module('strongroom.engines.memory')"),
        ("engines/sqlite.py", "from strongroom.engine.port import Engine\nfrom . import _sql"),
        ("engines/a/deep/b.py", "from strongroom.engines import _sql\nfrom .._wire import read"),
        ("domains/spine/a.py", "from . import b\nfrom .b import B\nfrom strongroom.domains.spine.b import C"),
        ("domains/spine/a.py", "from strongroom.domains import _shared\nfrom strongroom.patterns.log import Log"),
        ("domains/__init__.py", "from strongroom.domains.leases import Lease\nfrom . import leases"),
        ("conformance/mutants/a.py", "from strongroom.engines.memory import open_url"),
        ("cli/a.py", "import strongroom\nfrom strongroom import validator\nfrom strongroom.conformance import kit"),
        ("records/a.py", "\n" * LONGEST),
    ],
)
def test_a_kept_rule_is_not_reported(tmp_path: Path, file: str, source: str) -> None:
    assert broken_rules(small_house(tmp_path, file, source)) == []


def small_house(folder: Path, file: str, source: str) -> Path:
    """A package with a few empty modules and one `file` with `source` in it."""
    package = folder / PACKAGE
    empty = ["engine/_queue", "engine/port", "engines/_sql", "engines/a/_wire", "engines/memory", "records/table"]
    empty += ["domains/_shared", "domains/leases", "domains/spine/b", "patterns/log", "validator", "engine/__init__"]
    for name, text in [*((f"{name}.py", "") for name in empty), (file, source)]:
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return package


REGISTRIES = [
    ".".join(host)
    for host in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("maven", "org"),
        ("maven", "apache", "org"),
        ("golang", "org"),
        ("debian", "org"),
        ("ubuntu", "com"),
    ]
]
"""Hosts that serve packages: where those come from is the machine's business. In pieces, so that this file passes."""


def registries_named(text: str) -> list[str]:
    """The package registries that `text` names."""
    return [host for host in REGISTRIES if host in text.lower()]


def test_no_committed_file_names_a_package_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=HOUSE, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    committed = [HOUSE / name for name in listed.stdout.split("\0") if name]
    named = {
        str(path.relative_to(HOUSE)): hosts
        for path in committed
        if path.is_file() and (hosts := registries_named(path.read_text(encoding="utf-8", errors="replace")))
    }
    assert named == {}


def test_a_named_registry_is_found() -> None:
    assert registries_named("see https://Files." + "PythonHosted" + ".org/packages") == ["pythonhosted" + ".org"]
