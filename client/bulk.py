"""Many records for several topics, written batch by batch by a caller that blocks, in a transaction or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from shareq.client.chance import CHANCE
from shareq.client.core.network import NetworkCore
from shareq.client.errors import BrokerError, ClientError
from shareq.client.network import Network
from shareq.client.partitioner import partition_of_key
from shareq.client.produce.batches import Lane, check, size_of
from shareq.client.produce.delivery import Delivery
from shareq.client.transactions import Transaction
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import RecordData

BATCH_BYTES: Final = 512 << 10
"""The bytes of a batch: half of the most that a broker takes by default."""
HELD_BYTES: Final = 8 << 20
CREATED_WITHIN_MS: Final = 10_000
"""The time that a broker may take to create a topic on demand."""


class BulkWriter:
    """A writer that holds records until they are 8 MiB, then writes all and waits. Each is written once, retries
    included.

    Records with a key go to the partition that Java's producer takes; those without a key go to one partition until a
    batch is full, then to the next. After an error, the records added before may or may not be in the log.
    """

    def __init__(
        self,
        network: Network,
        *,
        compression: Compression = Compression.NONE,
        transaction: Transaction | None = None,
    ) -> None:
        self._network = network
        self._transaction = transaction
        self._delivery = Delivery(
            network.core,
            Counter(),
            compression=compression,
            transaction=None if transaction is None else transaction.id,
        )
        self._lanes: dict[tuple[str, int], Lane] = {}
        self._partitions: dict[str, list[int]] = {}
        self._turns: dict[str, int] = {}
        self._held = 0
        self._error: ClientError | None = None

    def add(self, topic: str, record: RecordData, partition: int | None = None) -> int:
        """Add a record, which has its timestamp, and return its partition.

        Raises TypeError or ValueError for one that cannot be written, BrokerError for a topic or partition that does
        not exist, and the error of an earlier record that could not be written.
        """
        check(record)
        known = self.partitions_of(topic)
        if partition is None:
            partition = (
                known[self._turns[topic] % len(known)] if record.key is None else partition_of_key(record.key, known)
            )
        elif not known[0] <= partition <= known[-1]:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {topic}-{partition}")
        lane = self._lanes.get((topic, partition))
        if lane is None:
            lane = self._lanes[topic, partition] = Lane(topic, partition)
        size = size_of(record)
        if lane.add(record, size, self._outcome, 0.0, BATCH_BYTES) and record.key is None:
            self._turns[topic] += 1
        self._held += size
        if self._held >= HELD_BYTES:
            self.flush()
        return partition

    def flush(self) -> None:
        """Write all held records, and wait until they are written.

        Raises the error of the first that could not be written.
        """
        waiting = {place: lane for place, lane in self._lanes.items() if lane.batches}
        self._held = 0
        if self._transaction is not None:
            self._transaction.add(waiting)
        self._network.run(self._deliver(self._network.core, list(waiting.values())))
        for topic in self._turns:
            self._turns[topic] += 1
        if self._error is not None:
            raise self._error

    async def _deliver(self, core: NetworkCore, lanes: Sequence[Lane]) -> None:
        """Send one batch of each lane before the first answer is waited for, until none has any left."""
        deadline = core.driver.now() + core.config.default_api_timeout_ms / 1000
        while left := [lane for lane in lanes if lane.batches]:
            sent = [(lane, await self._delivery.send(lane, deadline)) for lane in left]
            await core.collect([each for _, each in sent if not isinstance(each, ClientError)])
            for lane, each in sent:
                await self._delivery.deliver(lane, deadline, each)

    def _outcome(self, offset: int, append_time_ms: int, error: ClientError | None) -> None:
        self._error = self._error or error

    def partitions_of(self, topic: str) -> Sequence[int]:
        """Return the topic's partitions, ascending, as they were when it was first written to.

        Raises Unreachable for a topic that neither exists nor is created on demand.
        """
        if (known := self._partitions.get(topic)) is not None:
            return known
        ids = self._network.topic_ids([topic])
        tries = self._network.tries(min(CREATED_WITHIN_MS, self._network.config.default_api_timeout_ms))
        while topic not in ids:
            self._network.run(self._network.core.refresh([topic], timeout_ms=tries.left_ms, create=True))
            ids = self._network.topic_ids([topic])
            if topic not in ids:
                self._network.wait(tries, BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic}"))
        found = self._partitions[topic] = self._network.partitions(ids[topic])
        self._turns[topic] = CHANCE.randrange(len(found))
        return found
