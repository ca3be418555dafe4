"""The share-partition leader's shell: its one timer, settings that change, sessions that end late."""

from __future__ import annotations

from random import Random

import pytest

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.partition_log import Origin
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.metadata.store import NewTopic
from shareq.broker.share.core.effects import StateBatch
from shareq.broker.share.core.partition import AckBatch
from shareq.broker.share.core.sessions import ListedPartition
from shareq.broker.share.fetch import ShareFetchParams, WantedPartition
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.topics.endpoint import Endpoint
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.records.batch import RecordData, build_batch
from shareq.protocol.share import FINAL_EPOCH, INITIAL_EPOCH, AcknowledgeType, AcquireMode, RecordState

LOCK_MS = 1_000


class Rig:
    """A broker with a topic of two partitions, one record in each, and a share group that starts at the beginning."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon)
        env = Environment(self.clock, Random(1), self.fs)
        config = BrokerConfig.load(
            {
                "log.dirs": "data",
                "share.coordinator.state.topic.num.partitions": "1",
                "group.share.min.record.lock.duration.ms": str(LOCK_MS),
                "group.share.record.lock.duration.ms": str(LOCK_MS),
            }
        )
        self.broker = Broker(env, config, MemoryMetaDb(), endpoints={"PLAINTEXT": Endpoint(1, "127.0.0.1", 9092)})
        self.broker.start()
        self.topic_id = self.broker.services.metadata.create_topic(NewTopic("t", 2)).topic_id
        assert self.broker.services.internal_topics.ensure(SHARE_GROUP_STATE).code is ErrorCode.NONE
        for partition in (0, 1):
            self.broker.services.share_states.initialize(self.key(partition), 0, 0)
            batch = build_batch([RecordData(None, b"v")], timestamp_ms=self.clock.wall_ms())
            log = self.broker.services.logs.get("t", partition)
            log.append(batch, origin=Origin.CLIENT, now_wall_ms=self.clock.wall_ms(), on_durable=None)
        self.clock.run_until_idle()

    def key(self, partition: int) -> SharePartitionKey:
        return SharePartitionKey("g", self.topic_id, partition)

    def fetch(self, member_id: str, partition: int) -> SharePartitionLeader:
        """Acquire the partition's record."""
        params = ShareFetchParams("g", member_id, AcquireMode.BATCH_OPTIMIZED, 100, 1, 1_000, 10, 10)
        fetch = self.broker.services.share.fetch(params, [WantedPartition(self.topic_id, partition, "t")])
        fetched = fetch.start()
        self.clock.run_until_idle()
        assert [len(each.acquired) for each in fetched.value] == [1]
        leader = self.broker.services.share.partitions.get(self.key(partition))
        assert leader is not None
        return leader

    def acknowledge(self, leader: SharePartitionLeader, member_id: str, kind: AcknowledgeType) -> None:
        self.broker.services.share.partitions.acknowledge(leader, member_id, [AckBatch(0, 0, [kind])])
        self.clock.run_until_idle()

    def limit(self, deliveries: int) -> None:
        name = ResourceName("group", "g")
        self.broker.services.metadata.alter_configs([PutConfig(name, "share.delivery.count.limit", str(deliveries))])


def state(leader: SharePartitionLeader) -> RecordState | None:
    """The record's; None when it is finished with."""
    ranges = leader.core.snapshot()
    return ranges[0].state if ranges else None


def test_lock_expires_in_time_although_another_partitions_was_renewed() -> None:
    """Simulation seed 20285: the timer went to the renewed lock's deadline, past one that was due earlier."""
    rig = Rig()
    renewed = rig.fetch("m1", 0)
    rig.clock.advance(500)
    other = rig.fetch("m2", 1)
    rig.clock.advance(400)
    rig.acknowledge(renewed, "m1", AcknowledgeType.RENEW)
    rig.clock.advance(600)
    assert state(renewed) is RecordState.ACQUIRED
    assert state(other) is RecordState.AVAILABLE


def test_lowered_delivery_limit_holds_for_a_lock_that_expires() -> None:
    """Group configs take effect at once, without a request in between."""
    rig = Rig()
    leader = rig.fetch("m1", 0)
    rig.acknowledge(leader, "m1", AcknowledgeType.RELEASE)
    rig.fetch("m1", 0)
    rig.limit(2)
    rig.clock.advance(LOCK_MS)
    assert state(leader) is None


def test_raised_delivery_limit_holds_for_a_session_that_ends() -> None:
    rig = Rig()
    rig.limit(2)
    leader = rig.fetch("m1", 0)
    rig.acknowledge(leader, "m1", AcknowledgeType.RELEASE)
    rig.fetch("m1", 0)
    rig.limit(3)
    rig.broker.services.share.partitions.release(rig.key(0), "m1")
    rig.clock.run_until_idle()
    assert state(leader) is RecordState.AVAILABLE


def test_session_that_ends_late_leaves_a_newer_one_of_the_member_alone() -> None:
    """The final request's state write outlives its connection, and the member is back already."""
    rig = Rig()
    service = rig.broker.services.share.session_ends
    listed = [ListedPartition(rig.topic_id, 0, "t")]
    service.sessions.open_or_update("g", "m1", INITIAL_EPOCH, listed, (), has_acks=False, connection_id=1)
    old = service.sessions.update("g", "m1", FINAL_EPOCH)
    assert not isinstance(old, ErrorCode)
    service.sessions.on_disconnect(1)
    service.sessions.open_or_update("g", "m1", INITIAL_EPOCH, listed, (), has_acks=False, connection_id=2)
    leader = rig.fetch("m1", 0)
    service.close(old)
    assert state(leader) is RecordState.ACQUIRED


def test_a_state_beyond_the_log_end_is_replaced_for_good() -> None:
    """A power loss took acknowledged records; others get their offsets. They must not count as acknowledged."""
    rig = Rig()
    rows = [StateBatch(0, 0, RecordState.AVAILABLE, 2), StateBatch(1, 9, RecordState.ACKNOWLEDGED, 1)]
    rig.broker.services.share_states.write(rig.key(0), 0, 0, 0, 9, rows)
    rig.clock.run_until_idle()
    leader = rig.fetch("m", 0)
    assert [row.last_offset for row in leader.core.snapshot()] == [0]
    state_of = rig.broker.services.share_states.read(rig.key(0), 0).value
    assert (state_of.start_offset, state_of.batches) == (0, ((0, 0, RecordState.AVAILABLE, 2),))


def test_a_stop_answers_the_fetches_that_wait() -> None:
    """The broker does not hold its end up for a long poll."""
    rig = Rig()
    rig.fetch("m", 0)
    params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 60_000, 1, 1_000, 10, 10)
    waiting = rig.broker.services.share.fetch(params, [WantedPartition(rig.topic_id, 0, "t")]).start()
    rig.clock.run_until_idle()
    assert not waiting.done
    rig.broker.stop_waiting()
    assert waiting.value == []


class DamagedRig(Rig):
    """Records 1 to 3 are in one batch that is damaged on disk; 0 and 4 can be read."""

    def __init__(self) -> None:
        super().__init__()
        self.produce(b"1", b"2", b"3")
        self.produce(b"4")
        path = "data/t-0/00000000000000000000.log"
        content = self.fs.content(path)
        content[content.index(b"2", 61 + 10 + 61)] ^= 1

    def produce(self, *values: bytes) -> None:
        log, now = self.broker.services.logs.get("t", 0), self.clock.wall_ms()
        batch = build_batch([RecordData(None, value) for value in values], timestamp_ms=now)
        log.append(batch, origin=Origin.CLIENT, now_wall_ms=now, on_durable=None)
        self.clock.run_until_idle()

    def outcome(self) -> ErrorCode | list[tuple[int, int]]:
        """Of one fetch: its error, or the ranges that were acquired (inclusive)."""
        params = ShareFetchParams("g", "m", AcquireMode.BATCH_OPTIMIZED, 100, 1, 10_000, 10, 10)
        fetched = self.broker.services.share.fetch(params, [WantedPartition(self.topic_id, 0, "t")]).start()
        self.clock.advance(200)
        errors = [each.error for each in fetched.value if each.error is not ErrorCode.NONE]
        return errors[0] if errors else [(first, last) for each in fetched.value for first, last, _ in each.acquired]


def test_records_that_cannot_be_read_are_skipped_at_the_delivery_limit(caplog: pytest.LogCaptureFixture) -> None:
    rig = DamagedRig()
    rig.limit(3)
    assert rig.outcome() == [(0, 0)]
    assert [rig.outcome() for _ in range(2)] == [ErrorCode.CORRUPT_MESSAGE] * 2
    assert rig.outcome() == [(4, 4)]
    assert "offsets 1 to 3 cannot be read, skipped after 3 attempts" in caplog.text


def test_acknowledging_around_records_that_cannot_be_read_moves_the_start_offset() -> None:
    rig = DamagedRig()
    rig.limit(2)
    assert [rig.outcome() for _ in range(3)] == [[(0, 0)], ErrorCode.CORRUPT_MESSAGE, [(4, 4)]]
    leader = rig.broker.services.share.partitions.get(rig.key(0))
    assert leader is not None
    rig.broker.services.share.partitions.acknowledge(leader, "m", [AckBatch(0, 0, [AcknowledgeType.ACCEPT])])
    rig.broker.services.share.partitions.acknowledge(leader, "m", [AckBatch(4, 4, [AcknowledgeType.ACCEPT])])
    rig.clock.run_until_idle()
    assert leader.core.start_offset == 5


def test_available_records_that_became_unreadable_are_skipped_too() -> None:
    """They had been delivered and released before the damage."""
    rig = DamagedRig()
    path = "data/t-0/00000000000000000000.log"
    content = rig.fs.content(path)
    rig.limit(2)
    assert rig.outcome() == [(0, 0)]
    leader = rig.broker.services.share.partitions.get(rig.key(0))
    assert leader is not None
    rig.acknowledge(leader, "m", AcknowledgeType.RELEASE)
    content[61 + 5] ^= 1  # the first batch is damaged now, as well
    assert rig.outcome() is ErrorCode.CORRUPT_MESSAGE
    assert rig.outcome() == [(4, 4)]
