from __future__ import annotations

import pytest

from strongroom import InvalidArgument
from strongroom.domains.stovepipe.flows import is_newer, request_number


def test_ids_are_ordered_as_numbers_not_as_texts() -> None:
    assert is_newer("10", "9")
    assert not is_newer("9", "10")
    assert not is_newer("10", "10")


def test_any_request_is_newer_than_none() -> None:
    assert is_newer("1", "")


@pytest.mark.parametrize("canonical", ["1", "9", "10", "9223372036854775807"])
def test_a_canonical_decimal_is_read(canonical: str) -> None:
    assert str(request_number(canonical)) == canonical


@pytest.mark.parametrize(
    "other",
    [
        "",
        "0",
        "01",
        "+1",
        "-1",
        " 1",
        "1 ",
        "1_0",
        "1.0",
        "1e3",
        "٣",
        "²",
        "9223372036854775808",
        "1" * 5000,
        "a",
        7,
        None,
    ],
)
def test_anything_else_is_refused(other: str) -> None:
    with pytest.raises(InvalidArgument):
        request_number(other)
