"""A job's transactional producer, like a real one in transaction version 1 or 2, with checks of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from devtools.clients.requests import produce_request
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, LIBRDKAFKA, Versions
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from shareq.protocol.generated.end_txn import EndTxnRequest, EndTxnResponse
from shareq.protocol.generated.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from shareq.protocol.records.batch import RecordData, build_batch
from tests.simulation.jobs.scripts import Script
from tests.simulation.jobs.settings import TRANSACTIONS_MS
from tests.simulation.ledger import InvariantBroken
from tests.simulation.membership import LOG_FAILED
from tests.simulation.topics import Slot

if TYPE_CHECKING:
    from tests.simulation.world import World

NONE = ErrorCode.NONE
VERSIONS: Final = (LIBRDKAFKA, JAVA_TV1, JAVA_TV2, JAVA_TV2)

# Another process goes on under the transactional id, the transaction was aborted for its age, or the id is forgotten.
FENCED: Final = frozenset(
    (
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
    )
)
BUSY: Final = frozenset((ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS))
# What a commit is refused with by the group, not by the transaction.
NO_MEMBER: Final = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.REBALANCE_IN_PROGRESS,
    )
)


class Identity(NamedTuple):
    """The committing member: `epoch` is a generation or a member epoch. `classic`: it uses the classic protocol."""

    member_id: str
    epoch: int
    instance_id: str | None
    classic: bool = False


class JobProducer:
    """One process's producer. `life`: the number of the process among those of the transactional id; later processes
    fence it.
    """

    def __init__(self, world: World, transactional_id: str, life: int, versions: Versions) -> None:
        self._world = world
        self._connection = world.connect()
        self.transactional_id = transactional_id
        self.life = life
        self.versions = versions
        self.timeout_ms = world.rng.choice(TRANSACTIONS_MS)
        self.producer_id = self.epoch = -1
        self.ready = False
        self._sequences: dict[int, int] = {}

    @property
    def bumps(self) -> bool:
        return self.versions.end >= 5

    @property
    def is_fenced(self) -> bool:
        return self._world.jobs.initialized.get(self.transactional_id, 0) > self.life

    def on_broker_lost(self) -> None:
        self._connection = self._world.connect()
        self.ready = False

    def init(self) -> Script[None]:
        """Initialize until the id is ours, which ends earlier transactions."""
        request = InitProducerIdRequest(self.transactional_id, self.timeout_ms)
        if self.epoch >= 0 and self._world.rng.random() < 0.4:  # it goes on after an error (KIP-360)
            self._world.seen["producers that went on after an error"] += 1
            request.producer_id, request.producer_epoch = self.producer_id, self.epoch
        while True:
            response = yield self._world.call("init_producer_id", request, self.versions.init, self._connection)
            assert isinstance(response, InitProducerIdResponse)
            error = ErrorCode(response.error_code)
            self._note("init", error)
            if error is NONE:
                self._world.jobs.initialized[self.transactional_id] = self.life
                self._now(response.producer_id, response.producer_epoch, again=False)
                self.ready = True
                return
            self._judge("init", error, sound=False)
            if error in FENCED:
                request.producer_id = request.producer_epoch = -1
            yield None

    def write(self, slot: Slot, values: Sequence[bytes]) -> Script[ErrorCode]:
        if not self.bumps:
            error = yield from self._add(slot)
            if error is not NONE:
                return error
        return (yield from self.produce(slot, values))

    def _add(self, slot: Slot) -> Script[ErrorCode]:
        sound = self._is_sound()
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(slot.topic, [slot.partition])],
        )
        may_be = self._gone(slot)
        response = yield self._world.call("add_partitions_to_txn", request, self.versions.add, self._connection)
        assert isinstance(response, AddPartitionsToTxnResponse)
        row = response.results_by_topic_v3_and_below[0].results_by_partition[0]
        return self._judge("add", ErrorCode(row.partition_error_code), sound=sound, may_be=may_be | self._gone(slot))

    def produce(self, slot: Slot, values: Sequence[bytes]) -> Script[ErrorCode]:
        world, sound = self._world, self._is_sound()
        slot = world.topics.at(slot.topic, slot.partition) or slot
        may_be = self._gone(slot)
        sequence = self._sequences.get(slot.index, 0)
        batch = build_batch(
            [RecordData(None, value) for value in values],
            timestamp_ms=world.clock.wall_ms(),
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=True,
        )
        world.topics.records.sent.update(dict.fromkeys(values, slot.index))
        request = produce_request(
            bytes(batch),
            topic=slot.topic,
            partition=slot.partition,
            acks=-1,
            transactional_id=self.transactional_id,
        )
        response = yield world.call("produce", request, self.versions.produce, self._connection)
        assert isinstance(response, ProduceResponse)
        row = response.responses[0].partition_responses[0]
        may_be |= self._gone(slot)
        error = self._judge(f"write to {slot.index}", ErrorCode(row.error_code), sound=sound, may_be=may_be)
        if error is NONE and world.topics.is_live(slot.index):
            self._sequences[slot.index] = sequence + len(values)
            world.topics.records.on_produced(slot.index, row.base_offset, list(values))
        return error

    def commit_offsets(self, group_id: str, offsets: Mapping[Slot, int], who: Identity) -> Script[ErrorCode]:
        """Commit offsets in the transaction; older producers announce them first.

        Topics are known by name: a careful process first checks that they are still the topics that it has read.
        """
        if not self.bumps:
            sound = self._is_sound()
            add = AddOffsetsToTxnRequest(self.transactional_id, self.producer_id, self.epoch, group_id)
            added = yield self._world.call("add_offsets_to_txn", add, self.versions.add_offsets, self._connection)
            assert isinstance(added, AddOffsetsToTxnResponse)
            error = self._judge("add offsets", ErrorCode(added.error_code), sound=sound)
            if error is not NONE:
                return error
        may_be = self._gone(*offsets)
        if may_be and any(self._world.topics.at(slot.topic, slot.partition) for slot in offsets):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        sound = self._is_sound()
        response = yield self._world.call(
            "txn_offset_commit", self._offsets_request(group_id, offsets, who), self.versions.commit, self._connection
        )
        assert isinstance(response, TxnOffsetCommitResponse)
        (found,) = {ErrorCode(row.error_code) for topic in response.topics for row in topic.partitions}
        may_be |= self._gone(*offsets)
        return self._judge("commit offsets", found, sound=sound, may_be=NO_MEMBER | may_be)

    def _gone(self, *slots: Slot) -> frozenset[ErrorCode]:
        there = all(self._world.topics.is_live(slot.index) for slot in slots)
        return frozenset() if there else frozenset((ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,))

    def _offsets_request(self, group_id: str, offsets: Mapping[Slot, int], who: Identity) -> TxnOffsetCommitRequest:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for slot, offset in offsets.items():
            topics.setdefault(slot.topic, []).append(TxnOffsetCommitRequestPartition(slot.partition, offset))
        return TxnOffsetCommitRequest(
            self.transactional_id,
            group_id,
            self.producer_id,
            self.epoch,
            who.epoch,
            who.member_id,
            who.instance_id,
            [TxnOffsetCommitRequestTopic(topic, partitions=rows) for topic, rows in topics.items()],
        )

    def end(self, *, commit: bool) -> Script[ErrorCode]:
        """Send EndTxn once; in transaction version 2 the answer has the next epoch."""
        sound = self._world.jobs.is_ongoing(self.transactional_id, self.producer_id, self.epoch)
        request = EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit)
        response = yield self._world.call("end_txn", request, self.versions.end, self._connection)
        assert isinstance(response, EndTxnResponse)
        error = ErrorCode(response.error_code)
        if error is NONE and self.bumps and not self.is_fenced:
            self._now(response.producer_id, response.producer_epoch, again=True)
        return self._judge("commit" if commit else "abort", error, sound=sound)

    # -- what must come of it

    def _now(self, producer_id: int, epoch: int, *, again: bool) -> None:
        """Check that epochs of a producer id never go back, and none is given out twice."""
        epochs = self._world.jobs.epochs
        known = epochs.get(producer_id, -1)
        if epoch < known or (epoch == known and not again):
            raise InvariantBroken(
                f"{self.transactional_id}: producer {producer_id} is given epoch {epoch} after {known}"
            )
        self._world.seen["producer ids that were used up"] += again and producer_id != self.producer_id
        if (producer_id, epoch) != (self.producer_id, self.epoch):
            self._sequences.clear()
        epochs[producer_id] = epoch
        self.producer_id, self.epoch = producer_id, epoch

    def _is_sound(self) -> bool:
        """Return whether the coordinator's state would accept the producer now."""
        transaction = self._world.jobs.transaction(self.transactional_id)
        if transaction is None or transaction.is_preparing:
            return False
        return (transaction.producer_id, transaction.producer_epoch) == (self.producer_id, self.epoch)

    def _judge(
        self, what: str, error: ErrorCode, *, sound: bool, may_be: frozenset[ErrorCode] = frozenset()
    ) -> ErrorCode:
        world = self._world
        if what != "init":
            self._note(what, error)
        if error is NONE or error in may_be or (error in LOG_FAILED | BUSY and world.faults.happened):
            return error
        if not self.is_fenced:
            forgotten = error is ErrorCode.INVALID_PRODUCER_ID_MAPPING
            world.seen["transactional ids that were forgotten"] += forgotten
            world.seen["producers fenced for their age"] += error in FENCED and not forgotten
        if error not in FENCED | BUSY:
            raise InvariantBroken(f"{self.transactional_id}: {what} was answered {error.name}")
        if sound and self._is_sound():
            raise InvariantBroken(f"{self.transactional_id}: {what} was sound, and answered {error.name}")
        return error

    def _note(self, what: str, error: ErrorCode) -> None:
        self._world.note(f"{self.transactional_id} ({self.producer_id}/{self.epoch}) {what}: {error.name}")
