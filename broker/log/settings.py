"""What a partition's log is told by its topic's configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shareq.protocol.records.compression import Compression

__all__ = ["UNLIMITED", "LogSettings"]

UNLIMITED: Final = 2**63 - 1
_DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class LogSettings:
    """A topic's effective log configuration; names and defaults are Apache Kafka 4.3.1's, `.` written as `_`.

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
    append_time: bool = False
    message_timestamp_before_max_ms: int = UNLIMITED
    message_timestamp_after_max_ms: int = 60 * 60 * 1000
    delete: bool = True
    compact: bool = False
    flush_messages: int = UNLIMITED
    compression_type: Compression | None = None
    producer_id_expiration_ms: int = _DAY_MS
