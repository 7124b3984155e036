"""What the engines over SQL databases share: names and holes of a dialect, and the statements of key ranges."""

from strongroom.engines.sql.dialect import Dialect
from strongroom.engines.sql.ranges import RangeStatement, range_shape

__all__ = ["Dialect", "RangeStatement", "range_shape"]
