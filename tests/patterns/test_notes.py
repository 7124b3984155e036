"""Signed notes and checkpoints, held to the examples of their specifications and to the reference's known answers.

The keys and signatures of Peter Neumann and Enoch Root are the known answers of Go's module sumdb/note; the two
notes without keys are the examples of c2sp.org/signed-note and c2sp.org/tlog-checkpoint.
"""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.errors import InvalidArgument, Unsupported
from strongroom.patterns import Checkpoint, digest
from strongroom.patterns.notes import (
    Note,
    NoteMalformed,
    NoteSigner,
    NoteUnverified,
    NoteVerifier,
    open_note,
    sign_note,
)
from strongroom.patterns.signed_checkpoint import CheckpointText, open_checkpoint, sign_checkpoint

PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETER_SECRET = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_LINE = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
)
POEM = """\
Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
"""  # noqa: E501 - the example as it stands
SOFA = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
"""  # noqa: E501 - the example as it stands

peter, enoch = NoteVerifier.from_text(PETER), NoteVerifier.from_text(ENOCH)


def test_a_known_key_signs_a_known_text_to_the_known_note() -> None:
    signer = NoteSigner.from_text(PETER_SECRET)
    assert sign_note(TEXT, signer) == TEXT + "\n" + PETER_LINE
    assert (signer.secret, signer.verifier.text) == (PETER_SECRET, PETER)


def test_known_signatures_are_verified_and_unknown_ones_passed_over() -> None:
    note = TEXT + "\n" + PETER_LINE + ENOCH_LINE
    assert [one.name for one in open_note(note, peter).signatures] == ["PeterNeumann"]
    assert [one.name for one in open_note(note, enoch, peter, peter).signatures] == ["PeterNeumann", "EnochRoot"]
    assert open_note(TEXT + "\n" + PETER_LINE * 100, peter).text == TEXT
    with pytest.raises(NoteUnverified, match="no signature of a trusted key"):
        open_note(note)
    with pytest.raises(NoteUnverified):
        open_note(note.replace("PeterNeumann", "CarmenSandiego"), peter)


def test_a_false_signature_of_a_trusted_key_condemns_the_whole_note() -> None:
    note = TEXT + "\n" + PETER_LINE + ENOCH_LINE
    for false in (note.replace("problem is.", "problem was."), note.replace("ZJkuBS", "ZJkuBT")):
        with pytest.raises(NoteUnverified, match=r"PeterNeumann\+c74f20a3 is false"):
            open_note(false, peter, enoch)


def test_the_examples_of_the_specifications_are_read_to_the_byte() -> None:
    poem = Note.parse(POEM)
    assert poem.text.endswith("raggio di sole:\n\ned è subito sera.\n")
    assert [(one.name, len(one.signature)) for one in poem.signatures] == [("quasimodo.example/salvatore", 64)]
    assert str(poem) == POEM
    sofa = Note.parse(SOFA)
    text = CheckpointText.parse(sofa.text)
    assert (text.origin, text.size, text.root[:2].hex(), text.extensions) == (
        "example.com/behind-the-sofa",
        20852163,
        "0ac5",
        (),
    )
    assert str(text) == sofa.text


@pytest.mark.parametrize(
    "note",
    [
        "",
        TEXT,
        TEXT + "\n",
        TEXT + "\n" + PETER_LINE[:-1],
        "\x01" + TEXT + "\n" + PETER_LINE,
        "\udcff" + TEXT + "\n" + PETER_LINE,
        "\n\n" + PETER_LINE,
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Bad Name"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Bad+Name"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", "Bad\u2003Name"),
        TEXT + "\n" + PETER_LINE.replace("PeterNeumann", ""),
        TEXT + "\n" + PETER_LINE.replace("—", "-"),
        TEXT + "\n" + PETER_LINE.replace("=", ""),
        TEXT + "\n" + PETER_LINE.replace("AM=", "AN="),
        TEXT + "\n— PeterNeumann x08gow==\n",
        TEXT + "\n" + PETER_LINE + "Unexpected line.\n",
        TEXT + "\n" + PETER_LINE * 101,
        "x" * 1_000_001 + "\n\n" + PETER_LINE,
    ],
)
def test_what_is_no_note_is_refused(note: str) -> None:
    with pytest.raises(NoteMalformed):
        open_note(note, peter)


def test_a_key_that_was_changed_or_cut_anywhere_is_refused() -> None:
    for kind, text in ((NoteVerifier, PETER), (NoteSigner, PETER_SECRET)):
        for place in range(len(text)):
            changed = text[:place] + chr(ord(text[place]) + 1) + text[place + 1 :]
            for wrong in (changed, text[:place], text[place + 1 :]):
                with pytest.raises(NoteMalformed):
                    kind.from_text(wrong)
    # A key of another length, and one of another kind, each under the id that it would have.
    for wrong in (
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ):
        with pytest.raises(NoteMalformed):
            NoteVerifier.from_text(wrong)


def test_what_can_not_be_signed_is_refused() -> None:
    signer = NoteSigner.generate("example.com/a")
    for text in ("", "\n", "no newline", "a\x00\n"):
        with pytest.raises(NoteMalformed):
            sign_note(text, signer)
    with pytest.raises(NoteMalformed):
        sign_note(TEXT)
    for name in ("", "a b", "a+b"):
        with pytest.raises(NoteMalformed):
            NoteSigner.generate(name)
    assert signer.secret not in repr(signer)


def test_two_keys_of_one_name_and_id_are_refused() -> None:
    false = NoteVerifier("PeterNeumann", enoch.public_key)
    false.key_id = peter.key_id
    with pytest.raises(InvalidArgument, match="two keys"):
        open_note(TEXT + "\n" + PETER_LINE, peter, false)


CHECKPOINT = Checkpoint("0123456789abcdef" * 2, 20, digest(b"a line"))


def test_a_signed_checkpoint_says_origin_size_digest_and_trail_and_is_opened_by_its_key() -> None:
    signer, witness = NoteSigner.generate("example.com/chain"), NoteSigner.generate("example.com/witness")
    note = sign_checkpoint(CHECKPOINT, signer, witness)
    lines = note.split("\n")
    assert lines[:2] == ["example.com/chain", "20"]
    assert lines[3:5] == [f"trail {CHECKPOINT.trail}", ""]
    assert [line.split(" ")[1] for line in lines[5:7]] == ["example.com/chain", "example.com/witness"]
    for verifier in (signer.verifier, NoteVerifier.from_text(witness.verifier.text)):
        assert open_checkpoint(note, verifier, origin="example.com/chain") == CHECKPOINT
    with pytest.raises(NoteUnverified, match="another origin"):
        open_checkpoint(note, signer.verifier, origin="example.com/other")
    with pytest.raises(NoteUnverified):
        open_checkpoint(note.replace("\n20\n", "\n21\n"), signer.verifier, origin="example.com/chain")


@pytest.mark.parametrize(
    "text",
    [
        "o\n1\n",
        "o\n01\n" + "A" * 43 + "=\n",
        "o\n-1\n" + "A" * 43 + "=\n",
        "o\n1\n" + "A" * 43 + "\n",
        "o\n1\n" + "A" * 40 + "\n",
        "o\n1\n" + "A" * 42 + "B=\n",
        "\n1\n" + "A" * 43 + "=\n",
        "o\n1\n" + "A" * 43 + "=\n\ntrail t\n",
        "o\n1\n" + "A" * 43 + "=",
        "o\n١\n" + "A" * 43 + "=\n",
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(NoteMalformed):
        CheckpointText.parse(text)


@pytest.mark.parametrize("more", [(), ("trail ",), ("track t",)])
def test_a_checkpoint_of_another_kind_of_log_is_no_chains(more: tuple[str, ...]) -> None:
    signer = NoteSigner.generate("example.com/tree")
    note = sign_note(str(CheckpointText("example.com/tree", 5, bytes(32), more)), signer)
    with pytest.raises(NoteMalformed, match="no trail"):
        open_checkpoint(note, signer.verifier, origin="example.com/tree")


@given(st.lists(st.tuples(st.integers(0, 330), st.integers(0, 3), st.text(max_size=3)), min_size=1, max_size=3))
def test_a_note_that_was_changed_is_never_opened_to_another_text(edits: list[tuple[int, int, str]]) -> None:
    note = TEXT + "\n" + PETER_LINE
    for place, cut, put in edits:
        note = note[:place] + put + note[place + cut :]
    try:
        opened = open_note(note, peter)
    except (NoteMalformed, NoteUnverified):
        return
    assert opened.text == TEXT


def test_without_the_extra_signing_is_refused_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(Unsupported, match=r"strongroom\[signing\]"):
        NoteVerifier.from_text(PETER)
    assert Note.parse(POEM).text
