"""The admission of a producer's writes to partitions as part of its transaction (KIP-890).

Older producers have added the partitions to the transaction before, which is verified here; for producers of
transaction version 2, the partitions are added here. The coordinator is not asked again while the partition's log
has the transaction open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.environment import Clock
from shareq.broker.foundation.loop.coroutines import Begin, sleep
from shareq.broker.transactions.coordinator import TransactionCoordinatorService
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import HEADER_SIZE, NO_PRODUCER_ID, TRANSACTIONAL, attributes_of, producer_of

# add.partitions.to.txn.retry.backoff.ms and ...backoff.max.ms by default: markers that are just being written.
_RETRY_MS: Final = 20
_RETRY_FOR_MS: Final = 100

_CLIENT_VERSION: Final = 2

_AS_LOG: Final = {ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH}
"""The errors that a log returns in place of the coordinator's."""

Refusals = Mapping[TopicPartition, ErrorCode]
"""The partitions that may not be written to, with their errors.

INVALID_PRODUCER_EPOCH stands for every fenced producer.
"""


@dataclass(frozen=True, slots=True)
class Writer:
    """A producer, its transactional id, and True if the broker adds partitions for it."""

    transactional_id: str
    producer: ProducerEpoch
    adds: bool


def transactional_producer(records: bytes | memoryview | None) -> tuple[ProducerEpoch, int] | None:
    """Return the producer of a transactional batch, and the batch's first sequence; None for any other batch.

    The batch is not checked.
    """
    if records is None or len(records) < HEADER_SIZE or not attributes_of(records) & TRANSACTIONAL:
        return None
    producer_id, epoch, sequence = producer_of(records)
    return None if producer_id == NO_PRODUCER_ID else (ProducerEpoch(producer_id, epoch), sequence)


class TransactionAdmission:
    """The admission of transactional writes, which asks the transaction coordinator for facts that are not in the
    logs.

    `verifies` returns the present `transaction.partition.verification.enable`; `begin` is for callers that wait for
    a `Pending`.
    """

    def __init__(
        self, coordinator: TransactionCoordinatorService, clock: Clock, begin: Begin, verifies: Callable[[], bool]
    ) -> None:
        self._coordinator = coordinator
        self._clock = clock
        self.begin: Final = begin
        self._verifies = verifies

    async def admit(self, writer: Writer, logs: Mapping[TopicPartition, TransactionLog]) -> Refusals:
        """Return the refusals, without waiting if the logs have the facts.

        Errors: INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE
        (not part of the transaction), NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
        """
        give_up_at_ms = self._clock.now_ms() + _RETRY_FOR_MS
        while True:
            refused: dict[TopicPartition, ErrorCode] = {}
            unknown: list[TopicPartition] = []
            for at, log in logs.items():
                known = log.producers.get(writer.producer.producer_id)
                if known is not None and writer.producer.epoch < known.epoch:
                    refused[at] = ErrorCode.INVALID_PRODUCER_EPOCH
                elif not log.producers.is_open(*writer.producer):
                    unknown.append(at)
            errors = await self._ask(writer, unknown) if unknown else {}
            concurrent = any(error is ErrorCode.CONCURRENT_TRANSACTIONS for error in errors.values())
            if not (writer.adds and concurrent and self._clock.now_ms() < give_up_at_ms):
                refused.update({at: _AS_LOG.get(error, error) for at, error in errors.items() if error})
                return refused
            await sleep(self._clock, _RETRY_MS)

    async def _ask(self, writer: Writer, partitions: list[TopicPartition]) -> Mapping[TopicPartition, ErrorCode]:
        identity = (writer.transactional_id, *writer.producer)
        if writer.adds:
            error = await self._coordinator.add_partitions(*identity, partitions, _CLIENT_VERSION)
            return dict.fromkeys(partitions, error)
        return await self._coordinator.verify_partitions(*identity, partitions) if self._verifies() else {}
