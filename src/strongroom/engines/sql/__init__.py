"""What the engines over SQL databases share: the SQL of key ranges, and ways with a server: pool, clock and turns."""

from strongroom.engines.sql.clock import ServerClock
from strongroom.engines.sql.dialect import Dialect
from strongroom.engines.sql.gone import Gone
from strongroom.engines.sql.pool import Pool
from strongroom.engines.sql.ranges import RangeStatement, range_shape
from strongroom.engines.sql.turns import Turns

__all__ = ["Dialect", "Gone", "Pool", "RangeStatement", "ServerClock", "Turns", "range_shape"]
