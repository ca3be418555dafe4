"""One broker and a topic of bad and good records, for one surface at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from devtools.clients.requests import produce
from devtools.clients.wire import WireClient
from shareq.client.core.list_offsets import LATEST
from shareq.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from shareq.testing import Broker
from tests.support.kafka.raw_batches import raw_batch, raw_headers, raw_record

BATCH_BYTES: Final = 500_000
BATCH_RECORDS: Final = 100
EVERY: Final = 50
"""The number of bad records for each good one."""
STILL_S: Final = 60.0
"""The seconds without progress after which a surface counts as standing still."""


class RawRecord(NamedTuple):
    """A record as bytes. `timestamp_ms` is since the epoch; header names need not be UTF-8."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    timestamp_ms: int | None = None


class StandsStill(AssertionError):
    """An error: a surface made no progress for `STILL_S`, or its process ended."""


@dataclass
class Scene:
    """A broker prepared for a surface, as a context manager; `folder` holds the surface's files and logs."""

    broker: Broker
    console_url: str
    folder: Path
    count: int

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if "_client" in self.__dict__:
            self._client.close()

    @cached_property
    def _client(self) -> WireClient:
        return WireClient(self.broker.address, timeout_s=60)

    def fill(self, topic: str, bad: Iterator[RawRecord], send_good: Callable[[int], object], *, last: int = 5) -> range:
        """Write `count` bad records, a good one after each `EVERY` and `last` at the end.

        Return the numbers passed to `send_good`.
        """
        number = 0
        left = self.count
        while left > 0:
            self.write(topic, islice(bad, min(EVERY, left)))
            left -= EVERY
            send_good(number)
            number += 1
        for _ in range(last):
            send_good(number)
            number += 1
        return range(number)

    def write(self, topic: str, records: Iterable[RawRecord]) -> None:
        """Write records to partition 0 as they are, in batches of `BATCH_RECORDS` at most."""
        batch: list[RawRecord] = []
        size = 0
        for record in records:
            weight = len(record.key or b"") + len(record.value or b"")
            weight += sum(len(name) + len(value or b"") + 8 for name, value in record.headers)
            if batch and (size + weight > BATCH_BYTES or len(batch) == BATCH_RECORDS):
                self._send(topic, batch)
                batch, size = [], 0
            batch.append(record)
            size += weight
        self._send(topic, batch)

    def _send(self, topic: str, records: Sequence[RawRecord]) -> None:
        now_ms = round(time.time() * 1000)
        times = [now_ms if each.timestamp_ms is None else each.timestamp_ms for each in records]
        rows = [
            raw_record(
                delta,
                time_delta=stamp - times[0],
                key=each.key,
                value=each.value,
                headers=raw_headers(len(each.headers), *(part for header in each.headers for part in header)),
            )
            for delta, (each, stamp) in enumerate(zip(records, times, strict=True))
        ]
        batch = raw_batch(*rows, timestamp_ms=times[0], max_timestamp_ms=max(times))
        answer = produce(self._client, topic, batch)
        assert answer.error_code == 0, f"{topic}: error {answer.error_code}: {answer.error_message}"

    def topic(self, name: str) -> str:
        """Create a topic with one partition that accepts any timestamp, and return its name."""
        return self.broker.topic(name, config={"message.timestamp.after.max.ms": str(2**63 - 1)})

    def group(self, name: str, **config: str) -> str:
        """Configure a share group with a dead-letter queue and return the queue's name."""
        queue = f"dlq.{name}"
        self.broker.share_group(name, dead_letters=queue, config={"shareq.redelivery.backoff.ms": "100", **config})
        return queue

    def until_done(self, group: str, topic: str, alive: Callable[[], object]) -> None:
        """Wait until the group is done with every record. StandsStill without progress, or from `alive`."""
        left = self.broker.undone(group, topic)
        moved = time.monotonic()
        while left:
            alive()
            now = self.broker.undone(group, topic)
            if now != left:
                left, moved = now, time.monotonic()
            elif time.monotonic() - moved > STILL_S:
                raise StandsStill(f"{group} is not done with {left} records of {topic} for {STILL_S:.0f} s")
            time.sleep(0.2)

    def end(self, topic: str) -> int:
        """Return how many records were written to a topic."""
        asked = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, LATEST)])])
        answer = self._client.call(asked, 7, ListOffsetsResponse)
        return answer.topics[0].partitions[0].offset

    def letters(self, queue: str, count: int) -> int:
        """Wait for `count` letters in a queue and return its number. StandsStill if no more come."""
        found = self.end(queue)
        moved = time.monotonic()
        while found < count:
            now = self.end(queue)
            if now != found:
                found, moved = now, time.monotonic()
            elif time.monotonic() - moved > STILL_S:
                raise StandsStill(f"{queue} has {found} letters of {count}")
            time.sleep(0.1)
        return found
