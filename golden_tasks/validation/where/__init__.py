"""Where the elements that differ lie: rows, columns, ranges and tiles, as data, and then the words for it.

Nobody declares which axis a tile parameter belongs to, so each is tried on each of the last two axes. What is said of
*all* bad elements is true of each one; of several such claims the one that names the fewest elements comes first.
"""

from golden_tasks.validation.where.claims import Tile, Where
from golden_tasks.validation.where.marks import Marks, locate
from golden_tasks.validation.where.words import lines, summary

__all__ = ["Marks", "Tile", "Where", "lines", "locate", "summary"]
