"""Whether a producer may write to partitions as part of its transaction (KIP-890).

Older producers have said before which partitions belong to it, and that is verified; those of transaction version 2
have not, and here the partitions become part of it. Neither is asked again while the partition's log has the
transaction open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.log.partition_log import PartitionLog
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import HEADER_SIZE, NO_PRODUCER_ID, TRANSACTIONAL

if TYPE_CHECKING:
    from shareq.broker.broker import Broker

# add.partitions.to.txn.retry.backoff.ms and ...backoff.max.ms by default: markers that are just being written.
_RETRY_MS: Final = 20
_RETRY_FOR_MS: Final = 100

_ATTRIBUTES_AT: Final = 22
_producer: Final = Struct(">qhi").unpack_from  # of a batch: producer id, epoch, first sequence
_PRODUCER_AT: Final = 43

_CLIENT_VERSION: Final = 2

Refusals = Mapping[TopicPartition, ErrorCode]
"""Those that may not be written to; INVALID_PRODUCER_EPOCH stands for every producer that was fenced."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A producer, its transactional id, and whether it leaves it to the broker to add partitions."""

    transactional_id: str
    producer: ProducerEpoch
    adds: bool


def transactional_producer(records: bytes | memoryview | None) -> tuple[ProducerEpoch, int] | None:
    """Who wrote a batch as part of a transaction, and its first sequence; None if nobody did. Nothing is checked."""
    if records is None or len(records) < HEADER_SIZE or not records[_ATTRIBUTES_AT] & TRANSACTIONAL:
        return None
    producer_id, epoch, sequence = _producer(records, _PRODUCER_AT)
    return None if producer_id == NO_PRODUCER_ID else (ProducerEpoch(producer_id, epoch), sequence)


def admit(broker: Broker, writer: Writer, logs: Mapping[TopicPartition, PartitionLog]) -> Pending[Refusals]:
    """The refusals; done at once when the logs know enough.

    INVALID_PRODUCER_EPOCH, INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE (not part of the
    transaction), NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
    """
    give_up_at_ms = broker.env.clock.now_ms() + _RETRY_FOR_MS
    answer: Pending[Refusals] = Pending()
    _attempt(broker, writer, logs, give_up_at_ms, answer)
    return answer


def _attempt(
    broker: Broker,
    writer: Writer,
    logs: Mapping[TopicPartition, PartitionLog],
    give_up_at_ms: int,
    answer: Pending[Refusals],
) -> None:
    refused: dict[TopicPartition, ErrorCode] = {}
    unknown: list[TopicPartition] = []
    for at, log in logs.items():
        known = log.producers.get(writer.producer.producer_id)
        if known is not None and writer.producer.epoch < known.epoch:
            refused[at] = ErrorCode.INVALID_PRODUCER_EPOCH
        elif not log.producers.is_open(*writer.producer):
            unknown.append(at)

    def decided(errors: Mapping[TopicPartition, ErrorCode]) -> None:
        clock = broker.env.clock
        concurrent = any(error is ErrorCode.CONCURRENT_TRANSACTIONS for error in errors.values())
        if writer.adds and concurrent and clock.now_ms() < give_up_at_ms:
            again = clock.now_ms() + _RETRY_MS
            clock.call_at(again, lambda: _attempt(broker, writer, logs, give_up_at_ms, answer))
            return
        fenced = {ErrorCode.PRODUCER_FENCED: ErrorCode.INVALID_PRODUCER_EPOCH}
        refused.update({at: fenced.get(error, error) for at, error in errors.items() if error})
        answer.complete(refused)

    _ask(broker, writer, unknown).on_complete(decided)


def _ask(broker: Broker, writer: Writer, partitions: list[TopicPartition]) -> Pending[dict[TopicPartition, ErrorCode]]:
    verifies = broker.configs.broker.transaction_partition_verification_enable
    if not partitions or not (writer.adds or verifies):
        return completed({})
    coordinator = broker.transaction_coordinator
    who = (writer.transactional_id, *writer.producer)
    if writer.adds:
        added = coordinator.add_partitions(*who, partitions, _CLIENT_VERSION)
        return added.then(lambda error: dict.fromkeys(partitions, error))
    return coordinator.verify_partitions(*who, partitions)
