"""Local absolute paths: one normal form each, by the rules of the path's own system."""

from __future__ import annotations

import pytest

from strongroom.domains.runners import InvalidPath, Os
from strongroom.domains.runners.paths import join_child, local_absolute_path, overlap


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("/srv/runners", "/srv/runners"),
        ("//srv///runners//", "/srv/runners"),
        ("/srv/./runners/.", "/srv/runners"),
        ("/srv/a\\b", "/srv/a\\b"),
        ("/srv/a b ", "/srv/a b "),
        ("c:\\runners", "C:\\runners"),
        ("C:/runners//work/", "C:\\runners\\work"),
        ("d:\\a\\.\\b", "D:\\a\\b"),
        ("C:\\console", "C:\\console"),
    ],
)
def test_a_path_has_one_normal_form(written: str, normal: str) -> None:
    assert local_absolute_path(written) == normal
    assert local_absolute_path(normal) == normal


@pytest.mark.parametrize(
    "written",
    [
        "",
        "/",
        "//",
        "/.",
        "srv/runners",
        "./srv",
        "~/runners",
        "/srv/../etc",
        "/srv/..",
        "/srv/a\0b",
        "/srv/\udcff",
        "/" + "a" * 4096,
        "C:",
        "C:\\",
        "C:runners",
        "\\runners",
        "\\\\server\\share",
        "\\\\?\\C:\\runners",
        "\\\\.\\pipe",
        "C:\\a\\..\\b",
        "C:\\a<b",
        "C:\\a:b",
        "C:\\nul",
        "C:\\COM1.txt",
        "C:\\lpt9 .log",
        "C:\\runners.",
        "C:\\runners \\work",
    ],
)
def test_what_is_no_local_absolute_path_is_refused(written: str) -> None:
    with pytest.raises(InvalidPath):
        local_absolute_path(written)


def test_a_hosts_system_says_which_paths_it_can_have() -> None:
    assert local_absolute_path("/srv", Os.MAC_OS) == local_absolute_path("/srv", Os.LINUX) == "/srv"
    assert local_absolute_path("c:/srv", Os.WINDOWS) == "C:\\srv"
    with pytest.raises(InvalidPath, match="of windows"):
        local_absolute_path("/srv", Os.WINDOWS)
    with pytest.raises(InvalidPath, match="of linux"):
        local_absolute_path("C:\\srv", Os.LINUX)


def test_a_child_is_exactly_one_component() -> None:
    assert join_child("/srv", "s1") == "/srv/s1"
    assert join_child("c:/srv", "s1") == "C:\\srv\\s1"
    for child in ("", ".", "..", "a/b", "/a", "a/"):
        with pytest.raises(InvalidPath):
            join_child("/srv", child)
    with pytest.raises(InvalidPath):
        join_child("C:\\srv", "a\\b")


def test_paths_overlap_where_one_lies_in_the_other() -> None:
    assert overlap("/srv/a", "/srv/a/")
    assert overlap("/srv", "/srv/a")
    assert overlap("/srv/a/b", "/srv/a")
    assert not overlap("/srv/a", "/srv/ab")
    assert not overlap("/srv/a", "/SRV/a")
    assert overlap("C:\\Work", "c:/work/a")
    assert not overlap("C:\\work", "D:\\work")
