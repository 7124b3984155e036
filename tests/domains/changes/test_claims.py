"""Claims on changes: made once, absorbed when repeated, listed whole, enriched by compare-and-set, never deleted."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import strongroom
from strongroom.domains import changes, stovepipe
from strongroom.domains.changes import ChangeRecord
from strongroom.engine import Engine
from tests.domains.engines import OvertakenEngine, RefusingEngine
from tests.domains.generated import records

PR = "github://uber/monorepo/17"
ALIKE = ["a", "A", "a ", "\u00e1", "a\u0301", "🎩", "💥"]


def a_claim(**given: Any) -> ChangeRecord:
    return ChangeRecord("main", PR, "r-1", 1000, '{"title": "Fix"}', 1000).replace(**given)


def test_a_claim_comes_back_as_it_was_with_version_1(claims: changes.ChangeStore) -> None:
    assert claims.create(a_claim())
    assert claims.get(PR, "r-1") == a_claim()
    assert claims.get_by_uri(PR) == [a_claim(version=1)]


def test_a_change_that_nobody_claimed_has_no_claims(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    for uri in ["github://uber/monorepo/1", PR + "0", PR.upper()]:
        assert claims.get_by_uri(uri) == []
        with pytest.raises(changes.NotFound):
            claims.get(uri, "r-1")
    with pytest.raises(changes.NotFound):
        claims.get(PR, "r-2")


def test_a_request_sees_its_own_claim(claims: changes.ChangeStore) -> None:
    claims.create(a_claim(request_id="asking"))
    assert [claim.request_id for claim in claims.get_by_uri(PR)] == ["asking"]


def test_a_repeat_is_absorbed_and_the_first_write_wins(claims: changes.ChangeStore) -> None:
    assert claims.create(a_claim())
    assert not claims.create(a_claim(metadata='{"title": "Other"}', created_at=2000, updated_at=2000, version=5))
    assert claims.get_by_uri(PR) == [a_claim()]


def test_a_repeat_after_an_update_changes_nothing(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    updated = claims.update_metadata(PR, "r-1", '{"a":1}', 1, 2, updated_at=1500)
    assert not claims.create(a_claim())
    assert claims.get(PR, "r-1") == updated


def test_claims_of_several_requests_stand_beside_each_other_in_the_order_of_their_ids(
    claims: changes.ChangeStore,
) -> None:
    for request_id in ["r-9", "r-10", "é", "z", "R-1", "r-1"]:
        assert claims.create(a_claim(request_id=request_id))
    assert [claim.request_id for claim in claims.get_by_uri(PR)] == ["R-1", "r-1", "r-10", "r-9", "z", "é"]


def test_every_claim_is_listed_however_many_there_are(claims: changes.ChangeStore) -> None:
    names = [f"r-{number:04}" for number in range(450)]
    for request_id in reversed(names):
        claims.create(a_claim(request_id=request_id))
    assert [claim.request_id for claim in claims.get_by_uri(PR)] == names


def test_another_queues_claims_are_never_seen(claims: changes.ChangeStore, other: changes.ChangeStore) -> None:
    claims.create(a_claim())
    assert other.get_by_uri(PR) == []
    with pytest.raises(changes.NotFound):
        other.get(PR, "r-1")
    with pytest.raises(changes.VersionMismatch):
        other.update_metadata(PR, "r-1", "{}", 1, 2)
    assert other.create(a_claim(queue="release", metadata="{}"))
    assert claims.get_by_uri(PR) == [a_claim()]
    assert other.get_by_uri(PR) == [a_claim(queue="release", metadata="{}")]


def test_changes_and_requests_that_look_alike_are_different_ones(claims: changes.ChangeStore) -> None:
    for uri in ALIKE:
        for request_id in ALIKE:
            assert claims.create(a_claim(uri=uri, request_id=request_id))
    for uri in ALIKE:
        assert [claim.request_id for claim in claims.get_by_uri(uri)] == sorted(ALIKE)


@pytest.mark.parametrize(
    "text",
    [
        '{"b":1,  "a":[1.0,1e2]}',
        "null",
        "[]",
        '"é"',
        '"\\u00e9"',
        '{"a":1,"a":2}',
        "  {} ",
        "0",
        '{"' + "k" * 60_000 + '":0}',
    ],
    ids=lambda text: text[:20],
)
def test_metadata_are_kept_to_the_byte(claims: changes.ChangeStore, text: str) -> None:
    claims.create(a_claim(metadata=text))
    assert claims.get(PR, "r-1").metadata == text
    assert claims.update_metadata(PR, "r-1", text, 1, 2).metadata == text
    assert claims.get(PR, "r-1").metadata == text


def test_no_metadata_are_an_empty_object(claims: changes.ChangeStore) -> None:
    claims.create(a_claim(metadata=""))
    assert claims.get(PR, "r-1").metadata == "{}"
    claims.update_metadata(PR, "r-1", '{"a":1}', 1, 2)
    assert claims.update_metadata(PR, "r-1", "", 2, 3).metadata == "{}"
    assert claims.get(PR, "r-1").metadata == "{}"


def test_a_claim_that_is_new_was_updated_when_it_was_created(claims: changes.ChangeStore) -> None:
    claims.create(ChangeRecord("main", PR, "r-1", 1000))
    assert claims.get(PR, "r-1") == ChangeRecord("main", PR, "r-1", 1000, "{}", 1000, 1)


def test_an_update_moves_metadata_time_and_version_and_nothing_else(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    expected = a_claim(metadata='{"title":"Fixed"}', updated_at=1700, version=2)
    assert claims.update_metadata(PR, "r-1", '{"title":"Fixed"}', 1, 2, updated_at=1700) == expected
    assert claims.get(PR, "r-1") == expected


def test_by_default_an_update_happens_now(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    before = claims.engine.now()
    updated = claims.update_metadata(PR, "r-1", "{}", 1, 2)
    assert before <= updated.updated_at <= claims.engine.now()


def test_now_is_never_before_the_last_update(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    ahead = claims.engine.now() + 10**9
    claims.update_metadata(PR, "r-1", "{}", 1, 2, updated_at=ahead)
    assert claims.update_metadata(PR, "r-1", "[]", 2, 3).updated_at == ahead


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, 9), (1, 1), (7, 3), (1, 2**31 - 1)])
def test_versions_belong_to_the_caller(claims: changes.ChangeStore, old: int, new: int) -> None:
    claims.create(a_claim(version=old))
    assert claims.update_metadata(PR, "r-1", "[1]", old, new).version == new
    assert claims.get(PR, "r-1").version == new


def test_a_stale_update_is_a_mismatch_and_writes_nothing(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    updated = claims.update_metadata(PR, "r-1", "[1]", 1, 2)
    with pytest.raises(changes.VersionMismatch) as caught:
        claims.update_metadata(PR, "r-1", "[2]", 1, 2)
    assert caught.value.retryable
    assert claims.get(PR, "r-1") == updated


def test_an_update_of_no_claim_is_a_mismatch_and_makes_none(claims: changes.ChangeStore) -> None:
    with pytest.raises(changes.VersionMismatch):
        claims.update_metadata(PR, "r-1", "[1]", 1, 2)
    assert claims.get_by_uri(PR) == []


def test_an_update_that_someone_overtakes_is_a_mismatch(room: Engine) -> None:
    claims = changes.open(room).for_queue("main")
    claims.create(a_claim())

    overtaken = OvertakenEngine(room, lambda: claims.update_metadata(PR, "r-1", '"rival"', 1, 2))
    slow = changes.Changes(overtaken).for_queue("main")
    with pytest.raises(changes.VersionMismatch):
        slow.update_metadata(PR, "r-1", '"slow"', 1, 2)
    assert claims.get(PR, "r-1").metadata == '"rival"'


def test_an_update_to_a_time_before_the_claim_is_refused(claims: changes.ChangeStore) -> None:
    claims.create(a_claim())
    with pytest.raises(strongroom.InvalidArgument):
        claims.update_metadata(PR, "r-1", "{}", 1, 2, updated_at=999)
    assert claims.get(PR, "r-1") == a_claim()


def test_there_is_no_way_to_delete_a_claim() -> None:
    [table] = changes.SCHEMA.tables
    assert not table.changes.delete
    assert not table.changes.put
    assert not [name for name in dir(changes.ChangeStore) if "delete" in name or "remove" in name]


def test_another_queues_claim_is_refused_before_the_engine_is_asked(unasked: changes.ChangeStore) -> None:
    with pytest.raises(strongroom.ScopeMismatch):
        unasked.create(a_claim(queue="release"))


BAD_METADATA: list[Any] = [
    "{",
    "{}{}",
    "nul",
    "{'a': 1}",
    "NaN",
    "\ufeff{}",
    '"a\0b"',
    "[" * 100_000,
    '"' + "x" * 65_534 + '"',
    None,
    {},
    b"{}",
]


@pytest.mark.parametrize("text", BAD_METADATA, ids=lambda text: repr(text)[:20])
def test_metadata_that_are_not_one_json_value_are_refused_before_the_engine_is_asked(
    unasked: changes.ChangeStore, text: Any
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.create(a_claim(metadata=text))
    with pytest.raises(strongroom.InvalidArgument):
        unasked.update_metadata(PR, "r-1", text, 1, 2)


@pytest.mark.parametrize(
    "given",
    [
        {"uri": ""},
        {"request_id": ""},
        {"uri": "a\0b"},
        {"request_id": "\ud800"},
        {"created_at": -1},
        {"created_at": 1.5, "updated_at": 1.5},
        {"updated_at": 1001},
        {"updated_at": 999},
        {"version": 0},
        {"version": 2**31},
    ],
    ids=str,
)
def test_a_claim_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: changes.ChangeStore, given: dict[str, Any]
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.create(a_claim(**given))


def test_another_kind_of_record_is_refused_before_the_engine_is_asked(unasked: changes.ChangeStore) -> None:
    for record in (None, "main", a_claim().as_dict(), stovepipe.Request("main", "r", "u")):
        with pytest.raises(strongroom.InvalidArgument):
            unasked.create(record)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        (0, 1, None),
        (1, 0, None),
        (1, 2**31, None),
        (True, 2, None),
        (1, "2", None),
        (1, 2, -1),
        (1, 2, 1.5),
        (1, 2, 2**63),
    ],
)
def test_a_version_or_time_that_can_not_be_is_refused_before_the_engine_is_asked(
    unasked: changes.ChangeStore, old: Any, new: Any, at: Any
) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        unasked.update_metadata(PR, "r-1", "{}", old, new, updated_at=at)


@pytest.mark.parametrize(("letter", "width"), [("x", 1), ("é", 2), ("語", 3), ("💥", 4)])
def test_identifiers_have_255_bytes_and_not_one_more(room: Engine, letter: str, width: int) -> None:
    full = "x" * (255 % width) + letter * (255 // width)
    over = full + "x"
    assert (len(full.encode()), len(over.encode())) == (255, 256)
    claims = changes.open(room).for_queue(full)
    assert claims.create(a_claim(queue=full, uri=full, request_id=full))
    claims.update_metadata(full, full, "[1]", 1, 2)
    assert [claim.metadata for claim in claims.get_by_uri(full)] == ["[1]"]
    unasked = changes.Changes(RefusingEngine()).for_queue(full)
    for call in (
        lambda: unasked.create(a_claim(queue=full, uri=over)),
        lambda: unasked.create(a_claim(queue=full, request_id=over)),
        lambda: unasked.get(over, "r"),
        lambda: unasked.get("u", over),
        lambda: unasked.get_by_uri(over),
        lambda: unasked.update_metadata(over, "r", "{}", 1, 2),
        lambda: unasked.update_metadata("u", over, "{}", 1, 2),
        lambda: changes.Changes(room).for_queue(over),
    ):
        with pytest.raises(strongroom.InvalidArgument):
            call()


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800"])
def test_a_queue_that_can_have_no_claims_is_refused_when_its_store_is_asked_for(room: Engine, name: str) -> None:
    with pytest.raises(strongroom.InvalidArgument):
        changes.open(room).for_queue(name)


def test_asking_for_a_queues_claims_asks_the_engine_nothing(unasked: changes.ChangeStore) -> None:
    assert unasked.queue == "main"
    assert "main" in repr(unasked)


def test_opening_again_finds_everything(room: Engine) -> None:
    changes.open(room).for_queue("main").create(a_claim())
    assert changes.open(room).for_queue("main").get(PR, "r-1") == a_claim()


def test_the_domain_shares_a_room_with_another(room: Engine) -> None:
    changes.open(room).for_queue("main").create(a_claim())
    assert stovepipe.open(room).for_queue("main").build_issues.list("b", limit=1) == []
    assert changes.open(room).for_queue("main").get(PR, "r-1") == a_claim()


def test_the_public_names_are_there() -> None:
    for name in changes.__all__:
        assert hasattr(changes, name), name
    assert changes.SUBJECT.schema is changes.SCHEMA


QUEUES = count()


@given(data=st.data())
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_claim_comes_back_as_it_went_in(room: Engine, data: st.DataObject) -> None:
    claims = changes.open(room).for_queue(f"q{next(QUEUES)}")
    drawn = data.draw(records(changes.SCHEMA.tables[0]))
    claim = drawn.replace(queue=claims.queue, updated_at=drawn.created_at)
    claims.create(claim)
    assert claims.get(claim.uri, claim.request_id) == claim
    assert claims.get_by_uri(claim.uri) == [claim]
    assert claims.update_metadata(claim.uri, claim.request_id, "[]", claim.version, claim.version).metadata == "[]"
