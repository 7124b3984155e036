from __future__ import annotations

import pytest

from strongroom.errors import InvalidArgument
from strongroom.validator.junit import Case, Outcome
from strongroom.validator.projects import (
    PROJECT_LIMIT,
    TASK_LIMIT,
    UNIT_LIMIT,
    degrees,
    parse_rule,
    project_of,
    task_of,
    unit_of,
)


def case(file: str = "", classname: str = "", name: str = "test", outcome: Outcome = "passed") -> Case:
    return Case(file, classname, name, outcome, 0.0)


@pytest.mark.parametrize(
    ("found", "project"),
    [
        (case("billing/api/test_x.py", "other.thing"), "billing"),
        (case("test_x.py"), "test_x"),
        (case("/opt/tests/test_x.py"), "opt"),
        (case("../sibling/test_x.py"), "sibling"),
        (case("", "com.acme.CartTest"), "com"),
        (case("", "example.org/fruit/store"), "example.org"),
        (case("", "./web/cart.test.ts"), "web"),
        (case("", "./cart.test.ts"), "cart"),
        (case("", "cart adds"), "cart adds"),
        (case("", "", "tests.test_broken"), "tests"),
        (case("", "", "..."), "..."),
        (case("", "", "/"), "/"),
        (case("..", "C"), ".."),
    ],
)
def test_a_project_is_the_top_level_folder_or_first_part(found: Case, project: str) -> None:
    assert project_of(found) == project


def test_a_rule_finds_the_project_in_the_file_or_class() -> None:
    rule = parse_rule("^services/([^/]+)/")
    assert project_of(case("services/cart/test_x.py"), rule) == "cart"
    assert project_of(case("", "services/pay/C"), rule) == "pay"
    assert project_of(case("tools/test_x.py"), rule) is None


def test_a_rule_is_tried_on_a_class_as_a_path_before_the_class_as_it_is() -> None:
    folders = parse_rule("^services/([^/]+)/")
    assert project_of(case("", "services.cart.test_x"), folders) == "cart"
    assert project_of(case("", "services.cart.test_x.TestC"), folders) == "cart"
    assert project_of(case("", "tools.test_x"), folders) is None
    assert project_of(case("tools/test_x.py", "services.cart.test_x"), folders) is None
    assert project_of(case("", "", "services.cart.test_x"), folders) is None
    assert project_of(case("", "com.acme.CartTest"), parse_rule(r"^com\.(\w+)\.")) == "acme"
    assert project_of(case("", "example.org/fruit/store"), parse_rule("^([^/]+)/")) == "example.org"


def test_a_named_group_may_have_others_beside_it() -> None:
    rule = parse_rule(r"(src|lib)/(?P<project>\w+)(-(\d))?")
    assert project_of(case("lib/cart-2/test_x.py"), rule) == "cart"


def test_a_group_that_matches_nothing_gives_no_project() -> None:
    assert project_of(case("tools/x"), parse_rule("^tools/|^services/([a-z]+)")) is None
    assert project_of(case("tools/x"), parse_rule("^([0-9]*)")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(", "is no regular expression"),
        ("(a){99999999999999999999}", "is no regular expression"),
        ("services/", "must have one group"),
        ("(a)(b)", "must have one group"),
        ("(" + "a" * 2000 + ")", "at most"),
    ],
)
def test_a_rule_without_a_clear_group_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message) as caught:
        parse_rule(text)
    assert "\n" not in str(caught.value)


def test_a_task_is_a_file_or_else_a_class_or_else_a_name() -> None:
    assert task_of(case("a/test_x.py", "a.test_x.C")) == "a/test_x.py"
    assert task_of(case("", "com.acme.CartTest")) == "com.acme.CartTest"
    assert task_of(case("", "", "tests.test_broken")) == "tests.test_broken"


@pytest.mark.parametrize(
    ("found", "unit"),
    [
        (case("", "com.acme.CartTest", "adds"), "adds"),
        (case("a/test_x.py", "a.test_x", "test_one[1.5]"), "test_one[1.5]"),
        (case("a/test_x.py", "a.test_x.TestC", "test_one"), "TestC::test_one"),
        (case("a/test_x.py", "", "test_one"), "test_one"),
        (case("web/cart.test.ts", "cart adds", "cart adds"), "cart adds"),
        (case("web/cart.test.ts", "web/cart.test.ts", "adds"), "adds"),
        (case("web/cart.test.ts", "cart", "adds"), "cart::adds"),
    ],
)
def test_a_unit_is_the_test_within_its_task(found: Case, unit: str) -> None:
    assert unit_of(found) == unit


def test_tests_of_one_name_in_one_file_are_several_units() -> None:
    units = {unit_of(case("t.py", classname, "test")) for classname in ("t", "t.A", "t.B", "t.A.B")}
    assert len(units) == 4


def test_long_names_are_made_to_fit() -> None:
    long = case("é" * 300 + "/" + "f" * 300, "", "ü" * 2000)
    for name, limit in [(project_of(long), PROJECT_LIMIT), (task_of(long), TASK_LIMIT), (unit_of(long), UNIT_LIMIT)]:
        assert name is not None
        assert limit - 3 <= len(name.encode()) <= limit
    assert project_of(long) != project_of(case("é" * 301 + "/f"))


def test_a_degree_is_the_failed_share_of_what_was_not_skipped() -> None:
    cases = [
        case("web/a", outcome="passed"),
        case("web/b", outcome="failed"),
        case("web/c", outcome="error"),
        case("web/d", outcome="passed"),
        case("web/e", outcome="skipped"),
        case("api/a", outcome="passed"),
        case("docs/a", outcome="skipped"),
    ]
    assert degrees(cases) == {"api": 0.0, "web": 0.5}
    assert list(degrees(cases)) == ["api", "web"]
    assert degrees([]) == {}


def test_a_rule_leaves_out_what_it_does_not_match() -> None:
    cases = [case("services/a/t", outcome="failed"), case("tools/t", outcome="failed")]
    assert degrees(cases, parse_rule("services/([a-z]+)")) == {"a": 1.0}
