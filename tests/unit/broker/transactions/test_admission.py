"""Admission of writes to a transaction, on fakes: records, offsets, and the short wait for markers."""

from __future__ import annotations

import pytest

from shareq.broker.coordinator_runtime.partition import ProducerEpoch
from shareq.broker.foundation.pending import Pending
from shareq.broker.security.rights import WRITE_TOPIC, WRITE_TRANSACTION, Right
from shareq.broker.transactions.admission import Refusals, Writer, transactional_producer
from shareq.broker.transactions.produce import ProduceRefusals, admit_batches
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TopicPartition
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from shareq.protocol.generated.offset_fetch import OffsetFetchRequestGroup
from shareq.protocol.generated.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from shareq.protocol.primitives import ZERO_UUID
from tests.support.fakes.transaction_rig import T0, T1, U0, TransactionRig
from tests.support.kafka.transactions import numbered

NONE = ErrorCode.NONE
OFFSETS = "__consumer_offsets"
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
GROUP = TopicPartition(OFFSETS, group_partition_for("g", 2))


class Rig(TransactionRig):
    def admit(self, producer: ProducerEpoch, *at: TopicPartition, adds: bool = True) -> Pending[Refusals]:
        logs = self.ports.logs
        writer = Writer("x", producer, adds)
        admission = self.transactions.admission
        return admission.begin(admission.admit(writer, {each: logs.get(*each) for each in at}))

    def ending(self, producer: ProducerEpoch) -> None:
        self.ports.logs.get("t", 0).refuse = ErrorCode.KAFKA_STORAGE_ERROR
        self.end(producer)
        self.ports.logs.get("t", 0).refuse = NONE
        assert self.state() == "PrepareCommit"


@pytest.fixture
def rig() -> Rig:
    return Rig()


# -- admission


def test_what_the_logs_know_is_not_asked_again(rig: Rig, producer: ProducerEpoch) -> None:
    rig.transactions.coordinator.partitions.resign()
    rig.ports.impossible_topics()
    assert rig.admit(producer, T0).value == {}
    assert rig.admit(producer).value == {}


@pytest.mark.parametrize("adds", [True, False])
def test_an_older_epoch_is_fenced_by_the_log_alone(adds: bool, rig: Rig, producer: ProducerEpoch) -> None:
    rig.ports.logs.get("u", 0).fill(b"v", producer_id=producer.producer_id, epoch=5)
    assert rig.admit(producer, T0, U0, adds=adds).value == {U0: ErrorCode.INVALID_PRODUCER_EPOCH}


def test_a_producer_of_version_2_has_its_partitions_added(rig: Rig, producer: ProducerEpoch) -> None:
    assert rig.ports.answer(rig.admit(producer, T0, T1, U0)) == {}
    described = rig.transactions.coordinator.describe("x").value
    assert {(topic.topic, *topic.partitions) for topic in described.topics} == {("t", 0, 1), ("u", 0)}


def test_an_older_producer_has_its_partitions_verified(rig: Rig, producer: ProducerEpoch) -> None:
    rig.begun(U0, name="y")
    assert rig.admit(producer, T0, T1, adds=False).value == {T1: ErrorCode.TRANSACTION_ABORTABLE}
    rig.verifies = False
    assert rig.admit(producer, T1, adds=False).value == {}
    assert not rig.admit(producer, T1).done, "who adds is asked whatever is verified"


def test_a_producer_fenced_by_the_coordinator_gets_the_error_of_a_log(rig: Rig, producer: ProducerEpoch) -> None:
    late = ProducerEpoch(producer.producer_id, 3)
    assert rig.admit(late, T1, U0).value == dict.fromkeys((T1, U0), ErrorCode.INVALID_PRODUCER_EPOCH)
    assert rig.admit(late, T1, adds=False).value == {T1: ErrorCode.INVALID_PRODUCER_EPOCH}
    stranger = ProducerEpoch(7, 0)
    assert rig.admit(stranger, T1).value == {T1: ErrorCode.INVALID_PRODUCER_ID_MAPPING}


def test_a_decision_that_cannot_be_written_refuses(rig: Rig, producer: ProducerEpoch) -> None:
    pending = rig.admit(producer, T1)
    rig.ports.logs.lose_all()
    assert pending.value == {T1: ErrorCode.NOT_COORDINATOR}


def test_markers_that_are_just_being_written_are_waited_for_every_20_ms(rig: Rig, producer: ProducerEpoch) -> None:
    rig.ending(producer)
    follows = ProducerEpoch(producer.producer_id, 1)
    began = rig.ports.clock.now_ms()
    pending = rig.admit(follows, T1)
    assert (pending.done, rig.ports.clock.next_timer_ms()) == (False, began + 20)
    rig.ports.clock.advance(20)
    assert (pending.done, rig.ports.clock.next_timer_ms()) == (False, began + 40)
    partition = rig.transactions.coordinator.partitions.get(group_partition_for("x", 2))
    rig.transactions.markers.carry_out(partition, partition.shard.unfinished()[0])
    rig.ports.logs.flush()
    assert rig.state() == "CompleteCommit"
    rig.ports.clock.advance(20)
    rig.ports.logs.flush()
    assert pending.value == {}


def test_markers_are_waited_for_100_ms_and_no_longer(rig: Rig) -> None:
    rig.ending(rig.begun(T0))
    pending = rig.admit(ProducerEpoch(100, 1), T1, U0)
    rig.ports.clock.advance(99)
    assert not pending.done
    rig.ports.clock.advance(1)
    assert pending.value == {T1: CONCURRENT, U0: CONCURRENT}


def test_an_older_producer_does_not_wait(rig: Rig) -> None:
    rig.ending(rig.begun(T0))
    assert rig.admit(ProducerEpoch(100, 1), T1, adds=False).value == {T1: CONCURRENT}


def test_what_a_log_fences_is_reported_beside_what_was_waited_for(rig: Rig) -> None:
    rig.ending(rig.begun(T0))
    rig.ports.logs.get("u", 0).fill(b"v", producer_id=100, epoch=9)
    pending = rig.admit(ProducerEpoch(100, 1), T1, U0)
    rig.ports.clock.advance(100)
    assert pending.value == {T1: CONCURRENT, U0: ErrorCode.INVALID_PRODUCER_EPOCH}


# -- whose batch


def batch(producer_id: int, epoch: int, sequence: int = 0, *, transactional: bool = True) -> bytes:
    return numbered(b"v", producer_id=producer_id, epoch=epoch, sequence=sequence, transactional=transactional)


def test_the_producer_of_a_batch() -> None:
    found = transactional_producer(batch(7, 3, 11))
    assert found == (ProducerEpoch(7, 3), 11)
    assert transactional_producer(memoryview(batch(7, 3, 11))) == found
    assert transactional_producer(batch(7, 3, transactional=False)) is None
    assert transactional_producer(batch(-1, -1, -1)) is None
    assert transactional_producer(None) is None
    assert transactional_producer(batch(7, 3)[:60]) is None
    assert transactional_producer(batch(7, 3)[:61]) == (ProducerEpoch(7, 3), 0)


# -- records


class ProduceRig(Rig):
    """A rig whose client lacks the permissions in `denied`: pairs of a right and a name."""

    def __init__(self) -> None:
        super().__init__()
        self.denied: set[tuple[Right, str]] = set()

    def produce(
        self, *batches: tuple[TopicPartition, bytes], version: int = 12, name: str | None = "x"
    ) -> Pending[ProduceRefusals] | ErrorCode:
        by_id = version >= 13
        topics = [
            TopicProduceData(
                "" if by_id else at.topic,
                self.id_of(at.topic) if by_id else ZERO_UUID,
                [PartitionProduceData(at.partition, records)],
            )
            for at, records in batches
        ]
        return admit_batches(
            self.transactions.admission,
            self.ports.logs.lookup(),
            lambda right, resource: (right, resource) not in self.denied,
            version,
            ProduceRequest(transactional_id=name, acks=-1, topic_data=topics),
        )

    def refusals(self, *batches: tuple[TopicPartition, bytes], version: int = 12) -> ProduceRefusals:
        pending = self.produce(*batches, version=version)
        assert isinstance(pending, Pending)
        self.ports.logs.flush()
        return pending.value


def test_batches_without_a_transaction_are_nobodys_concern() -> None:
    rig = ProduceRig()
    rig.denied = {(WRITE_TRANSACTION, "x")}
    pending = rig.produce((T0, batch(7, 0, transactional=False)), (T1, b"short"), name=None)
    assert isinstance(pending, Pending)
    assert pending.value == {}


@pytest.mark.parametrize("version", [12, 13])
def test_transactional_batches_are_admitted_by_name_and_by_id(version: int) -> None:
    rig = ProduceRig()
    producer = rig.begun(T0)
    assert rig.refusals((T1, batch(*producer)), (U0, batch(*producer)), version=version) == {}
    assert "u" in {topic.topic for topic in rig.transactions.coordinator.describe("x").value.topics}


@pytest.mark.parametrize("name", [None, "x"])
def test_the_right_on_the_transactional_id(name: str | None) -> None:
    rig = ProduceRig()
    rig.denied = {(WRITE_TRANSACTION, "x")}
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert rig.produce((T0, batch(7, 0)), name=name) is denied


def test_one_request_has_one_producer() -> None:
    rig = ProduceRig()
    producer = rig.begun(T0)
    assert rig.produce((T0, batch(*producer)), (T1, batch(producer.producer_id, 5))) is (
        ErrorCode.INVALID_PRODUCER_ID_MAPPING
    )


def test_what_the_append_refuses_does_not_become_part_of_the_transaction() -> None:
    """Missing partitions, internal topics, and topics without permission to write are left out."""
    rig = ProduceRig()
    rig.ports.topics.add(OFFSETS, 2)
    producer = rig.begun(T0)
    rig.denied = {(WRITE_TOPIC, "u")}
    elsewhere = (TopicPartition("t", 9), TopicPartition("nowhere", 0), TopicPartition(OFFSETS, 0), U0)
    refusals = rig.refusals(*((at, batch(*producer)) for at in elsewhere))
    assert refusals == {}
    (topic,) = rig.transactions.coordinator.describe("x").value.topics
    assert (topic.topic, topic.partitions) == ("t", [0])


def test_a_producer_of_version_2_begins_with_sequence_0_where_it_is_not_known() -> None:
    rig = ProduceRig()
    producer = rig.begun(T0)
    gap = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert rig.refusals((T0, batch(*producer, 5)), (T1, batch(*producer, 1)), (U0, batch(*producer, 0))) == {
        ("t", 1): gap
    }
    rig = ProduceRig()
    producer = rig.begun(T0)
    unknown = {("t", 1): ErrorCode.TRANSACTION_ABORTABLE}
    assert rig.refusals((T1, batch(*producer, 1)), version=11) == unknown, "older ones are only verified"


@pytest.mark.parametrize(
    ("version", "reported"), [(10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_errors_that_older_clients_do_not_know(version: int, reported: ErrorCode) -> None:
    rig = ProduceRig()
    producer = rig.begun(T0)
    assert rig.refusals((T1, batch(*producer)), version=version) == {("t", 1): reported}


@pytest.mark.parametrize(("version", "reported"), [(11, ErrorCode.NOT_ENOUGH_REPLICAS), (12, CONCURRENT)])
def test_markers_that_take_long(version: int, reported: ErrorCode) -> None:
    rig = ProduceRig()
    rig.ending(rig.begun(T0))
    pending = rig.produce((T1, batch(100, 1)), version=version)
    assert isinstance(pending, Pending)
    rig.ports.clock.advance(100)
    assert pending.value == {("t", 1): reported}


@pytest.mark.parametrize("unavailable", [False, True])
def test_a_coordinator_that_is_not_there_is_tried_again_without_asking_for_metadata(unavailable: bool) -> None:
    rig = ProduceRig()
    producer = ProducerEpoch(7, 0)
    if unavailable:
        rig.ports.impossible_topics()
    else:
        producer = rig.begun(T0)
    pending = rig.produce((T1, batch(*producer)))
    assert isinstance(pending, Pending)
    rig.ports.logs.lose_all()
    assert pending.value == {("t", 1): ErrorCode.NOT_ENOUGH_REPLICAS}


# -- offsets


def commit_request(rig: Rig, *topics: str, group: str = "g") -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        topics=[
            OffsetCommitRequestTopic(name, rig.id_of(name), [OffsetCommitRequestPartition(0, 5)]) for name in topics
        ],
    )


def committed(rig: Rig) -> dict[str, int]:
    answer = rig.fetch_begun(OffsetFetchRequestGroup("g", topics=None), 9).value
    return {topic.name: row.committed_offset for topic in answer.topics for row in topic.partitions}


def test_offsets_count_when_their_transaction_is_committed(rig: Rig) -> None:
    producer = rig.begun()
    pending = rig.commit_offsets(producer, commit_request(rig, "t"), 5)
    assert rig.ports.topics.created[-1] == OFFSETS
    assert rig.ports.answer(pending) == {"t": NONE}
    assert committed(rig) == {}
    assert rig.end(producer).error is NONE
    assert committed(rig) == {"t": 5}
    assert rig.ends(GROUP) == [("commit", 100, 1)]


def test_offsets_of_an_aborted_transaction_never_count(rig: Rig) -> None:
    producer = rig.begun()
    rig.ports.answer(rig.commit_offsets(producer, commit_request(rig, "t"), 5))
    rig.end(producer, commit=False)
    assert committed(rig) == {}


@pytest.mark.parametrize(
    ("version", "reported"), [(3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_an_older_producer_has_to_have_added_the_groups_partition(version: int, reported: ErrorCode) -> None:
    rig = Rig(OFFSETS)
    producer = rig.begun(T0)
    answer = rig.commit_offsets(producer, commit_request(rig, "t"), version).value
    assert answer == {"t": reported}
    added = rig.transactions.coordinator.add_partitions("x", *producer, [GROUP], 1)
    rig.ports.answer(added)
    pending = rig.commit_offsets(producer, commit_request(rig, "t", "u"), version)
    assert rig.ports.answer(pending) == {"t": NONE, "u": NONE}


def test_topics_that_go_before_it_can_be_done(rig: Rig) -> None:
    producer = rig.begun()
    pending = rig.commit_offsets(producer, commit_request(rig, "u", "t"), 5)
    rig.ports.topics.delete("u")
    rig.ports.logs.flush()
    assert pending.value == {"u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "t": NONE}
    assert rig.end(producer).error is NONE
    assert committed(rig) == {"t": 5}


def test_offsets_that_cannot_be_written() -> None:
    rig = Rig(OFFSETS)
    producer = rig.begun(GROUP)
    pending = rig.commit_offsets(producer, commit_request(rig, "t"), 5)
    rig.ports.logs.lose_all()
    assert pending.value == {"t": ErrorCode.NOT_COORDINATOR}


def test_each_partition_of_a_topic_is_looked_at_by_itself() -> None:
    """A batch that belongs to no transaction, or may not be appended, does not affect the other partitions."""
    rig = ProduceRig()
    producer = rig.begun(T0)
    parts = [
        PartitionProduceData(9, batch(*producer)),
        PartitionProduceData(0, b"short"),
        PartitionProduceData(1, batch(*producer, 1)),
    ]
    pending = admit_batches(
        rig.transactions.admission,
        rig.ports.logs.lookup(),
        lambda _right, _name: True,
        12,
        ProduceRequest(transactional_id="x", acks=-1, topic_data=[TopicProduceData("t", ZERO_UUID, parts)]),
    )
    assert isinstance(pending, Pending)
    rig.ports.logs.flush()
    assert pending.value == {("t", 1): ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}


def test_an_older_producer_may_begin_anywhere_where_it_is_not_known() -> None:
    rig = ProduceRig()
    producer = rig.begun(T0)
    rig.ports.answer(rig.transactions.coordinator.add_partitions("x", *producer, [T1], 1))
    assert rig.refusals((T1, batch(*producer, 1)), version=11) == {}
