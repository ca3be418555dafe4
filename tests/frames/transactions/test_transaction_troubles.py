"""Transactions over frames: fencing, timeouts, crashes in every phase, markers that cannot be written."""

from __future__ import annotations

import pytest

from devtools.clients.offsets_client import Row
from devtools.clients.transactor import JAVA_TV1, Transactor, Versions
from shareq.broker.transactions.markers import RETRY_MS
from shareq.coordinator.routing import group_partition_for
from shareq.coordinator.transaction.metadata import TransactionState
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.end_txn import EndTxnRequest
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from shareq.protocol.records.control import ControlType
from tests.support.fakes.broken_disk import broken, second_write_broken
from tests.support.worlds.transactions import ABORT_INTERVAL_MS, PROFILES, World

NONE = ErrorCode.NONE
ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


# -- fencing an open transaction, and timeouts


@pytest.mark.parametrize("versions", PROFILES)
def test_initializing_aborts_what_is_under_way(versions: Versions, world: World) -> None:
    first = world.producer(versions)
    assert first.write("a", b"x") is NONE
    second = Transactor(world.client, versions)
    assert second.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert world.markers() == [ABORT]
    assert [second.init(), second.epoch] == [NONE, 2]
    assert first.produce("a", b"y") is ErrorCode.INVALID_PRODUCER_EPOCH
    assert second.write("a", b"z") is NONE
    assert second.commit() is NONE
    assert world.markers() == [ABORT, COMMIT]


@pytest.mark.parametrize("versions", PROFILES)
def test_a_transaction_past_its_timeout_is_aborted(versions: Versions, world: World) -> None:
    producer = Transactor(world.client, versions)
    assert producer.init(timeout_ms=25_000) is NONE
    world.world.clock.advance(7 * ABORT_INTERVAL_MS)
    assert producer.write("a", b"x") is NONE
    world.world.clock.advance(25_000)
    assert world.markers() == []
    world.world.clock.advance(ABORT_INTERVAL_MS)
    assert world.markers() == [ABORT]
    assert world.stable()
    assert producer.produce("a", b"y") is ErrorCode.INVALID_PRODUCER_EPOCH


def test_timeouts_are_looked_after_again_after_a_restart(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    world.restart()
    assert not world.stable()
    world.world.clock.advance(60_000 + 2 * ABORT_INTERVAL_MS)
    assert world.markers() == [ABORT]


def test_ids_that_nobody_uses_are_forgotten() -> None:
    world = World({"transactional.id.expiration.ms": "3600000"})
    producer = world.producer()
    world.world.clock.advance(3 * 3_600_000)
    assert producer.abort() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    world.restart()
    producer.client = world.client
    assert producer.abort() is ErrorCode.INVALID_PRODUCER_ID_MAPPING


# -- crashes and disks


def test_an_open_transaction_outlives_a_crash(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    world.crash()
    producer.client = world.client
    assert producer.write("a", b"y") is NONE
    assert producer.commit() is NONE
    assert (world.markers(), world.world.folder.logs.get("a", 0).log_end_offset) == ([COMMIT], 3)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("ticks", range(8))
def test_a_crash_at_every_step_of_the_end(commit: bool, ticks: int, world: World, producer: Transactor) -> None:
    """No effect shows before the decision is in the log; from then on every partition gets one marker, once."""
    for topic, partition in (("a", 0), ("a", 1), ("b", 0)):
        assert producer.write(topic, b"x", partition=partition) is NONE
    assert producer.commit_offsets("g", {("a", 0): 1}) == [NONE]
    world.client.send(end_request(producer, commit=commit), 5)
    for _ in range(ticks):
        world.world.clock.run_tick()
    world.crash()
    world.world.clock.run_until_idle()
    marks = [world.markers(*at) for at in (("a", 0), ("a", 1), ("b", 0))]
    in_offsets = world.markers(CONSUMER_OFFSETS, group_partition_for("g", 50))
    assert [*marks, in_offsets] in ([[]] * 4, [[COMMIT if commit else ABORT]] * 4)
    if marks[0]:
        assert world.state() is (TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT)
        found = Row(1) if commit else Row(-1)
        assert world.offsets().fetch([("a", 0)], stable=True) == (NONE, {("a", 0): found})
    else:
        assert world.state() is TransactionState.ONGOING


def test_a_marker_that_cannot_be_written_is_tried_again(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    producer.write("b", b"x")
    world.world.fs.fail = broken("/b-0/")
    assert producer.commit() is NONE, "it is decided"
    assert (world.markers("a"), world.markers("b")) == ([COMMIT], [])
    assert world.state() is TransactionState.PREPARE_COMMIT
    assert Transactor(world.client, JAVA_TV1).add("a", 0) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert Transactor(world.client).init() is ErrorCode.CONCURRENT_TRANSACTIONS
    world.world.clock.advance(3 * RETRY_MS)
    assert world.markers("b") == []
    world.world.fs.fail = None
    world.world.clock.advance(RETRY_MS)
    assert (world.markers("a"), world.markers("b")) == ([COMMIT], [COMMIT])
    assert producer.write("a", b"y") is NONE


def test_a_batch_waits_a_little_for_markers_that_are_being_written(world: World, producer: Transactor) -> None:
    """Apache Kafka's leader does so, too, so that a producer need not send it again."""
    producer.write("a", b"x")
    producer.write("b", b"x")
    world.world.fs.fail = broken("/b-0/")
    world.world.clock.advance(1)
    assert producer.commit() is NONE
    world.world.fs.fail = None
    world.world.clock.advance(RETRY_MS - 50)
    world.client.send(producer.produce_request("a", b"y"), 12)
    world.world.clock.advance(100)
    answer = world.client.receive(ProduceResponse).responses[0].partition_responses[0]
    assert answer.error_code == NONE
    assert world.markers("b") == [COMMIT]


@pytest.mark.parametrize("versions", PROFILES)
def test_an_older_producer_has_to_try_again(versions: Versions, world: World) -> None:
    producer = world.producer(versions)
    producer.write("a", b"x")
    producer.write("b", b"x")
    world.world.fs.fail = broken("/b-0/")
    assert producer.commit() is NONE
    expected = ErrorCode.CONCURRENT_TRANSACTIONS if producer.bumps else ErrorCode.NOT_ENOUGH_REPLICAS
    world.client.send(producer.produce_request("a", b"y"), versions.produce)
    world.world.clock.advance(200)
    answer = world.client.receive(ProduceResponse).responses[0].partition_responses[0]
    assert answer.error_code == expected


def test_a_coordinator_that_cannot_write(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    world.world.fs.fail = broken(TRANSACTION_STATE)
    assert producer.commit() is ErrorCode.NOT_COORDINATOR
    assert producer.write("b", b"x") is ErrorCode.NOT_ENOUGH_REPLICAS
    assert (world.markers("a"), world.state()) == ([], TransactionState.ONGOING)
    world.world.fs.fail = None
    assert producer.write("b", b"x") is NONE
    assert producer.commit() is NONE


def test_an_end_that_cannot_be_noted_is_noted_later(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    world.world.fs.fail = second_write_broken(TRANSACTION_STATE)
    assert producer.commit() is NONE
    world.world.fs.fail = None
    assert (world.markers("a"), world.state()) == ([COMMIT], TransactionState.PREPARE_COMMIT)
    world.world.clock.advance(RETRY_MS)
    assert (world.markers("a"), world.state()) == ([COMMIT], TransactionState.COMPLETE_COMMIT)


def test_a_topic_that_is_gone_needs_no_marker(world: World, producer: Transactor) -> None:
    producer.write("a", b"x")
    producer.write("b", b"x")
    world.world.folder.metadata.delete_topics(["b"])
    assert producer.commit() is NONE
    assert (world.markers("a"), world.state()) == ([COMMIT], TransactionState.COMPLETE_COMMIT)


def end_request(producer: Transactor, *, commit: bool) -> EndTxnRequest:
    return EndTxnRequest(producer.transactional_id, producer.producer_id, producer.epoch, commit)
