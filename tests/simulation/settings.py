"""The broker's settings in a seed's world: small numbers, so that everything happens soon."""

from __future__ import annotations

from random import Random
from typing import Final

from tests.simulation.group import LOCKS_MS

SESSION_TIMEOUTS_MS: Final = (5_000, 8_000)
MOST_MEMBERS: Final = ("2", "4", "200", "200")


def first_settings(rng: Random, *, synced: bool) -> dict[str, str]:
    properties = {
        "log.dirs": "data",
        "offsets.topic.num.partitions": "1",
        "share.coordinator.state.topic.num.partitions": "2",
        "group.share.min.record.lock.duration.ms": str(LOCKS_MS[0]),
        "group.share.record.lock.duration.ms": str(LOCKS_MS[0]),
        "group.share.min.heartbeat.interval.ms": "1",
        "group.share.heartbeat.interval.ms": "1000",
        "group.share.min.session.timeout.ms": "1",
        "group.share.initialize.retry.interval.ms": "500",
        "offsets.commit.timeout.ms": "500",
        **changed_settings(rng),
    }
    if synced:
        properties["log.flush.interval.messages"] = "1"
    return properties


def disk_settings(seed: int) -> dict[str, str]:
    """Return the disk's settings: in one of eight worlds a full disk refuses records, and there is a reserve.

    In the others writes simply fail.
    """
    guarded = seed % 8 == 7
    return {
        "shareq.disk.warn.bytes": "0",
        "shareq.disk.refuse.bytes": "2000" if guarded else "0",
        "shareq.disk.reserve.bytes": "8000" if guarded else "0",
    }


def changed_settings(rng: Random) -> dict[str, str]:
    return {
        "offsets.topic.segment.bytes": str(rng.choice((400, 2_000, 1 << 20))),
        "share.coordinator.state.topic.segment.bytes": str(rng.choice((300, 400, 2_000, 1 << 20))),
        "share.coordinator.snapshot.update.records.per.snapshot": str(rng.choice((0, 2, 500))),
        "group.share.session.timeout.ms": str(rng.choice(SESSION_TIMEOUTS_MS)),
        "group.share.partition.max.record.locks": str(rng.choice((100, 2_000))),
        "group.share.max.size": rng.choice(MOST_MEMBERS),
        "group.share.assignment.interval.ms": str(rng.choice((0, 1_000))),
        "log.cleaner.backoff.ms": str(rng.choice((200, 1_000, 15_000))),
        "log.cleaner.min.cleanable.ratio": str(rng.choice((0, 0.5))),
        "log.cleaner.delete.retention.ms": str(rng.choice((0, 2_000, 86_400_000))),
    }
