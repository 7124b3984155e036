"""A small schema that the tests of engines share."""

from __future__ import annotations

from typing import Annotated

from strongroom.records import (
    MEMBERSHIP,
    REPLACEABLE,
    VERSIONED,
    Blob,
    Identifier,
    Integer,
    Real,
    Record,
    Schema,
    Table,
    desc,
)


class Book(Record):
    shelf: Annotated[str, Identifier(64)]
    title: Annotated[str, Identifier(64)]
    copies: Annotated[int, Integer(0)] = 0
    version: Annotated[int, Integer(1)] = 1


class Loan(Record):
    shelf: Annotated[str, Identifier(64)]
    title: Annotated[str, Identifier(64)]


class Score(Record):
    shelf: Annotated[str, Identifier(64)]
    share: Annotated[float, Real(0.0, 1.0)]
    title: Annotated[str, Identifier(64)]


class Cover(Record):
    title: Annotated[str, Identifier(64)]
    picture: Annotated[bytes, Blob(1_000_000)]


BOOKS = Table("books", Book, key=("shelf", "title"), scope=1, changes=VERSIONED("version"))
LOANS = Table("loans", Loan, key=("shelf", "title"), scope=1, changes=MEMBERSHIP)
SCORES = Table("scores", Score, key=("shelf", desc("share"), "title"), scope=1)
COVERS = Table("covers", Cover, key=("title",), changes=REPLACEABLE)
SHELF = Schema("shelf", BOOKS, LOANS, SCORES, COVERS)
