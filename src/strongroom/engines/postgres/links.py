"""The connections of one engine, and how they are lent out."""

from __future__ import annotations

from strongroom.engines.postgres.calls import ROLLBACK
from strongroom.engines.postgres.connector import Connector
from strongroom.engines.postgres.link import Link
from strongroom.engines.postgres.options import PostgresOptions
from strongroom.engines.sql import Pool
from strongroom.errors import StrongroomError


class Links(Pool[Link]):
    """A pool of connections. Threads may share it."""

    def __init__(self, connector: Connector, options: PostgresOptions) -> None:
        super().__init__(connector.connect, Link.close, size=options.pool, timeout_ms=options.timeout_ms)

    def leave(self, link: Link) -> None:
        """Give back a connection, whatever became of what it was used for; an open transaction is rolled back.

        Where it broke, those that nobody uses are let go of too: the server may have gone with all of them.
        """
        if link.idle or (link.in_transaction and _rolled_back(link)):
            self.give(link)
        else:
            self.drop(link)
            self.drop_idle()


def _rolled_back(link: Link) -> bool:
    try:
        link.trip(ROLLBACK)
    except StrongroomError:
        return False
    return link.idle
