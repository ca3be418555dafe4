"""The broker's settings in seeds about jobs, besides those of all seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

from shareq.broker.log import markers
from shareq.coordinator.transaction import end_txn, metadata

SESSION_MS: Final = 5_000
REBALANCE_MS: Final = 4_000
TRANSACTIONS_MS: Final = (700, 3_000, 100_000)
LOOK_FOR_TIMEOUTS_MS: Final = 1_000


@contextmanager
def last_epoch(epoch: int) -> Iterator[None]:
    """Make producer ids run out after `epoch` epochs instead of thousands."""
    before = metadata.LAST_EPOCH, metadata.MAX_EPOCH
    try:
        _set_last_epoch(epoch, epoch + 1)
        yield
    finally:
        _set_last_epoch(*before)


def _set_last_epoch(last: int, most: int) -> None:
    setattr(metadata, "LAST_EPOCH", last)  # noqa: B010, they are final
    setattr(metadata, "MAX_EPOCH", most)  # noqa: B010
    setattr(end_txn, "LAST_EPOCH", last)  # noqa: B010
    setattr(markers, "_MAX_EPOCH", most)  # noqa: B010


def first_job_settings(rng: Random) -> dict[str, str]:
    return {
        "offsets.topic.num.partitions": rng.choice(("1", "1", "2")),
        "transaction.state.log.num.partitions": rng.choice(("1", "1", "2")),
        "group.min.session.timeout.ms": "1",
        "group.consumer.min.session.timeout.ms": "1",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
        "group.consumer.min.heartbeat.interval.ms": "1",
        "group.consumer.heartbeat.interval.ms": "1000",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": str(LOOK_FOR_TIMEOUTS_MS),
        "transaction.remove.expired.transaction.cleanup.interval.ms": "3000",
        **changed_job_settings(rng),
    }


def changed_job_settings(rng: Random) -> dict[str, str]:
    return {
        "transaction.state.log.segment.bytes": str(rng.choice((400, 2_000, 1 << 20))),
        "offsets.topic.compression.codec": str(rng.choice((0, 0, 1, 4))),
        "offsets.retention.minutes": rng.choice(("1", "1", "10080")),
        "offsets.retention.check.interval.ms": rng.choice(("1000", "5000", "20000")),
        "group.initial.rebalance.delay.ms": str(rng.choice((0, 200))),
        "group.consumer.assignment.interval.ms": str(rng.choice((0, 0, 500))),
        "transactional.id.expiration.ms": str(rng.choice((8_000, 604_800_000, 604_800_000))),
    }
