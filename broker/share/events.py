"""Log lines about events of share groups' records, for operators."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from shareq.broker.foundation.bounded_log import BoundedLog
from shareq.broker.share.core.effects import GivenUpRange, WriteState
from shareq.broker.share.leader import SharePartitionLeader

logger = logging.getLogger(__name__)

MOST_RANGES: Final = 10  # of one event


class ShareEvents:
    """Logs for the share partitions of this broker. Records and keys are never logged."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._given_up = BoundedLog(logger, now_ms)

    def given_up(self, leader: SharePartitionLeader, ranges: Sequence[GivenUpRange]) -> None:
        """Log that the last delivery of these offsets has failed."""
        if len(ranges) > MOST_RANGES:
            rest = ranges[MOST_RANGES:]
            self._given_up.log(
                logging.WARNING,
                "share group %s: %s-%d: %d offsets in %d ranges are given up beside the following",
                leader.key.group_id,
                leader.topic,
                leader.key.partition,
                sum(last - first + 1 for first, last, _ in rest),
                len(rest),
                event="delivery_limit",
                group=leader.key.group_id,
                topic=leader.topic,
                partition=leader.key.partition,
                first_offset=rest[0].first_offset,
                last_offset=rest[-1].last_offset,
            )
        for first, last, attempts in ranges[:MOST_RANGES]:
            self._given_up.log(
                logging.WARNING,
                "share group %s: %s-%d: offsets %d to %d are given up after %d deliveries",
                leader.key.group_id,
                leader.topic,
                leader.key.partition,
                first,
                last,
                attempts,
                event="delivery_limit",
                group=leader.key.group_id,
                topic=leader.topic,
                partition=leader.key.partition,
                first_offset=first,
                last_offset=last,
                attempts=attempts,
            )

    def locks_ran_out(self, leader: SharePartitionLeader, write: WriteState) -> None:
        """Log that the acquisition locks of these records have expired."""
        if not logger.isEnabledFor(logging.DEBUG):
            return
        ranges = [(row.first_offset, row.last_offset) for row in write.batches]
        some = ", ".join(f"{first} to {last}" for first, last in ranges[:MOST_RANGES])
        logger.debug(
            "share group %s: %s-%d: the locks of offsets %s%s ran out",
            leader.key.group_id,
            leader.topic,
            leader.key.partition,
            some,
            "" if len(ranges) <= MOST_RANGES else f" and of {len(ranges) - MOST_RANGES} more ranges",
            extra={
                "fields": {
                    "event": "lock_expired",
                    "group": leader.key.group_id,
                    "topic": leader.topic,
                    "partition": leader.key.partition,
                    "offsets": ranges[:MOST_RANGES],
                }
            },
        )
