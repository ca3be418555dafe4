"""The choice of a log to clean, and of the end of cleaning: Apache Kafka's rules (LogCleanerManager).

A log is clean up to its first dirty offset. The segments behind it may be cleaned up to the first one that is not
sealed, not on stable storage, in an open transaction, or younger than min.compaction.lag.ms. A pass is worthwhile if
these segments are more than min.cleanable.dirty.ratio of the log, or older than max.compaction.lag.ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.settings import UNLIMITED
from shareq.protocol.errors import ErrorCode


class Source(NamedTuple):
    """A sealed segment, and the offset (exclusive) where it ends."""

    segment: Segment
    end_offset: int


class Candidate(NamedTuple):
    """A log that is worth a pass over `sources`, its first segments."""

    log: PartitionLog
    sources: Sequence[Source]
    first_dirty_offset: int
    dirty_ratio: float


def candidate(log: PartitionLog, clean_until: int | None, now_wall_ms: int) -> Candidate | None:
    """Return the log with the segments to clean; None if a pass is not worthwhile. Raise OSError as its files do.

    `clean_until` is the offset (exclusive) up to which earlier passes cleaned. If it lies outside the log, all of
    the log is dirty.
    """
    settings = log.settings
    if not settings.compact or log.refusal is not ErrorCode.NONE:
        return None
    first_dirty = log.log_start_offset
    if clean_until is not None and first_dirty < clean_until <= log.log_end_offset:
        first_dirty = clean_until
    sources: list[Source] = []
    dirty_bytes = total_bytes = 0
    is_due = False
    for segment, following in pairwise(log.segments):
        end_offset = following.base_offset
        if end_offset > log.last_stable_offset or segment.synced < segment.size or segment.pins:
            break
        if end_offset > first_dirty:
            least_age_ms, most_age_ms = settings.min_compaction_lag_ms, settings.max_compaction_lag_ms
            if least_age_ms and segment.map.max_timestamp > now_wall_ms - least_age_ms:
                break
            dirty_bytes += segment.size
            if most_age_ms < UNLIMITED:
                is_due = is_due or segment.first_timestamp(or_else=now_wall_ms) < now_wall_ms - most_age_ms
        total_bytes += segment.size
        sources.append(Source(segment, end_offset))
    if not dirty_bytes:
        return None
    ratio = dirty_bytes / total_bytes
    if ratio <= settings.min_cleanable_dirty_ratio and not is_due:
        return None
    return Candidate(log, sources, first_dirty, ratio)


def dirtiest(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the candidate to clean first."""
    return max(candidates, key=lambda candidate: candidate.dirty_ratio, default=None)
