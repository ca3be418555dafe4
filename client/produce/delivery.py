"""The delivery of batches into logs, each once and in order: one text for both producers. Pure.

A lane's first batch is sent until it is written down, refused for good, split in two, or out of time.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from shareq.client.core.connection import Exchange
from shareq.client.core.network import GENERAL, NetworkCore
from shareq.client.errors import BrokerError, ClientError, Unreachable, is_transient, understood
from shareq.client.produce.batches import Batch, Lane
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from shareq.protocol.records.compression import Compression

ALL: Final = -1
NO_TRANSACTION_MS: Final = 0x7FFFFFFF
NOBODY: Final = (-1, -1)
"""The producer id and epoch of batches without idempotence."""
_BATCHES: Final = 3
"""The first version of Produce with record batches of magic 2."""
_WRITTEN: Final = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)


_ADDED_BEFORE: Final = 11
"""The last version of Produce in which a transaction knows its partitions from AddPartitionsToTxn alone."""


class TransactionId(NamedTuple):
    """A transactional id, and the producer that has it now, until another takes the id."""

    name: str
    producer_id: int
    producer_epoch: int


class Delivery:
    """The delivery of lanes' batches over a network. `counts` gets `requests` (batches sent, retries included) and
    `retries`.

    With `transaction` every batch is a part of that open transaction, which has its partition already.
    """

    def __init__(
        self,
        network: NetworkCore,
        counts: Counter[str],
        *,
        compression: Compression = Compression.NONE,
        acks: int = ALL,
        idempotent: bool = True,
        purpose: str = GENERAL,
        transaction: TransactionId | None = None,
    ) -> None:
        self._network = network
        self._counts = counts
        self._transaction = transaction
        self._compression = compression
        self._acks = acks
        self._idempotent = idempotent
        self._purpose = purpose
        self._producer = NOBODY if transaction is None else transaction[1:]
        self._producer_lock = network.driver.lock()

    async def send(self, lane: Lane, deadline: float) -> Exchange | ClientError:
        """Send the first batch of a lane to its leader. Return what `deliver` may be given."""
        batch, where = lane.batches[0], f"partition {lane.topic}-{lane.partition}"
        try:
            producer = await self._producer_id() if self._idempotent else NOBODY
            now_ms, transaction = batch.records[0].timestamp_ms or 0, self._transaction
            transactional = transaction is not None
            data = lane.encode(batch, producer, self._compression, now_ms, transactional=transactional)
            ids = await self._network.topic_ids([lane.topic])
            if lane.topic not in ids:
                return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {lane.topic}")
            leader = await self._network.leader(ids[lane.topic], lane.partition)
            if leader is None:
                return Unreachable(f"{where} has no leader")
            left_ms = round((deadline - self._network.driver.now()) * 1000)
            timeout_ms = max(1, min(self._network.config.request_timeout_ms, left_ms))
            rows = [PartitionProduceData(lane.partition, data)]
            topic = TopicProduceData(lane.topic, ids[lane.topic], rows)
            request = ProduceRequest(transaction.name if transaction else None, self._acks, timeout_ms, [topic])
            self._counts["requests"] += 1
            return await self._network.submit(
                leader,
                request,
                purpose=self._purpose,
                timeout_ms=timeout_ms,
                min_version=_BATCHES,
                max_version=_ADDED_BEFORE if transaction else None,
            )
        except ClientError as error:
            return error
        except Exception as error:
            self._end(lane, batch, ClientError(f"{where}: {error!r}"))
            raise

    async def deliver(self, lane: Lane, deadline: float, sent: Exchange | ClientError | None = None) -> None:
        """Return when the first batch of a lane is written down, has failed, or is split.

        `sent`: it was sent already.
        """
        batch, where = lane.batches[0], f"partition {lane.topic}-{lane.partition}"
        tries = self._network.tries(max(0, round((deadline - self._network.driver.now()) * 1000)))
        while True:
            answer = await self._row(sent if sent is not None else await self.send(lane, deadline), where)
            if isinstance(answer, ClientError):
                error = answer
            elif answer.error_code in _WRITTEN:
                lane.batches.popleft()
                batch.appended(answer.base_offset, answer.log_append_time_ms)
                return
            elif answer.error_code == ErrorCode.MESSAGE_TOO_LARGE and len(batch.records) > 1:
                lane.split(batch)
                return
            else:
                said = next((each.batch_index_error_message for each in answer.record_errors), None)
                error = BrokerError(answer.error_code, where, answer.error_message or said)
            try:
                if not is_transient(error):
                    raise error
                await self._network.wait(tries, error)
            except ClientError:
                self._end(lane, batch, error)
                return
            self._counts["retries"] += 1
            try:
                await self._network.refresh([lane.topic], timeout_ms=tries.left_ms)
                sent = None
            except ClientError as failure:
                sent = failure if isinstance(failure, Unreachable) else None

    async def _row(self, sent: Exchange | ClientError, where: str) -> PartitionProduceResponse | ClientError:
        if isinstance(sent, ClientError):
            return sent
        try:
            answer = await sent.answer()
            assert isinstance(answer, ProduceResponse)
            with understood(f"an answer to Produce of {where}"):
                return answer.responses[0].partition_responses[0]
        except ClientError as error:
            return error

    def _end(self, lane: Lane, batch: Batch, error: ClientError) -> None:
        """Fail a batch. Whether it is in the log may not be known: its sequences must not be used again."""
        lane.batches.popleft()
        if self._transaction is None and batch.producer[0] >= 0 and batch.producer == self._producer:
            self._producer = NOBODY
        batch.failed(error)

    async def _producer_id(self) -> tuple[int, int]:
        async with self._producer_lock:
            if self._producer[0] < 0:
                answer = await self._network.request(None, InitProducerIdRequest(None, NO_TRANSACTION_MS))
                assert isinstance(answer, InitProducerIdResponse)
                if answer.error_code:
                    raise BrokerError(answer.error_code, "InitProducerId")
                self._producer = answer.producer_id, answer.producer_epoch
            return self._producer
