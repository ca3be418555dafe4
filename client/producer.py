"""Writes records, each once, for callers that block: a call waits until its records are written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from shareq.client.core.network import NetworkCore
from shareq.client.errors import BrokerError, ClientError
from shareq.client.network import Network
from shareq.client.partitioner import partition_of_key
from shareq.client.produce.batches import Lane, size_of
from shareq.client.produce.delivery import Delivery
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.compression import Compression
from shareq.protocol.records.record_codec import RecordData

WHOLE: Final = 1 << 62
"""The most bytes of a batch: records written together stay together if the broker accepts that size."""


class Written(NamedTuple):
    """The place of a record. `offset` is None if the broker only knows that it has the record already."""

    partition: int
    offset: int | None


class Producer:
    """A producer for one topic. Records of one key are written to the partition that Java's producer chooses. A batch
    is sent again until it is answered, and stored once even if answers are lost.
    """

    def __init__(self, network: Network, topic: str, compression: Compression = Compression.NONE) -> None:
        self._network = network
        self._topic = topic
        self._compression = compression
        self._delivery = self._new_delivery()
        self._lanes: dict[int, Lane] = {}
        self._turn = 0

    def write(self, records: Sequence[RecordData], now_ms: int, partition: int | None = None) -> list[Written]:
        """Write records as one batch for each partition, and return where they are, in their order.

        Without a key, and without `partition`, they go to one partition after the other, call by call. A batch that the
        broker finds too large is split. Raises BrokerError if one is refused; the other batches are written then.
        """
        partitions = self._partitions()
        if partition is not None and partition not in partitions:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {self._topic}-{partition}")
        self._turn += 1
        core = self._network.core
        written: list[Written | ClientError | None] = [None] * len(records)
        lanes: dict[int, Lane] = {}
        for at, record in enumerate(records):
            number = partition if partition is not None else self._partition_of(record, partitions)
            lane = lanes[number] = self._lanes.setdefault(number, Lane(self._topic, number))
            dated = record if record.timestamp_ms is not None else record._replace(timestamp_ms=now_ms)

            def outcome(offset: int, _: int, error: ClientError | None, at: int = at, number: int = number) -> None:
                written[at] = error or Written(number, None if offset < 0 else offset)

            lane.add(dated, size_of(dated), outcome, core.driver.now(), WHOLE)
        try:
            self._network.run(self._deliver(core, list(lanes.values())))
        except BaseException:  # also a signal: what became of batches is not known, nor which numbers are used
            self._lanes.clear()
            self._delivery = self._new_delivery()
            raise
        found = []
        for each in written:
            if not isinstance(each, Written):
                raise each or ClientError(f"topic {self._topic}: a record was neither written nor refused")
            found.append(each)
        return found

    def _new_delivery(self) -> Delivery:
        return Delivery(self._network.core, Counter(), compression=self._compression)

    async def _deliver(self, core: NetworkCore, lanes: Sequence[Lane]) -> None:
        """Send the batches of all lanes before waiting for the first answer."""
        deadline = core.driver.now() + core.config.default_api_timeout_ms / 1000
        sent = [(lane, await self._delivery.send(lane, deadline)) for lane in lanes]
        await core.collect([each for _, each in sent if not isinstance(each, ClientError)])
        for lane, each in sent:
            await self._delivery.deliver(lane, deadline, each)
            while lane.batches:
                await self._delivery.deliver(lane, deadline)

    def _partitions(self) -> list[int]:
        ids = self._network.topic_ids([self._topic])
        if self._topic not in ids:
            raise BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {self._topic}")
        return self._network.partitions(ids[self._topic])

    def _partition_of(self, record: RecordData, partitions: Sequence[int]) -> int:
        if record.key is None:
            return partitions[self._turn % len(partitions)]
        return partition_of_key(record.key, partitions)
