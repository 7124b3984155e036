"""DynamoDB (boto3): one table of Amazon's service, or of a server that speaks its language.

``dynamodb://TABLE?region=eu-central-1``. Options: ``region``, ``endpoint``, ``timeout_ms=30000``, ``connections=64``.
Credentials come from boto3's own chain (environment, ``~/.aws``, the machine's role), never from the URL.
"""

from __future__ import annotations

from strongroom.engine import Engine, StoreUrl
from strongroom.engines.dynamodb.engine import DynamoEngine
from strongroom.engines.dynamodb.options import DynamoOptions, table_of

__all__ = ["DynamoEngine", "DynamoOptions", "open_url"]


def open_url(url: StoreUrl, *, seal_key: bytes | None = None) -> Engine:
    """The engine for a ``dynamodb:`` URL; raises as `strongroom.open`."""
    table = table_of(url)
    return DynamoEngine(table, DynamoOptions.parse(url), seal_key=seal_key)
