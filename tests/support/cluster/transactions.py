"""Producer ids, and transactions as readers see them: InitProducerId, AddPartitionsToTxn, EndTxn.

Sources: TransactionCoordinator.handleInitProducerId, TransactionMetadata.prepareIncrementProducerEpoch, KIP-360,
KIP-890. Markers are written within the request that ends a transaction, so PrepareCommit is never visible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.records.batch import BatchHeader
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.cluster.broker import Led
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.coordinators import CoordinatorKind
from tests.support.cluster.rights import Operation, Resource

if TYPE_CHECKING:
    from tests.support.cluster.cluster import SimulatedCluster
    from tests.support.cluster.controller import LogKey

_LAST_EPOCH: Final = 2**15 - 2
_NO_ID: Final = -1
_FENCED_FROM: Final = 4  # InitProducerId: PRODUCER_FENCED
_FENCED_IN_ADD_FROM: Final = 2
_FENCED_IN_END_FROM: Final = 2
_BUMPS_FROM: Final = 5  # EndTxn of KIP-890
_ABORTABLE_FROM: Final = 11  # Produce
_ADDS_FROM: Final = 12  # Produce of KIP-890


@dataclass(slots=True)
class TransactionalId:
    """The persisted state of one transactional id. `before`: the epoch that its current one replaced."""

    producer_id: int
    epoch: int
    before: int = -1
    partitions: set[LogKey] = field(default_factory=set)
    updated_ms: int = 0


class Transactions:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        self._ids: dict[str, TransactionalId] = {}
        self._last_producer_id = 0

    def new_producer_id(self) -> int:
        self._last_producer_id += 1
        return self._last_producer_id - 1

    def of(self, transactional_id: str) -> TransactionalId | None:
        """Return the entry of a transactional id; an idle one expires."""
        found = self._ids.get(transactional_id)
        if found is None or found.partitions:
            return found
        idle_ms = self._cluster.env.clock.now_ms() - found.updated_ms
        if idle_ms < self._cluster.settings.transactional_id_expiration_ms:
            return found
        del self._ids[transactional_id]
        return None

    def begin(self, transactional_id: str, request: InitProducerIdRequest) -> TransactionalId | ErrorCode:
        """Return the id with its next epoch. Errors: PRODUCER_FENCED, CONCURRENT_TRANSACTIONS while one is open."""
        now_ms, known = self._cluster.env.clock.now_ms(), self.of(transactional_id)
        if known is None:
            known = self._ids[transactional_id] = TransactionalId(self.new_producer_id(), 0, updated_ms=now_ms)
            return known
        expected = request.producer_epoch if request.producer_id != _NO_ID else None
        if expected is not None and request.producer_id != known.producer_id:
            return ErrorCode.PRODUCER_FENCED
        if known.partitions:
            if expected not in (None, known.epoch):
                return ErrorCode.PRODUCER_FENCED
            known.epoch += 1  # fences the producer that began it
            self.end(known, commit=False)
            return ErrorCode.CONCURRENT_TRANSACTIONS
        return self._next_epoch(known, expected, now_ms)

    def _next_epoch(self, known: TransactionalId, expected: int | None, now_ms: int) -> TransactionalId | ErrorCode:
        if known.epoch >= _LAST_EPOCH:
            known.producer_id, known.epoch, known.before = self.new_producer_id(), 0, -1
        elif expected is None:
            known.epoch, known.before = known.epoch + 1, -1
        elif expected == known.epoch:
            known.epoch, known.before = known.epoch + 1, known.epoch
        elif expected != known.before:
            return ErrorCode.PRODUCER_FENCED
        known.updated_ms = now_ms
        return known

    def end(self, known: TransactionalId, *, commit: bool) -> None:
        cluster, partitions = self._cluster, sorted(known.partitions)
        known.partitions = set()
        known.updated_ms = cluster.env.clock.now_ms()
        marker = build_end_transaction_marker(
            commit=commit,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
            coordinator_epoch=0,
            timestamp_ms=cluster.env.clock.wall_ms(),
        )
        for key in partitions:
            state = cluster.controller.state(key)
            if state is not None:
                cluster.controller.logs[key].append(marker, state.epoch)
                cluster.replication.go_on(key)

    def refuses(self, call: Call, led: Led, header: BatchHeader) -> ErrorCode:
        """Return the error of a transactional batch whose partition is not in its producer's transaction.

        From Produce v12 on the batch itself adds the partition (KIP-890).
        """
        producer = led.log.producers.known.get(header.producer_id)
        verified = producer is not None and producer.open_from is not None and producer.epoch == header.producer_epoch
        if not header.is_transactional or verified:
            return ErrorCode.NONE
        known = next((each for each in self._ids.values() if each.producer_id == header.producer_id), None)
        if known is None:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if known.epoch != header.producer_epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if call.version >= _ADDS_FROM and self._cluster.settings.release.transactions_v2:
            known.partitions.add(led.key)
        if led.key in known.partitions:
            return ErrorCode.NONE
        return ErrorCode.TRANSACTION_ABORTABLE if call.version >= _ABORTABLE_FROM else ErrorCode.INVALID_TXN_STATE


def init_producer_id(call: Call, request: InitProducerIdRequest) -> Answer:
    cluster, name = call.broker.cluster, request.transactional_id
    if name is None:
        return InitProducerIdResponse(producer_id=cluster.transactions.new_producer_id(), producer_epoch=0)
    given = _begin(call, name, request)
    if isinstance(given, ErrorCode):
        if given is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_FROM:
            given = ErrorCode.INVALID_PRODUCER_EPOCH
        return InitProducerIdResponse(error_code=given, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=given.producer_id, producer_epoch=given.epoch)


def _begin(call: Call, name: str, request: InitProducerIdRequest) -> TransactionalId | ErrorCode:
    cluster = call.broker.cluster
    if error := cluster.rights.error(Resource.TRANSACTIONAL_ID, name, Operation.WRITE):
        return error
    if not name or (request.producer_id == _NO_ID) != (request.producer_epoch == _NO_ID):
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.transaction_timeout_ms <= cluster.settings.transaction_max_timeout_ms:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    led = cluster.coordinators.led(call.broker, CoordinatorKind.TRANSACTION, name)
    if isinstance(led, ErrorCode):
        return led
    return cluster.transactions.begin(name, request)


def _known(call: Call, name: str, producer_id: int, epoch: int) -> TransactionalId | ErrorCode:
    cluster = call.broker.cluster
    if error := cluster.rights.error(Resource.TRANSACTIONAL_ID, name, Operation.WRITE):
        return error
    led = cluster.coordinators.led(call.broker, CoordinatorKind.TRANSACTION, name)
    if isinstance(led, ErrorCode):
        return led
    known = cluster.transactions.of(name)
    if known is None or known.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return known if known.epoch == epoch else ErrorCode.PRODUCER_FENCED


def add_partitions_to_txn(call: Call, request: AddPartitionsToTxnRequest) -> Answer:
    """Add partitions to a transaction; clients use versions up to 3."""
    known = _known(
        call,
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
    )
    if known is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_IN_ADD_FROM:
        known = ErrorCode.INVALID_PRODUCER_EPOCH
    asked = [(topic.name, number) for topic in request.v3_and_below_topics for number in topic.partitions]
    unknown = {each for each in asked if not _exists(call, *each)}
    rows: list[AddPartitionsToTxnTopicResult] = []
    for topic in request.v3_and_below_topics:
        errors = [_add_error(known, (topic.name, number), unknown) for number in topic.partitions]
        pairs = zip(topic.partitions, errors, strict=True)
        rows.append(AddPartitionsToTxnTopicResult(topic.name, [AddPartitionsToTxnPartitionResult(*p) for p in pairs]))
    if isinstance(known, TransactionalId) and not unknown:
        topics = call.broker.image.topics
        known.partitions.update((topics[name].topic_id, number) for name, number in asked)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=rows)


def _exists(call: Call, name: str, partition: int) -> bool:
    topic = call.broker.topic(name)
    return topic is not None and 0 <= partition < len(topic.partitions)


def _add_error(
    known: TransactionalId | ErrorCode, partition: tuple[str, int], unknown: set[tuple[str, int]]
) -> ErrorCode:
    if unknown:
        in_it = partition in unknown
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if in_it else ErrorCode.OPERATION_NOT_ATTEMPTED
    return known if isinstance(known, ErrorCode) else ErrorCode.NONE


def end_txn(call: Call, request: EndTxnRequest) -> Answer:
    """Commit or abort; with KIP-890 each end returns the next epoch."""
    known = _known(call, request.transactional_id, request.producer_id, request.producer_epoch)
    if isinstance(known, ErrorCode):
        if known is ErrorCode.PRODUCER_FENCED and call.version < _FENCED_IN_END_FROM:
            known = ErrorCode.INVALID_PRODUCER_EPOCH
        return EndTxnResponse(error_code=known)
    if call.version >= _BUMPS_FROM:
        known.epoch += 1
    elif not known.partitions:
        return EndTxnResponse(error_code=ErrorCode.INVALID_TXN_STATE)
    call.broker.cluster.transactions.end(known, commit=request.committed)
    if call.version >= _BUMPS_FROM:
        return EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch)
    return EndTxnResponse()
