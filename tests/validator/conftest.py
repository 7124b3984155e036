from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


class Checkout:
    """A real git repository, changed by the git program as its user would change it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.path, check=True, capture_output=True)
        return os.fsdecode(done.stdout).strip()

    def commit(self, subject: str = "a change", **files: str) -> str:
        for name, text in files.items():
            file = self.path / name.replace("__", "/").replace("_dot_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def plain_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    settings = {"GLOBAL": os.devnull, "NOSYSTEM": "1"}
    person = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "1700000000 +0000"}
    for name, value in settings.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    for role in ("AUTHOR", "COMMITTER"):
        for name, value in person.items():
            monkeypatch.setenv(f"GIT_{role}_{name}", value)


@pytest.fixture
def new_checkout(tmp_path: Path) -> Callable[..., Checkout]:
    def make(name: str = "fruit", *options: str) -> Checkout:
        path = tmp_path / name
        path.mkdir()
        made = Checkout(path)
        made.git("init", "--quiet", "--initial-branch=main", *options)
        return made

    return make


@pytest.fixture
def checkout(new_checkout: Callable[..., Checkout]) -> Checkout:
    return new_checkout()
