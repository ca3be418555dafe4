"""Work done in one iteration of the loop that is not visible from a request's size, counted so that it can be ended
in time.

Producers' records may have up to a thousand times their bytes once they are decompressed. The code that opens them
adds the bytes up here; before the next batch or request, the caller checks if it has to wait for the next turn.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.foundation.turn_budget import LOOK
from shareq.protocol.records.compression import Compression

MOST_EFFORT: Final = 1024 * 1024
"""The most bytes opened in one turn; the batch that exceeds it is still opened."""

ELEMENT_EFFORT: Final = 4 * 1024
"""The opened bytes that count as one element of a turn's budget (`turn_budget.py`)."""

LOOK_EFFORT: Final = LOOK * ELEMENT_EFFORT
"""The effort between two looks at the clock."""

STEP_EFFORT: Final = 192 * 1024
"""The effort between two pauses of a batch that is opened in steps: a third of a millisecond, one millisecond with
the slowest codec.
"""

AT_ONCE: Final = 512 * 1024
"""The most bytes of a batch that are opened at once. A larger batch is opened in steps, from its beginning again."""

RECORDS_AT_ONCE: Final = 20_000
"""The most records of a batch that are walked over at once: half a millisecond if the walk is compiled."""

RECORD_EFFORT: Final = 16
"""The bytes that a record counts in addition to its own, for the time of looking at it."""

PACKING_EFFORT: Final = {
    Compression.NONE: 1,
    Compression.GZIP: 16,
    Compression.SNAPPY: 1,
    Compression.LZ4: 8,
    Compression.ZSTD: 2,
}
"""The effort of a byte that is compressed. With it, a turn takes 2 ms, or 5 ms for the worst case of gzip."""

BATCH_EFFORT: Final = 16 * 1024
"""The effort of each batch of a request with several batches. Small ones that are refused take 0.1 ms each."""

LOG_EFFORT: Final = 64 * 1024
"""The effort of the first batch of a log, whose folder and files take 0.3 ms."""

REFUSED_EFFORT: Final = 2 * 1024
"""The effort of a batch that is refused without being looked at: 4 µs."""


class Effort:
    """The effort of the process's loop (`EFFORT`).

    `spent` is the effort since the current read began; `goes` is the number of reads of a connection that had a
    request in them.
    """

    __slots__ = ("goes", "spent")

    def __init__(self) -> None:
        self.spent = 0
        self.goes = 0


EFFORT: Final = Effort()


def elements_of(effort: int) -> int:
    """Return the number of elements of a turn's budget that this effort counts as, at least one."""
    return 1 + effort // ELEMENT_EFFORT
