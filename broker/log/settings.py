"""What a topic's configuration asks of its partitions' logs."""

from __future__ import annotations

from typing import Final, NamedTuple

from shareq.protocol.records.compression import MAX_DECOMPRESSED_BYTES, Compression

__all__ = ["LEAST_OPENED_BYTES", "MOST_RECORDS", "UNLIMITED", "LogSettings"]

UNLIMITED: Final = 2**63 - 1
LEAST_OPENED_BYTES: Final = 8 * 1024 * 1024  # the slowest codec takes 20 ms for it
MOST_RECORDS: Final = 1 << 18
"""Of a compressed batch."""

_OPENED_RATIO: Final = 8
_DAY_MS: Final = 24 * 60 * 60 * 1000


class LogSettings(NamedTuple):
    """A topic's effective log configuration; names and defaults are Apache Kafka 4.4.0's, `.` written as `_`.

    -1 in `retention_ms` and `retention_bytes` means no limit. `compression_type` None is `producer`: as it came.
    `compact` and `delete` are the two words of `cleanup.policy`. `append_time` is `message.timestamp.type`.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * _DAY_MS
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    retention_ms: int = 7 * _DAY_MS
    retention_bytes: int = -1
    max_message_bytes: int = 1024 * 1024 + 12
    max_decompressed_message_bytes: int = 2**31 - 9
    append_time: bool = False
    message_timestamp_before_max_ms: int = UNLIMITED
    message_timestamp_after_max_ms: int = 60 * 60 * 1000
    delete: bool = True
    compact: bool = False
    delete_retention_ms: int = _DAY_MS
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = UNLIMITED
    flush_messages: int = UNLIMITED
    compression_type: Compression | None = None
    producer_id_expiration_ms: int = _DAY_MS

    @property
    def most_opened(self) -> int:
        """Bytes that the records of a compressed batch may take when they are opened."""
        return min(max(_OPENED_RATIO * self.max_message_bytes, LEAST_OPENED_BYTES), MAX_DECOMPRESSED_BYTES)

    @property
    def roll_ms(self) -> int:
        """How long a segment is the active one at most: what is never sealed is never compacted either."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms
