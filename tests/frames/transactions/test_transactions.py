"""Transactions over frames: every version of every RPC, producing, offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devtools.clients.offsets_client import Row
from devtools.clients.requests import fetch, fetch_request
from devtools.clients.transactor import JAVA_TV1, JAVA_TV2, Transactor, Versions
from shareq.broker.dispatch.table import HANDLERS
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from shareq.protocol.generated.offset_commit import OffsetCommitRequestPartition
from shareq.protocol.generated.produce import ProduceRequest, ProduceResponse
from shareq.protocol.records.control import ControlType
from tests.support.worlds.transactions import PROFILES, World

NONE = ErrorCode.NONE
ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


# -- the whole way


@pytest.mark.parametrize("versions", PROFILES)
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_over_several_partitions(versions: Versions, commit: bool, world: World) -> None:
    producer = world.producer(versions)
    for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
        assert producer.write(topic, b"x", b"y", partition=partition) is NONE
        assert producer.write(topic, b"z", partition=partition) is NONE
        assert not world.stable(topic, partition)
    assert producer.end(commit=commit) is NONE
    for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
        assert world.markers(topic, partition) == [COMMIT if commit else ABORT]
        assert world.stable(topic, partition), "the end is answered when the markers are there"
        reported = fetch(world.client, fetch_request(topic, partition=partition, isolation_level=1))
        assert reported.last_stable_offset == reported.high_watermark == 4
        assert len(reported.aborted_transactions or ()) == (0 if commit else 1)
    assert world.state() is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_in_every_version(version: int, world: World) -> None:
    producer = Transactor(world.client, replace(JAVA_TV2, init=version))
    assert [producer.init(), producer.epoch] == [NONE, 0]
    assert [producer.init(), producer.epoch] == [NONE, 1]
    if version < 3:
        return
    assert [producer.init(goes_on=True), producer.epoch] == [NONE, 2]
    producer.epoch = 1
    assert producer.init(goes_on=True) is NONE, "the same request again"
    producer.epoch = 0
    fenced = ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.init(goes_on=True) is fenced


@pytest.mark.parametrize("version", range(4))
def test_add_partitions_in_every_version(version: int, world: World) -> None:
    producer = world.producer(replace(JAVA_TV1, add=version))
    assert producer.add("a", 0, 1) == [NONE, NONE]
    assert producer.add("a", 0, 5) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    producer.epoch -= 1
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.add("a", 0) == [fenced]
    producer.producer_id += 1
    assert producer.add("a", 0) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]


@pytest.mark.parametrize("version", range(6))
def test_end_txn_in_every_version(version: int, world: World) -> None:
    producer = world.producer(replace(JAVA_TV1, end=version))
    assert producer.add("a", 0) == [NONE]
    assert producer.produce("a", b"x") is NONE
    assert producer.commit() is NONE
    assert producer.epoch == (1 if version >= 5 else 0)
    producer.epoch += 1
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.commit() is fenced


@pytest.mark.parametrize("version", range(5))
def test_add_offsets_in_every_version(version: int, world: World) -> None:
    producer = world.producer(replace(JAVA_TV1, add_offsets=version))
    assert producer.add_offsets("g") is NONE
    assert world.state() is TransactionState.ONGOING
    producer.epoch -= 1
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.add_offsets("g") is fenced


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_among_themselves_add_and_ask_about_partitions(version: int, world: World) -> None:
    """KIP-890: partitions of several transactions are added, or only verified."""
    producer = world.producer(JAVA_TV1)
    who = (producer.transactional_id, producer.producer_id, producer.epoch)

    def asked(*transactions: AddPartitionsToTxnTransaction) -> list[tuple[str, list[int]]]:
        request = AddPartitionsToTxnRequest(list(transactions))
        answer = world.client.call(request, version, AddPartitionsToTxnResponse)
        assert (answer.error_code, answer.results_by_topic_v3_and_below) == (NONE, [])
        return [
            (
                each.transactional_id,
                [row.partition_error_code for topic in each.topic_results for row in topic.results_by_partition],
            )
            for each in answer.results_by_transaction
        ]

    def transaction(*partitions: int, verify_only: bool, epoch: int = 0) -> AddPartitionsToTxnTransaction:
        topics = [AddPartitionsToTxnTopic("a", list(partitions))]
        return AddPartitionsToTxnTransaction(who[0], who[1], who[2] + epoch, verify_only, topics)

    assert asked(transaction(0, verify_only=True)) == [(who[0], [ErrorCode.TRANSACTION_ABORTABLE])]
    assert asked(transaction(0, verify_only=False)) == [(who[0], [NONE])]
    assert asked(transaction(0, 1, verify_only=True)) == [(who[0], [NONE, ErrorCode.TRANSACTION_ABORTABLE])]
    assert asked(transaction(0, 9, verify_only=False)) == [
        (who[0], [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
    ]
    assert asked(
        AddPartitionsToTxnTransaction("nobody", 77, 0, True, [AddPartitionsToTxnTopic("a", [0])]),
        transaction(0, verify_only=True, epoch=-1),
    ) == [("nobody", [ErrorCode.INVALID_PRODUCER_ID_MAPPING]), (who[0], [ErrorCode.PRODUCER_FENCED])]
    assert asked() == []
    assert producer.produce("a", b"x") is NONE
    assert producer.commit() is NONE


def test_what_is_not_served() -> None:
    """Two-phase commit (KIP-939) is refused; Apache Kafka 4.3.1 has not released it either."""
    assert HANDLERS[ApiKey.INIT_PRODUCER_ID].served.last == 5


# -- producing


@pytest.mark.parametrize("version", range(3, 13))
def test_a_batch_outside_the_transaction(version: int, world: World) -> None:
    """KIP-890: up to version 10 it is refused with INVALID_TXN_STATE; from 12 on it joins the transaction."""
    producer = world.producer(replace(JAVA_TV1, produce=version))
    error = producer.produce("a", b"x")
    if version >= 12:
        assert error is NONE
        assert world.state() is TransactionState.ONGOING
    else:
        assert error is (ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE)
        assert world.world.folder.logs.get("a", 0).log_end_offset == 0


def test_a_batch_after_the_end_of_its_transaction(world: World) -> None:
    """Verification keeps a late batch from opening the transaction again."""
    producer = world.producer(JAVA_TV1)
    producer.write("a", b"x")
    late = producer.produce_request("a", b"late")
    assert producer.commit() is NONE
    answer = world.client.call(late, 11, ProduceResponse).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.TRANSACTION_ABORTABLE
    assert world.stable()


def test_without_verification() -> None:
    world = World({"transaction.partition.verification.enable": "false"})
    assert world.producer(JAVA_TV1).produce("a", b"x") is NONE


@pytest.mark.parametrize("versions", PROFILES)
def test_a_fenced_producer(versions: Versions, world: World) -> None:
    zombie = world.producer(versions)
    assert zombie.write("b", b"x") is NONE
    assert zombie.commit() is NONE
    assert world.producer(versions).write("a", b"x") is NONE
    assert zombie.produce("a", b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.produce("b", b"zombie") is ErrorCode.INVALID_PRODUCER_EPOCH, "where the log does not know it yet"
    fenced = ErrorCode.PRODUCER_FENCED if versions.end >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert zombie.commit() is fenced


@pytest.mark.parametrize("versions", PROFILES)
def test_the_short_way_asks_again_when_the_transaction_has_ended(versions: Versions, world: World) -> None:
    """A transactional batch takes the fast path only while its log has the transaction open."""
    producer = world.producer(versions)
    for _ in range(3):
        assert producer.write("a", b"x") is NONE
    answers = [producer.produce("a", b"x") for _ in range(3)]
    assert answers == [NONE] * 3
    late = producer.produce_request("a", b"late")
    assert producer.commit() is NONE
    rows = world.client.call(late, versions.produce, ProduceResponse).responses[0].partition_responses
    refused = {
        10: ErrorCode.INVALID_TXN_STATE,
        11: ErrorCode.TRANSACTION_ABORTABLE,
        12: ErrorCode.INVALID_PRODUCER_EPOCH,
    }
    assert rows[0].error_code == refused[versions.produce]
    assert world.stable()
    assert producer.write("a", b"x") is NONE
    zombie = producer.produce_request("a", b"zombie")
    assert Transactor(world.client, versions).init() is ErrorCode.CONCURRENT_TRANSACTIONS
    rows = world.client.call(zombie, versions.produce, ProduceResponse).responses[0].partition_responses
    assert rows[0].error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_another_producers_transactional_id(world: World, producer: Transactor) -> None:
    world.producer(transactional_id="u")
    producer.transactional_id = "u"
    assert producer.produce("a", b"x") is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_topics_that_are_not_there_do_not_hold_up_the_others(world: World, producer: Transactor) -> None:
    request = producer.produce_request("a", b"x")
    request.topic_data += producer.produce_request("nowhere", b"x").topic_data
    codes = [row.partition_responses[0].error_code for row in world.client.call(request, 12, ProduceResponse).responses]
    assert codes == [NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_requests_behind_the_first_batch_wait_for_it(world: World, producer: Transactor) -> None:
    """The first batch has to add the partition to the transaction."""
    for value in (b"x", b"y", b"z"):
        world.client.send(producer.produce_request("a", value), 12)
        producer.sequences["a", 0] = producer.sequences.get(("a", 0), 0) + 1
    offsets = [world.client.receive(ProduceResponse).responses[0].partition_responses[0].base_offset for _ in range(3)]
    assert offsets == [0, 1, 2]


def test_acks_0_closes_the_connection(world: World) -> None:
    request: ProduceRequest = world.producer().produce_request("a", b"x")
    request.acks = 0
    world.client.send(request, 12)
    world.world.clock.run_until_idle()
    assert world.client.closed


# -- empty transactions


def test_ending_nothing(world: World) -> None:
    producer = world.producer(JAVA_TV2)
    assert producer.commit() is ErrorCode.INVALID_TXN_STATE
    assert [producer.abort(), producer.epoch] == [NONE, 1]
    assert [producer.abort(), producer.epoch] == [NONE, 2]
    producer = world.producer(JAVA_TV1)
    assert producer.abort() is ErrorCode.INVALID_TXN_STATE


def test_a_partition_without_records_gets_its_marker_all_the_same(world: World) -> None:
    """Apache Kafka writes the marker, too: the coordinator does not know of records."""
    producer = world.producer(JAVA_TV1)
    producer.add("a", 0)
    producer.commit()
    assert world.markers() == [COMMIT]


# -- offsets


@pytest.mark.parametrize("versions", PROFILES)
@pytest.mark.parametrize("commit", [True, False])
def test_offsets_count_when_the_transaction_is_committed(versions: Versions, commit: bool, world: World) -> None:
    offsets = world.offsets()
    offsets.committed({("a", 0): 1})
    producer = world.producer(versions)
    if not producer.bumps:
        assert producer.add_offsets("g") is NONE
    assert producer.commit_offsets("g", {("a", 0): 7, ("b", 0): 8, ("b", 3): 9}) == [
        NONE,
        NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    at = [("a", 0), ("b", 0)]
    assert offsets.fetch(at) == (NONE, {("a", 0): Row(1), ("b", 0): Row(-1)})
    unstable = Row(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert offsets.fetch(at, stable=True) == (NONE, {("a", 0): unstable, ("b", 0): unstable})
    world.crash()
    offsets = world.offsets()
    producer.client = world.client
    assert offsets.fetch(at, stable=True) == (NONE, {("a", 0): unstable, ("b", 0): unstable})
    assert producer.end(commit=commit) is NONE
    for _ in range(2):
        found = {("a", 0): Row(7), ("b", 0): Row(8)} if commit else {("a", 0): Row(1), ("b", 0): Row(-1)}
        assert offsets.fetch(at, stable=True) == (NONE, found)
        world.crash()
        offsets = world.offsets()


@pytest.mark.parametrize("version", range(6))
def test_offsets_outside_the_transaction_in_every_version(version: int, world: World) -> None:
    producer = world.producer(replace(JAVA_TV1, commit=version))
    (error,) = producer.commit_offsets("g", {("a", 0): 7})
    if version >= 5:
        assert error is NONE
    else:
        assert error is (ErrorCode.TRANSACTION_ABORTABLE if version == 4 else ErrorCode.INVALID_TXN_STATE)


@pytest.mark.parametrize("versions", PROFILES)
def test_offsets_of_a_fenced_producer(versions: Versions, world: World) -> None:
    zombie = world.producer(versions)
    world.producer(versions)
    assert zombie.commit_offsets("g", {("a", 0): 7}) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_many_offsets_in_one_request_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing 10,000 offsets with each other once stopped the broker for a minute."""

    def compared(one: object, other: object) -> bool:
        raise AssertionError(f"{one} == {other}")

    world = World()
    producer = world.producer()
    monkeypatch.setattr(OffsetCommitRequestPartition, "__eq__", compared)
    offsets = {("a", 0): 5, ("a", 1): 6, ("a", 7): 7}
    assert producer.commit_offsets("g", offsets) == [NONE, NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_offsets_of_a_member_that_is_none(producer: Transactor) -> None:
    assert producer.commit_offsets("g", {("a", 0): 7}, generation=3, member="m") == [ErrorCode.ILLEGAL_GENERATION]
    assert producer.commit_offsets("", {("a", 0): 7}) == [ErrorCode.INVALID_GROUP_ID]
