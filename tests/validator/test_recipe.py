"""A recipe is checked before it is used, names its command without showing it, and gives each queue its own logs."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from strongroom import InvalidArgument
from strongroom.validator.projects import parse_rule
from strongroom.validator.recipe import Recipe, make_folder
from strongroom.validator.repository import Repository
from tests.validator.conftest import Checkout


def check(checkout: Checkout, **given: Any) -> None:
    repository = Repository.open(checkout.path)
    recipe: dict[str, Any] = {"command": ("true",), "logs": Path("logs"), **given}
    Recipe(**recipe).check(repository, repository.first_parent("main", 10))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"timeout_s": 0}, "timeout"),
        ({"timeout_s": -1.5}, "timeout"),
        ({"timeout_s": float("nan")}, "timeout"),
        ({"timeout_s": float("inf")}, "timeout"),
        ({"junit": "/tmp/junit.xml"}, "inside the worktree"),
        ({"rule": parse_rule("^(a)")}, "--junit"),
        ({"command": ()}, "empty"),
        ({"command": ("no-such-program",)}, "no-such-program"),
        ({"command": ("./no-such-script",)}, "in none of the commits"),
        ({"command": ("../outside",)}, "leads out of the worktree"),
        ({"command": ("/no/such/program",)}, "/no/such/program"),
    ],
)
def test_a_recipe_that_nothing_could_be_validated_by_is_refused(
    checkout: Checkout, given: dict[str, Any], complaint: str
) -> None:
    checkout.commit("one")
    with pytest.raises(InvalidArgument, match=complaint):
        check(checkout, **given)


def test_a_program_of_the_worktree_may_be_in_some_commits_only(checkout: Checkout) -> None:
    checkout.commit("one", tools__check="x")
    (checkout.path / "tools" / "check").unlink()
    checkout.commit("two")
    for program in ("tools/check", "./tools/check", "./tools/../tools/check"):
        check(checkout, command=(program,), timeout_s=2.5, junit="**/TEST-*.xml", rule=parse_rule("^(a)"))


def test_a_digest_tells_commands_apart() -> None:
    commands = [("a", "b"), ("a b",), ("ab",), ("a", "", "b"), ("a", "b", "")]
    digests = {Recipe(command=command, logs=Path("logs")).digest for command in commands}
    assert len(digests) == len(commands)
    assert Recipe(command=("a", "b"), logs=Path("elsewhere"), full=True).digest in digests


def test_the_logs_of_different_queues_lie_in_different_folders() -> None:
    recipe = Recipe(command=("true",), logs=Path("logs"))
    names = ["a/b", "a-b", "a//b", "..", ".", "a b", "ä", "x" * 255, f"{'x' * 254}y", "a~b", "-a"]
    paths = {recipe.log_path(name, "1.1") for name in names}
    assert len(paths) == len(names)
    for path in paths:
        assert (path.name, path.parent.parent) == ("1.1.log", Path("logs"))
        assert len(path.parent.name) <= 200
        assert path.parent.name not in (".", "..")


def test_a_folder_that_cannot_be_made_is_a_clear_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgument, match="can't be made"):
        make_folder(tmp_path / "file" / "logs")
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")


def test_folders_that_are_made_are_their_owners_alone_and_others_are_left_as_they_are(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    there.chmod(0o755)
    make_folder(there / "room.db.logs" / "fruit")
    make_folder(there)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (there, *sorted(there.rglob("*")))]
    assert modes == [0o755, 0o700, 0o700]
    (there / "file").touch()
    with pytest.raises(InvalidArgument, match="can't be made"):
        make_folder(there / "file")
