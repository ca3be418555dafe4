"""Share coordinator, microseconds of CPU for one WriteShareGroupState: decide + encode + replay, as the broker runs it.

    python bench/coordinator.py [--seconds S] [--profile]

One batch: an acknowledgement of one range. 100 alternating batches: single records, accepted and released in turn.
Each with nothing else in flight, and with 2,000 records of alternating state, which is 2,000 stored batches: the worst
case.
"""

from __future__ import annotations

import argparse
import cProfile
import platform
import pstats
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final

from shareq.coordinator.ports import TopicImage
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch
from shareq.protocol.share import RecordState

AVAILABLE: Final = RecordState.AVAILABLE
ACKNOWLEDGED: Final = RecordState.ACKNOWLEDGED
KEY = SharePartitionKey("flights-workers", bytes(range(16)), 3)
Write = tuple[int, int, list[StateBatch]]
"""A write: its start offset, its number of terminal records, its batches."""


class OneTopic:
    """The metadata of one topic."""

    _topic = TopicImage("flights", KEY.topic_id, 8)

    def topic(self, name: str) -> TopicImage | None:
        return self._topic if name == self._topic.name else None

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return self._topic if topic_id == self._topic.topic_id else None


def new_shard(in_flight: int) -> ShareCoordinatorShard:
    """Return a shard with one state of `in_flight` single-record batches of alternating states, from offset 0."""
    shard = ShareCoordinatorShard(OneTopic(), lambda: 1_700_000_000_000, ShareCoordinatorSettings())
    for record in shard.initialize(KEY, 2, 0).records:
        shard.replay(record, 0)
    run(shard, (0, 0, alternating(0, in_flight)))
    return shard


def alternating(first: int, records: int, delivery_count: int = 1) -> list[StateBatch]:
    return [
        StateBatch(offset, offset, ACKNOWLEDGED if offset % 2 else AVAILABLE, delivery_count)
        for offset in range(first, first + records)
    ]


def run(shard: ShareCoordinatorShard, write: Write) -> None:
    start_offset, terminal, batches = write
    result = shard.write(KEY, 2, 0, start_offset, terminal, batches)
    for record in result.records:
        SHARE_STATE_SERDE.encode(record)
        shard.replay(record, 0)


def one_batch(in_flight: int) -> Iterator[Write]:
    """Yield the writes of a sliding window: acknowledge 10 records, with the start offset `in_flight` behind."""
    for n in count():
        first = in_flight + n * 10
        yield first - in_flight, 10, [StateBatch(first, first + 9, ACKNOWLEDGED, 1)]


def one_batch_inside(in_flight: int) -> Iterator[Write]:
    """Yield repeated releases of one record in the middle of a fixed window."""
    for n in count():
        yield 0, 10, [StateBatch(in_flight // 2, in_flight // 2, AVAILABLE, 2 + n % 1000)]


def hundred_alternating(in_flight: int) -> Iterator[Write]:
    """Yield the writes of a window that slides by 100 records of alternating state."""
    for n in count():
        first = in_flight + n * 100
        yield first - in_flight, 50, alternating(first, 100)


def hundred_inside(in_flight: int) -> Iterator[Write]:
    """Yield writes of 100 records in the middle of the window, each time with a higher delivery count."""
    for n in count():
        yield 0, 50, alternating(in_flight // 2, 100, 2 + n % 1000)


CASES: list[tuple[str, Callable[[int], Iterator[Write]], int]] = [
    ("one batch, nothing else in flight", one_batch, 0),
    ("one batch, 2,000 in flight", one_batch, 2000),
    ("one record inside 2,000 in flight", one_batch_inside, 2000),
    ("100 alternating, nothing else in flight", hundred_alternating, 0),
    ("100 alternating, 2,000 in flight", hundred_alternating, 2000),
    ("100 alternating inside 2,000 in flight", hundred_inside, 2000),
]


def measure(writes: Iterator[Write], in_flight: int, seconds: float) -> tuple[float, int]:
    """Return microseconds of CPU per write, and their number, without building the requests' batches."""
    shard = new_shard(in_flight)
    spent, made = 0.0, 0
    while spent < seconds:
        prepared = [next(writes) for _ in range(50)]
        began = time.process_time()
        for write in prepared:
            run(shard, write)
        spent += time.process_time() - began
        made += len(prepared)
    return spent / made * 1e6, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="per case")
    parser.add_argument("--profile", action="store_true", help="where the time of the one-batch write goes")
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, {platform.machine()}, {arguments.seconds} s per case")
    if arguments.profile:
        profile = cProfile.Profile()
        profile.runcall(measure, one_batch(2000), 2000, arguments.seconds)
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    for name, writes, in_flight in CASES:
        microseconds, made = measure(writes(in_flight), in_flight, arguments.seconds)
        print(f"{name:42} {microseconds:8.2f} us/write  ({made} writes)")


if __name__ == "__main__":
    main()
