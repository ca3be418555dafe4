"""The admission of a Produce request's transactional batches, decided before any append."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.broker.security.rights import WRITE_TOPIC, WRITE_TRANSACTION, Right
from shareq.broker.topics.lookup import PRODUCE_IDS_FROM, PartitionLookup
from shareq.broker.transactions.admission import TransactionAdmission, Writer, transactional_producer
from shareq.broker.transactions.ports import TransactionLog
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceRequest

ABORTABLE_FROM: Final = 11
ADDS_FROM: Final = 12

# Producers cannot handle these errors here; this one makes them try again without a metadata request.
_TRY_AGAIN: Final = frozenset((ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE))


ProduceRefusals = Mapping[tuple[str, int], ErrorCode]
"""Errors of batches, by topic and partition."""


class Rights(Protocol):
    """A check of the client's right on a named resource."""

    def __call__(self, right: Right, name: str) -> bool: ...


class _Batches:
    """The transactional batches of one request, by partition, with their first sequences."""

    def __init__(self) -> None:
        self.producers: set[ProducerEpoch] = set()
        self.logs: dict[TopicPartition, TransactionLog] = {}
        self.sequences: dict[TopicPartition, int] = {}


def admit_batches(
    admission: TransactionAdmission,
    lookup: PartitionLookup[TransactionLog],
    may: Rights,
    version: int,
    request: ProduceRequest,
) -> Pending[ProduceRefusals] | ErrorCode:
    """Return the errors of transactional batches, or an error of the whole request.

    Errors of the request: TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_PRODUCER_ID_MAPPING (more than one
    producer). Partitions that do not exist are refused by the append.
    """
    batches = _transactional_batches(lookup, may, version, request)
    if not batches.producers:  # too short to be batches, or without a producer id: the append refuses them
        return completed({})
    transactional_id = request.transactional_id
    if transactional_id is None or not may(WRITE_TRANSACTION, transactional_id):
        return WRITE_TRANSACTION.error
    if len(batches.producers) > 1:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    (producer,) = batches.producers
    gaps = _gaps(batches, producer) if version >= ADDS_FROM else {}

    async def refusals() -> ProduceRefusals:
        refused = await admission.admit(Writer(transactional_id, producer, version >= ADDS_FROM), batches.logs)
        return {at: _client_error(version, error) for at, error in {**gaps, **refused}.items()}

    return admission.begin(refusals())


def _transactional_batches(
    lookup: PartitionLookup[TransactionLog], may: Rights, version: int, request: ProduceRequest
) -> _Batches:
    batches = _Batches()
    for topic in request.topic_data:
        for data in topic.partition_data:
            found = transactional_producer(data.records)
            if found is None:
                continue
            producer, sequence = found
            batches.producers.add(producer)
            name = topic.topic_id if version >= PRODUCE_IDS_FROM else topic.name
            log = lookup.log(name, data.index)
            if isinstance(log, ErrorCode) or log.topic in INTERNAL_TOPICS or not may(WRITE_TOPIC, log.topic):
                continue
            at = TopicPartition(log.topic, data.index)
            batches.logs[at], batches.sequences[at] = log, sequence
    return batches


def _gaps(batches: _Batches, producer: ProducerEpoch) -> dict[TopicPartition, ErrorCode]:
    """Return the errors of KIP-890: in a partition that does not know the producer, its first sequence must be 0."""
    return {
        at: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        for at, sequence in batches.sequences.items()
        if sequence != 0 and batches.logs[at].producers.get(producer.producer_id) is None
    }


def _client_error(version: int, error: ErrorCode) -> ErrorCode:
    if error in _TRY_AGAIN or (error is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_FROM):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if error is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_FROM:
        return ErrorCode.INVALID_TXN_STATE
    return error
