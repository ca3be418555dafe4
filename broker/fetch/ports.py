"""The logs that consumers' fetches read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shareq.broker.log.append import Traffic
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.segments.txn_index import AbortedTransaction
from shareq.broker.topics.ports import LedLog, NotHereYet
from shareq.protocol.errors import ErrorCode


class FetchedLog(LedLog, Protocol):
    """The log of one partition. Ends are exclusive; readers see up to the high watermark, those of committed records up
    to the last stable offset.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def topic_id(self) -> bytes: ...
    @property
    def log_start_offset(self) -> int: ...
    @property
    def log_end_offset(self) -> int: ...
    @property
    def high_watermark(self) -> int: ...
    @property
    def last_stable_offset(self) -> int: ...
    @property
    def traffic(self) -> Traffic: ...

    def read(
        self, offset: int, max_bytes: int, *, upto: int, min_one_batch: bool = True
    ) -> ReadResult | ErrorCode | NotHereYet:
        """Whole batches from the one that holds `offset`, below `upto` (exclusive), at most `max_bytes`; with
        `min_one_batch` the first whatever its size. OFFSET_OUT_OF_RANGE, CORRUPT_MESSAGE, KAFKA_STORAGE_ERROR.

        It is asked beyond `log_end_offset`, too: a log that may have grown elsewhere answers NOT_HERE_YET there.
        """

    def available_bytes(self, offset: int, upto: int) -> int:
        """Bytes of the batches from the one that holds `offset` to those below `upto` (exclusive); 0 without any.

        Those that have to be fetched first count, too, with as many bytes as they may have.
        """

    def aborted_transactions(self, first_offset: int, upper_bound: int) -> Sequence[AbortedTransaction]:
        """Return the aborted transactions that a committed read of `first_offset` to `upper_bound`
        (exclusive) needs.
        """
