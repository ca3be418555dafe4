"""Retention: the expiry of a log's segments by age (`retention.ms`) or by the log's size (`retention.bytes`)."""

from __future__ import annotations

from shareq.broker.log.segments.segment_list import SegmentList
from shareq.broker.log.settings import LogSettings
from shareq.protocol.records.batch import NO_TIMESTAMP


def expired_segments(
    segments: SegmentList, settings: LogSettings, now_wall_ms: int, log_end_offset: int, high_watermark: int
) -> int:
    """Return how many of the oldest segments have expired (Kafka: UnifiedLog.deleteOldSegments).

    A segment that reaches beyond the high watermark has never expired.
    """
    listed = segments.all()
    excess = segments.size_bytes() - settings.retention_bytes
    for at, segment in enumerate(listed):
        end = segments.base_of(at + 1) if at + 1 < len(listed) else log_end_offset
        newest = segment.map.max_timestamp
        too_old = 0 <= settings.retention_ms < now_wall_ms - newest and newest != NO_TIMESTAMP
        too_much = settings.retention_bytes >= 0 and excess >= segment.size
        if end > high_watermark or not (too_old or too_much):
            return at
        excess -= segment.size
    return len(listed)
