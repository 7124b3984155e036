"""Records, tables, keys, seals and schemas: what is kept, and what makes it true. Knows no engine."""

from strongroom.records.codec import Row, RowCodec
from strongroom.records.keys import after_all, decode_key, encode_key, placed
from strongroom.records.kinds import (
    MAX_INTEGER,
    Blob,
    Document,
    Flag,
    Identifier,
    Integer,
    Json,
    Millis,
    Real,
    Since,
    Stored,
    Text,
    Unfit,
)
from strongroom.records.ranges import MAX_LIMIT, KeyRange, check_limit, key_range
from strongroom.records.record import Column, Record
from strongroom.records.schema import Schema, Step
from strongroom.records.seal import SEAL_BYTES, Sealer
from strongroom.records.table import (
    MEMBERSHIP,
    NEVER,
    REPLACEABLE,
    SEAL,
    VERSIONED,
    AnyTable,
    Changes,
    Key,
    KeyColumn,
    Table,
    desc,
)

__all__ = [
    "MAX_INTEGER",
    "MAX_LIMIT",
    "MEMBERSHIP",
    "NEVER",
    "REPLACEABLE",
    "SEAL",
    "SEAL_BYTES",
    "VERSIONED",
    "AnyTable",
    "Blob",
    "Changes",
    "Column",
    "Document",
    "Flag",
    "Identifier",
    "Integer",
    "Json",
    "Key",
    "KeyColumn",
    "KeyRange",
    "Millis",
    "Real",
    "Record",
    "Row",
    "RowCodec",
    "Schema",
    "Sealer",
    "Since",
    "Step",
    "Stored",
    "Table",
    "Text",
    "Unfit",
    "after_all",
    "check_limit",
    "decode_key",
    "desc",
    "encode_key",
    "key_range",
    "placed",
]
