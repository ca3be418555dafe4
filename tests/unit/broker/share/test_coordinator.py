"""The share coordinator on fakes: routing, durability, metadata changes, and persisting state for the leaders."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable

import pytest

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.batches import MAX_BATCH_BYTES, CoordinatorLogSettings
from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.broker.foundation.pending import Pending
from shareq.broker.share.coordinator import (
    MAX_STATE_BYTES,
    ShareCoordinatorService,
    share_coordinator_settings,
    share_state_log_settings,
)
from shareq.broker.share.core.effects import StateBatch, WriteState
from shareq.broker.share.persister import PersistedState
from shareq.coordinator.routing import share_partition_for
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.results import SummaryResult
from shareq.coordinator.share.shard import ShareCoordinatorSettings, ShareCoordinatorShard
from shareq.coordinator.share.state_batches import StateBatch as StoredBatch
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.records.compression import Compression
from shareq.protocol.share import RecordState
from tests.support.fakes.host import ELSEWHERE, FakeHost

STATES = "__share_group_state"
NONE = ErrorCode.NONE


class Rig:
    """A share coordinator with topic t of two partitions and a state topic of four."""

    def __init__(self, *, partitions: int = 4) -> None:
        self.ports = FakeHost(t=2, u=1, **{STATES: partitions} if partitions else {})
        self.service = self.make()

    def make(self) -> ShareCoordinatorService:
        return ShareCoordinatorService(self.ports.host, ShareCoordinatorSettings(), CoordinatorLogSettings())

    def key(self, partition: int = 0, topic: str = "t", group: str = "g") -> SharePartitionKey:
        image = self.ports.topics.topic(topic)
        assert image is not None
        return SharePartitionKey(group, image.topic_id, partition)

    def log_ends(self) -> list[int]:
        count = self.service.partitions.count
        return [self.ports.logs.get(STATES, number).log_end_offset for number in range(count)]

    def initialized(self, *keys: SharePartitionKey, start: int = 5) -> None:
        for key in keys or (self.key(),):
            assert self.ports.answer(self.service.initialize(key, 1, start)) == NO_ERROR

    def read(self, key: SharePartitionKey | None = None) -> PersistedState:
        return self.service.read_state(key or self.key(), 0).value


@pytest.fixture
def rig() -> Rig:
    return Rig()


def write(start: int, *batches: StateBatch, leader_epoch: int = 0, state_epoch: int = 1) -> WriteState:
    return WriteState(1, state_epoch, leader_epoch, start, 0, batches)


# -- settings


def test_settings_are_those_of_the_configuration() -> None:
    config = BrokerConfig.load(
        {
            "share.coordinator.snapshot.update.records.per.snapshot": "7",
            "share.coordinator.cold.partition.snapshot.interval.ms": "60000",
            "share.coordinator.state.topic.compression.codec": "1",
            "share.coordinator.load.buffer.size": "1234",
        }
    )
    assert share_coordinator_settings(config) == ShareCoordinatorSettings(7, 60_000, MAX_STATE_BYTES, MAX_BATCH_BYTES)
    assert share_state_log_settings(config) == CoordinatorLogSettings(Compression.GZIP, 1234, MAX_STATE_BYTES + 61)


# -- routing


def test_each_share_partition_has_its_partition_of_the_states_topic(rig: Rig) -> None:
    keys = [rig.key(partition, group=group) for partition in (0, 1) for group in "abcd"]
    rig.initialized(*keys)
    expected = [0, 0, 0, 0]
    for key in keys:
        expected[share_partition_for(key, 4)] += 1
    assert rig.log_ends() == expected
    rig.initialized(*keys)
    assert rig.log_ends() == [2 * count for count in expected], "and always the same"


UNAVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_without_the_states_topic_nothing_is_available_and_nothing_is_remembered() -> None:
    rig = Rig(partitions=0)
    service, key = rig.service, rig.key()
    refused = ApiError(UNAVAILABLE, text_of(UNAVAILABLE))
    assert service.initialize(key, 1, 0).value == refused
    assert service.initialize_once(key, 1, -1, never).value == refused
    assert service.write(key, 1, 0, 0, 0, ()).value == refused
    assert service.delete(key).value == refused
    read, summary = service.read(key, 0).value, service.read_summary(key).value
    assert (read.error, read.message) == (UNAVAILABLE, text_of(UNAVAILABLE))
    assert (summary.error, summary.message) == (UNAVAILABLE, text_of(UNAVAILABLE))
    assert service.read_state(key, 0).value.error is UNAVAILABLE
    assert service.write_state(key, write(0)).value is UNAVAILABLE
    rig.ports.topics.add(STATES, 4)
    rig.initialized(key)


def never(_keys: Iterable[SharePartitionKey]) -> None:
    raise AssertionError("nothing was replaced")


def test_what_another_broker_leads(rig: Rig) -> None:
    rig.initialized()
    at = share_partition_for(rig.key(), 4)
    rig.ports.leaders.move(STATES, at, ELSEWHERE)
    rig.service.leader_moved(STATES, at)
    code = ErrorCode.NOT_COORDINATOR
    assert rig.service.delete(rig.key()).value == ApiError(code, text_of(code))
    rig.ports.leaders.move(STATES, at, None)
    rig.service.leader_moved(STATES, at)
    assert rig.read().start_offset == 5


def test_news_of_other_topics_leaders_disturb_nothing(rig: Rig) -> None:
    pending = rig.service.initialize(rig.key(), 1, 0)
    rig.service.leader_moved("t", share_partition_for(rig.key(), 4))
    rig.service.leader_moved(STATES, (share_partition_for(rig.key(), 4) + 1) % 4)
    assert rig.ports.answer(pending) == NO_ERROR


# -- the operations


def test_a_write_is_answered_when_it_is_durable_and_read_then(rig: Rig) -> None:
    rig.initialized()
    batch = StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1)
    assert rig.ports.answer(rig.service.write_state(rig.key(), write(5, batch))) is NONE
    assert rig.read() == PersistedState(NONE, 1, 5, [batch])
    assert rig.ports.answer(rig.service.read_state(rig.key(), 3)).start_offset == 5
    assert rig.service.write_state(rig.key(), write(5, leader_epoch=2)).value is ErrorCode.FENCED_LEADER_EPOCH
    assert (
        rig.service.write_state(rig.key(), write(5, leader_epoch=3, state_epoch=0)).value
        is ErrorCode.FENCED_STATE_EPOCH
    )


def test_every_field_of_a_write_goes_to_its_place(rig: Rig) -> None:
    rig.initialized()
    rows = [StateBatch(8, 9, RecordState.ACKNOWLEDGED, 1)]
    rig.ports.answer(rig.service.write(rig.key(), 1, 0, 6, 2, rows))
    summary = rig.service.read_summary(rig.key()).value
    assert (summary.state_epoch, summary.start_offset, summary.delivery_complete_count) == (1, 6, 2)
    state = WriteState(9, 1, 0, 8, 4, (StateBatch(10, 11, 2, 1),))
    rig.ports.answer(rig.service.write_state(rig.key(), state))
    summary = rig.service.read_summary(rig.key()).value
    assert (summary.start_offset, summary.delivery_complete_count) == (8, 4)


def test_an_append_that_fails_is_reported_with_its_text(rig: Rig) -> None:
    rig.initialized()
    pending = rig.service.write(rig.key(), 1, 0, 6, 0, ())
    rig.ports.logs.lose_all()
    assert pending.value == ApiError(ErrorCode.NOT_COORDINATOR, text_of(ErrorCode.NOT_COORDINATOR))
    assert rig.read().start_offset == 5


def test_a_state_is_deleted(rig: Rig) -> None:
    rig.initialized()
    assert rig.ports.answer(rig.service.delete(rig.key())) == NO_ERROR
    assert rig.read().error is ErrorCode.INVALID_REQUEST
    assert rig.service.read_summary(rig.key()).value == SummaryResult()


def once(rig: Rig, epoch: int, *, again: bool = False) -> tuple[list[SharePartitionKey], Pending[ApiError]]:
    """Initialise and return the keys of the immediate notification, and the answer."""
    replaced: list[SharePartitionKey] = []
    pending = rig.service.initialize_once(rig.key(), epoch, -1, replaced.extend, again=again)
    return list(replaced), pending


def test_initializing_once_notifies_before_anything_else_and_only_if_it_did_something(rig: Rig) -> None:
    replaced, pending = once(rig, 3)
    assert (replaced, pending.done) == ([rig.key()], False)
    assert rig.ports.answer(pending) == NO_ERROR
    assert (rig.read().state_epoch, rig.read().start_offset) == (3, -1)
    replaced, pending = once(rig, 3)
    assert (replaced, pending.value) == ([], NO_ERROR)
    replaced, pending = once(rig, 4, again=True)
    assert (replaced, pending.value) == ([], NO_ERROR)
    replaced, pending = once(rig, 4)
    assert replaced == [rig.key()]
    rig.ports.answer(pending)
    assert rig.read().state_epoch == 4


def test_writes_are_timed_until_they_are_durable_or_refused(rig: Rig) -> None:
    rig.initialized()
    for wait_ms in (20, 40):
        pending = rig.service.write(rig.key(), 1, 0, 6, 0, ())
        rig.ports.clock.advance(wait_ms)
        rig.ports.answer(pending)
    assert (rig.service.writes.count, rig.service.writes.total_ns) == (2, 60_000_000)
    assert rig.service.longest_write.of(rig.ports.clock.now_ns()) == 40_000_000
    rig.service.write(rig.key(), 0, 0, 6, 0, ())
    assert rig.service.writes.count == 3


# -- replacing a state


def test_a_state_is_replaced_in_one_go(rig: Rig) -> None:
    rig.initialized()
    rows = [
        StateBatch(7, 8, RecordState.AVAILABLE, 2),
        StateBatch(9, 11, RecordState.ACKNOWLEDGED, 1),
        StateBatch(12, 12, RecordState.ARCHIVED, 3),
    ]
    pending = rig.service.replace_state(rig.key(), 1, 7, rows)
    assert rig.ports.answer(pending) is NONE
    assert rig.read() == PersistedState(NONE, 1, 7, rows)
    assert rig.service.read_summary(rig.key()).value.delivery_complete_count == 4
    assert rig.ports.answer(rig.service.replace_state(rig.key(), 2, 20, ())) is NONE
    assert rig.read() == PersistedState(NONE, 2, 20, [])


def test_a_replacement_that_is_refused_reports_the_first_error(rig: Rig) -> None:
    rig.initialized()
    row = StateBatch(7, 8, RecordState.ACKNOWLEDGED, 1)
    assert rig.service.replace_state(rig.key(), 0, 7, [row]).value is ErrorCode.FENCED_STATE_EPOCH
    assert rig.service.replace_state(rig.key(), 0, 7, ()).value is ErrorCode.FENCED_STATE_EPOCH
    pending = rig.service.replace_state(rig.key(), 1, 7, [StateBatch(8, 7, 2, 1)])
    rig.ports.logs.flush()
    assert pending.value is ErrorCode.INVALID_REQUEST


# -- start and news


def test_a_start_finds_the_states_and_forgets_those_of_topics_that_are_gone(rig: Rig) -> None:
    gone, kept = rig.key(0, "u"), rig.key()
    rig.initialized(gone, kept)
    rig.ports.topics.delete("u")
    again = rig.make()
    again.recover()
    rig.ports.logs.flush()
    states = [key for partition in again.partitions for key in partition.shard.share_partitions()]
    assert states == [kept]
    ends = rig.log_ends()
    again.recover()
    rig.ports.logs.flush()
    assert rig.log_ends() == ends, "and once"


def test_a_start_that_cannot_believe_that_a_topic_is_gone_keeps_its_states(rig: Rig) -> None:
    """Metadata mirrored from another cluster is never complete; a tombstone would delete confirmed state."""
    kept = rig.key(0, "u"), rig.key()
    rig.initialized(*kept)
    back = rig.ports.topics.delete("u")
    ends = rig.log_ends()
    rig.ports.host = rig.ports.host._replace(believes_absence=False)
    rig.service = rig.make()
    rig.service.recover()
    rig.ports.logs.flush()
    assert rig.log_ends() == ends
    rig.service.topics_deleted([back])
    rig.ports.logs.flush()
    assert sum(rig.log_ends()) == sum(ends) + 1, "news of a deletion are another thing"


def test_other_routes_are_gone_as_well(rig: Rig) -> None:
    """Nodes route all share partitions of a topic to one partition of the state topic."""
    rig.ports.host = rig.ports.host._replace(
        routes=AS_APACHE_KAFKA._replace(share_partition=lambda key, count: key.topic_id[0] % count)
    )
    rig.service = rig.make()
    keys = [rig.key(partition, group=group) for partition in (0, 1) for group in "abcd"]
    rig.initialized(*keys)
    expected = [0, 0, 0, 0]
    expected[keys[0].topic_id[0] % 4] = 8
    assert rig.log_ends() == expected
    state = rig.service.state_of(keys[0])
    assert state is not None
    assert state.state_epoch == 1
    assert rig.service.state_of(rig.key(group="other")) is None


def test_a_start_with_all_its_topics_writes_nothing(rig: Rig) -> None:
    rig.initialized()
    ends = rig.log_ends()
    rig.make().recover()
    rig.ports.logs.flush()
    assert rig.log_ends() == ends


def test_a_deleted_topic_takes_its_states_with_it(rig: Rig) -> None:
    gone = [rig.key(0, "u", group) for group in "abcdef"]
    rig.initialized(rig.key(), *gone)
    rig.service.topics_deleted([rig.ports.topics.delete("u")])
    rig.ports.logs.flush()
    states = [key for partition in rig.service.partitions for key in partition.shard.share_partitions()]
    assert states == [rig.key()]
    assert rig.service.read_summary(gone[0]).value.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_deletion_of_a_topic_looks_at_its_own_states_alone(monkeypatch: pytest.MonkeyPatch, rig: Rig) -> None:
    gone, others = rig.key(0, "u"), [rig.key(group=f"g{n}") for n in range(50)]
    rig.initialized(gone, *others)
    looked_at: list[SharePartitionKey] = []

    def noted(shard: ShareCoordinatorShard, key: SharePartitionKey) -> list[StoredBatch]:
        looked_at.append(key)
        return archiving(shard, key)

    def all_of_them(_shard: ShareCoordinatorShard) -> list[SharePartitionKey]:
        raise AssertionError("looked at all states")

    archiving = ShareCoordinatorShard.archiving
    monkeypatch.setattr(ShareCoordinatorShard, "archiving", noted)
    monkeypatch.setattr(ShareCoordinatorShard, "share_partitions", all_of_them)
    topic = rig.ports.topics.delete("u")
    rig.service.topics_go([topic])
    rig.service.topics_deleted([topic])
    rig.ports.logs.flush()
    assert looked_at == [gone]
    shards = [partition.shard for partition in rig.service.partitions]
    assert not any(shard.share_partitions_of([gone.topic_id]) for shard in shards)
    assert sum(len(shard.share_partitions_of([others[0].topic_id])) for shard in shards) == 50


def test_with_their_own_topic_all_states_are_gone_and_routes_are_made_again(rig: Rig) -> None:
    key = next(key for n in range(99) if share_partition_for(key := rig.key(group=f"g{n}"), 4) == 3)
    rig.initialized(key)
    pending = rig.service.write(key, 1, 0, 6, 0, ())
    rig.service.topics_deleted([rig.ports.topics.delete(STATES)])
    assert pending.value.code is ErrorCode.NOT_COORDINATOR
    assert rig.service.read(key, 0).value.error is UNAVAILABLE
    rig.ports.topics.add(STATES, 2)
    rig.initialized(key)
    assert sum(rig.log_ends()) == 1


def test_what_an_outsider_makes_up_is_refused_and_may_become_real(rig: Rig) -> None:
    made_up = SharePartitionKey("g", (9).to_bytes(16, "big"), 0)
    assert rig.service.initialize(made_up, 1, 0).value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("closed", [False, True])
def test_cold_states_are_looked_at_until_the_end(closed: bool, rig: Rig) -> None:
    rig.initialized()
    rig.ports.answer(rig.service.write(rig.key(), 1, 0, 6, 0, ()))
    before = sum(rig.log_ends())
    if closed:
        rig.service.close()
    rig.ports.clock.advance(3_600_000)
    rig.ports.logs.flush()
    assert sum(rig.log_ends()) == before + (not closed)


def test_an_older_state_is_initialized_again_unless_it_was_asked_for_before(rig: Rig) -> None:
    rig.initialized(start=5)
    replaced: list[SharePartitionKey] = []
    rig.ports.answer(rig.service.initialize_once(rig.key(), 2, -1, replaced.extend))
    assert (replaced, rig.read().state_epoch) == ([rig.key()], 2)


def test_a_forgetting_that_cannot_be_written_harms_nobody(rig: Rig) -> None:
    rig.initialized(rig.key(0, "u"))
    rig.service.topics_deleted([rig.ports.topics.delete("u")])
    rig.ports.logs.lose_all()
    assert rig.service.read_summary(rig.key()).value == SummaryResult()


def test_what_is_given_up_is_freed_by_its_last_reference() -> None:
    """The state is freed without the garbage collector, which skips loaded state (`Collector.keep`)."""
    rig = Rig()
    rig.initialized()
    given_up = next(iter(rig.service.partitions))
    shard = given_up.shard
    left = [weakref.ref(each) for each in (given_up, shard)]
    gc.disable()
    try:
        rig.service.partitions.resign()
        del given_up, shard
        assert [each() for each in left] == [None, None]
    finally:
        gc.enable()
