"""A scrape's metrics of share groups, after clients' requests over frames."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
)
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.primitives import ZERO_UUID
from tests.support.clients.share_client import (
    ACCEPT,
    REJECT,
    RELEASE,
    RENEW,
    Place,
    ShareClient,
    append,
    configure,
    fetch_errors,
    from_the_start,
)
from tests.support.worlds.metrics import Scraped, scraped

LOCK_MS = 15_000
PARTITION = {"group": "g", "topic": "t", "partition": "0"}
GROUPS = "kafka_server_group_coordinator_metrics"
STATES = "kafka_server_share_coordinator_metrics"
SHARE_GROUP = "kafka_server_share_group_metrics"
SHARE_PARTITION = "kafka_server_share_partition_metrics"
SESSIONS = "kafka_server_share_session_cache"
TOPIC = "kafka_server_broker_topic_metrics"


class Work:
    """Topic t of two partitions with ten records each; group g begins at the first, with a limit of two deliveries."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        topic_id = self.world.create_topic("t", 2).topic_id
        self.first: Place = (topic_id, 0)
        self.second: Place = (topic_id, 1)
        from_the_start(self.world)
        configure(self.world, share_record_lock_duration_ms=str(LOCK_MS), share_delivery_count_limit="2")
        for partition in (0, 1):
            append(self.world, "t", 10, partition=partition)
        self.one, self.two = ShareClient(self.world, "one"), ShareClient(self.world, "two")
        self.one.join("t")

    def scrape(self) -> Scraped:
        return scraped(self.world)

    def renew(self, first: int, last: int) -> None:
        topic_id, partition = self.first
        batch = AcknowledgementBatch(first, last, [RENEW])
        topics = [AcknowledgeTopic(topic_id, [AcknowledgePartition(partition, [batch])])]
        request = ShareAcknowledgeRequest("g", "one", self.one.session_epoch, True, topics)
        answer = self.one.connection.call(request, 2, ShareAcknowledgeResponse)
        assert answer.error_code == ErrorCode.NONE
        assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
        self.one.session_epoch += 1


@pytest.fixture
def work() -> Work:
    return Work()


def test_groups_by_state_and_rebalances(world: BrokerWorld) -> None:
    world.create_topic("t")
    one, two = ShareClient(world, "one"), ShareClient(world, "two", group="h")
    assert scraped(world).value(f"{GROUPS}_group_count", protocol="share") == 0
    one.join("t")
    two.join("t")
    joined = scraped(world)
    assert joined.value(f"{GROUPS}_group_count", protocol="share") == 2
    assert joined.value(f"{GROUPS}_share_group_count", state="stable") == 2
    assert joined.value("shareq_share_group_members", group="g") == 1
    assert joined.value(f"{GROUPS}_share_group_rebalance_total") == 2
    one.heartbeat()
    two.leave()
    left = scraped(world)
    assert left.value(f"{GROUPS}_share_group_count", state="stable") == 1
    assert left.value(f"{GROUPS}_share_group_count", state="empty") == 1
    assert left.value(f"{GROUPS}_share_group_count", state="dead") == 0
    assert left.value("shareq_share_group_members", group="h") == 0
    assert left.value(f"{GROUPS}_share_group_rebalance_total") == 2
    one.connection.call(DeleteGroupsRequest(["h"]), 2, DeleteGroupsResponse)
    assert scraped(world).value(f"{GROUPS}_group_count", protocol="share") == 1


def test_groups_that_are_paused(world: BrokerWorld) -> None:
    world.create_topic("t")
    for group in ("g", "h"):
        ShareClient(world, group=group).join("t")

    def paused() -> list[float]:
        scrape = scraped(world)
        return [scrape.value("shareq_share_group_paused", group=group) for group in ("g", "h")]

    assert paused() == [0, 0]
    configure(world, "h", shareq_paused="true")
    assert paused() == [0, 1]
    configure(world, "h", shareq_paused="false")
    assert paused() == [0, 0]


def test_groups_of_every_kind(world: BrokerWorld) -> None:
    """Each protocol has a number, even 0, as in Apache Kafka 4.3.1."""
    world.create_topic("t")
    ShareClient(world).join("t")
    for group in ("c", "d"):
        request = ConsumerGroupHeartbeatRequest(
            group, "m", 0, rebalance_timeout_ms=30_000, subscribed_topic_names=["t"], topic_partitions=[]
        )
        answer = world.connect().call(request, 1, ConsumerGroupHeartbeatResponse)
        assert answer.error_code == ErrorCode.NONE
    scrape = scraped(world)
    counts = {kind: scrape.value(f"{GROUPS}_group_count", protocol=kind) for kind in ("share", "consumer", "classic")}
    assert counts == {"share": 1, "consumer": 2, "classic": 0}


def test_a_rebalance_for_partitions_that_were_initialised_later(world: BrokerWorld) -> None:
    """The epoch that a heartbeat's second phase raises counts, too."""
    world.create_topic("t")
    member = ShareClient(world)
    member.join("t", "u")
    world.create_topic("u")
    world.clock.advance(10_000)
    assert member.assigned(member.heartbeat("t", "u")) == {"t": [0], "u": [0]}
    groups = world.services.groups
    epochs = [each.group_epoch for partition in groups.coordinator.partitions for each in partition.shard.share.all()]
    assert scraped(world).value(f"{GROUPS}_share_group_rebalance_total") == groups.share.rebalances == epochs[0] - 1


def test_three_share_sessions(work: Work) -> None:
    members = [work.one, work.two, ShareClient(work.world, "three")]
    for member in members:
        member.fetch(work.first, work.second)
    opened = work.scrape()
    assert opened.value(f"{SESSIONS}_share_sessions_count") == 3
    assert opened.value(f"{SESSIONS}_share_partitions_count") == 6
    members[2].connection.disconnect()
    work.two.fetch(epoch=-1)
    work.two.connection.disconnect()  # there is nothing left to end
    ended = work.scrape()
    assert ended.value(f"{SESSIONS}_share_sessions_count") == 1
    assert ended.value(f"{SESSIONS}_share_partitions_count") == 2
    assert ended.value(f"{SESSIONS}_share_session_evictions_total") == 1


def test_five_renews(work: Work) -> None:
    work.one.acquire(work.first)
    work.renew(0, 4)
    assert work.scrape().value(f"{SHARE_GROUP}_record_acknowledgements_total", ack_type="renew") == 5


def test_acknowledgements_by_type(work: Work) -> None:
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (0, 2, ACCEPT), (3, 3, RELEASE), (4, 5, REJECT))
    reported = work.scrape()
    counts = {
        kind: reported.value(f"{SHARE_GROUP}_record_acknowledgements_total", ack_type=kind)
        for kind in ("accept", "release", "reject", "renew")
    }
    assert counts == {"accept": 3, "release": 1, "reject": 2, "renew": 0}


def test_acknowledgements_by_group_and_topic(work: Work) -> None:
    work.one.acquire(work.first, work.second)
    work.one.acknowledge(work.first, (0, 2, ACCEPT), (3, 3, RELEASE))
    work.one.acknowledge(work.second, (0, 4, ACCEPT))
    name, reported = "shareq_share_group_acknowledgements_total", work.scrape()
    counts = {row["ack_type"]: reported.value(name, **row) for row in reported.labels_of(name)}
    assert counts == {"accept": 8, "release": 1, "reject": 0, "renew": 0}
    assert {(row["group"], row["topic"]) for row in reported.labels_of(name)} == {("g", "t")}


def test_the_oldest_record_that_is_not_finished_with(work: Work) -> None:
    work.one.acquire(work.first)
    name = "shareq_share_partition_oldest_unacknowledged_age_seconds"
    assert work.scrape().value(name, **PARTITION) == 0
    work.world.clock.advance(5_000)
    append(work.world, "t", 10)
    work.two.join("t")
    work.two.acquire(work.first)
    assert work.scrape().value(name, **PARTITION) == 5
    work.one.acknowledge(work.first, (0, 8, ACCEPT), (9, 9, RELEASE))
    work.world.clock.advance(1_000)
    assert work.scrape().value(name, **PARTITION) == 6  # one is given back, and still not done
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (9, 9, ACCEPT))
    assert work.scrape().value(name, **PARTITION) == 1  # the others'
    work.two.acknowledge(work.first, (10, 19, ACCEPT))
    assert work.scrape().value(name, **PARTITION) == 0


def test_the_record_that_a_window_cannot_pass(work: Work) -> None:
    """The record's age counts from its acquisition; the oldest record's age counts from when it came in flight."""
    configure(work.world, shareq_redelivery_backoff_ms="60000", shareq_redelivery_backoff_jitter="0")
    configure(work.world, share_partition_max_record_locks="100")
    name = "shareq_share_partition_first_record_age_seconds"

    def first() -> tuple[str, float]:
        """Return the state and the age in the share partition's only sample."""
        reported = work.scrape()
        (labels,) = [row for row in reported.labels_of(name) if PARTITION.items() <= row.items()]
        return labels["state"], reported.value(name, **labels)

    assert work.scrape().labels_of(name) == []
    work.one.acquire(work.first)
    assert work.scrape().value("shareq_share_partition_in_flight_limit", **PARTITION) == 100
    work.world.clock.advance(5_000)
    assert first() == ("acquired", 5)
    work.renew(0, 9)
    work.world.clock.advance(1_000)
    assert first() == ("acquired", 6)
    work.one.acknowledge(work.first, (0, 0, RELEASE))
    assert first() == ("delayed", 6)
    work.world.clock.advance(60_000)
    assert first() == ("available", 66)
    work.one.acquire(work.first)
    work.world.clock.advance(2_000)
    assert first() == ("acquired", 2)
    work.one.acknowledge(work.first, (0, 0, ACCEPT))
    assert first() == ("delayed", 68)  # the next one, whose lock ran out
    work.world.clock.advance(20_000)
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (1, 9, ACCEPT))
    assert [row for row in work.scrape().labels_of(name) if PARTITION.items() <= row.items()] == []


def test_ten_records_in_flight(work: Work) -> None:
    work.one.acquire(work.first)
    reported = work.scrape()
    assert reported.value(f"{SHARE_PARTITION}_in_flight_message_count", **PARTITION) == 10
    assert reported.value(f"{SHARE_PARTITION}_in_flight_batch_count", **PARTITION) == 1
    assert reported.value(f"{SHARE_PARTITION}_in_flight_batch_message_count_sum", **PARTITION) == 10
    assert reported.value(f"{SHARE_PARTITION}_in_flight_batch_message_count_count", **PARTITION) == 1
    assert reported.value("shareq_share_partition_deliveries_total", **PARTITION) == 10
    assert reported.value("shareq_share_partition_start_offset", **PARTITION) == 0
    assert reported.value("shareq_share_partition_lag", **PARTITION) == 10
    other = {**PARTITION, "partition": "1"}
    assert reported.value(f"{SHARE_PARTITION}_in_flight_message_count", **other) == 0


def test_locks_that_run_out_and_dead_letters(work: Work) -> None:
    work.one.acquire(work.first)
    work.world.clock.advance(LOCK_MS + 1)
    once = work.scrape()
    assert once.value(f"{SHARE_PARTITION}_acquisition_lock_timeout_total", **PARTITION) == 10
    assert once.value("shareq_share_partition_dead_letters_total", **PARTITION) == 0
    work.one.acquire()
    work.one.acknowledge(work.first, (0, 3, RELEASE))
    work.world.clock.advance(LOCK_MS + 1)
    twice = work.scrape()
    assert twice.value(f"{SHARE_PARTITION}_acquisition_lock_timeout_total", **PARTITION) == 16
    assert twice.value("shareq_share_partition_dead_letters_total", **PARTITION) == 10
    assert twice.value("shareq_share_partition_redeliveries_total", **PARTITION) == 10
    assert twice.value("shareq_share_partition_lag", **PARTITION) == 0


def test_counters_outlive_the_members(work: Work) -> None:
    """Share partitions are unloaded when the last member leaves; their counters stay."""
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (0, 5, ACCEPT))
    work.one.connection.disconnect()
    work.world.clock.run_until_idle()
    gone = work.scrape()
    assert gone.value("shareq_share_partition_deliveries_total", **PARTITION) == 10
    assert gone.value("shareq_share_session_released_records_total") == 4
    assert gone.value(f"{SHARE_PARTITION}_in_flight_message_count", **PARTITION) == 0
    assert gone.value("shareq_share_partition_start_offset", **PARTITION) == 6
    assert gone.value("shareq_share_partition_lag", **PARTITION) == 4
    work.two.join("t")
    work.two.acquire(work.first)
    back = work.scrape()
    assert back.value("shareq_share_partition_deliveries_total", **PARTITION) == 14
    assert back.value(f"{SHARE_GROUP}_record_acknowledgements_total", ack_type="accept") == 6


def test_lag_grows_without_anybody_consuming(work: Work) -> None:
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (0, 9, ACCEPT))
    work.world.restart()
    append(work.world, "t", 7)
    reported = scraped(work.world)
    assert (
        reported.value("shareq_share_partition_start_offset", **PARTITION) == 0
    )  # a state write does not move it itself
    assert reported.value("shareq_share_partition_lag", **PARTITION) == 7


def test_records_behind_a_window_of_which_nothing_is_finished_are_lag(work: Work) -> None:
    work.one.acquire(work.first)
    work.world.restart()
    append(work.world, "t", 7)
    assert scraped(work.world).value("shareq_share_partition_lag", **PARTITION) == 17


def test_a_group_that_has_not_begun_has_no_lag(work: Work) -> None:
    reported = work.scrape()
    assert PARTITION in reported.labels_of("shareq_share_partition_deliveries_total")
    assert reported.labels_of("shareq_share_partition_lag") == []
    assert reported.labels_of("shareq_share_partition_start_offset") == []


def test_a_deleted_group_leaves_its_sums(work: Work) -> None:
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (0, 9, ACCEPT))
    work.one.connection.disconnect()
    work.two.join("t")
    work.two.leave()
    work.one.reconnect()
    work.one.leave()
    deleted = work.two.connection.call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    assert [each.error_code for each in deleted.results] == [ErrorCode.NONE]
    reported = work.scrape()
    assert reported.labels_of("shareq_share_partition_deliveries_total") == []
    assert reported.labels_of(f"{SHARE_GROUP}_topic_partitions_acquire_time_seconds_count") == []
    assert reported.value(f"{SHARE_GROUP}_record_acknowledgements_total", ack_type="accept") == 10


@pytest.mark.parametrize("topic", ["t", SHARE_GROUP_STATE])
def test_a_deleted_topic_leaves_its_sums(topic: str, work: Work) -> None:
    work.one.acquire(work.first)
    work.one.acknowledge(work.first, (0, 9, ACCEPT))
    work.world.folder.metadata.delete_topics([topic])
    work.world.clock.run_until_idle()
    reported = work.scrape()
    assert reported.labels_of("shareq_share_partition_deliveries_total") == []
    assert reported.value(f"{SHARE_GROUP}_record_acknowledgements_total", ack_type="accept") == 10


def test_state_writes(work: Work) -> None:
    work.one.acquire(work.first, work.second)
    before = work.scrape().value(f"{STATES}_write_total")
    assert before == 2  # the start offsets
    work.one.acknowledge(work.first, (0, 4, ACCEPT))
    work.one.acknowledge(work.first, (5, 5, ACCEPT), (7, 7, REJECT))
    reported = work.scrape()
    assert reported.value(f"{STATES}_write_total") == before + 2
    assert reported.value(f"{STATES}_write_latency_seconds_count") == before + 2
    assert reported.value("shareq_share_coordinator_waiting_operations") == 0


def test_the_latency_of_state_writes() -> None:
    work = Work(log_flush_interval_messages="1")
    work.one.acquire(work.first)
    held: list[Callable[[], None]] = []
    work.world.fs.held_syncs = held
    work.one.send_acknowledge(work.first, (0, 9, ACCEPT))
    work.world.clock.advance(200)
    assert work.scrape().value("shareq_share_coordinator_waiting_operations") == 1
    work.world.fs.held_syncs = None
    for sync in held:
        sync()
    assert work.one.acknowledge_answer() is ErrorCode.NONE
    reported = work.scrape()
    assert reported.value(f"{STATES}_write_latency_seconds_sum") == 0.2
    assert reported.value(f"{STATES}_write_latency_seconds_bucket", le="0.1") == 1
    assert reported.value(f"{STATES}_write_latency_seconds_bucket", le="0.3") == 2
    assert reported.value(f"{STATES}_write_latency_max_seconds") == 0.2
    work.world.clock.advance(60_000)
    assert work.scrape().value(f"{STATES}_write_latency_max_seconds") == 0


def test_coordinator_partitions() -> None:
    world = BrokerWorld({"share.coordinator.state.topic.num.partitions": "3"})
    assert scraped(world).value(f"{STATES}_num_partitions", state="active") == 0
    world.create_topic("t", 20)
    ShareClient(world).join("t")
    reported = scraped(world)
    assert reported.value(f"{STATES}_num_partitions", state="active") == 3
    assert reported.value(f"{STATES}_num_partitions", state="failed") == 0
    assert reported.value(f"{STATES}_partition_load_time_seconds_count") == 3
    assert reported.value(f"{GROUPS}_num_partitions", state="active") == 50
    assert reported.value(f"{GROUPS}_partition_load_time_seconds_count") == 1


def test_a_coordinator_partition_whose_log_is_lost() -> None:
    world = BrokerWorld({"share.coordinator.state.topic.num.partitions": "1"})
    assert world.folder.internal_topics.ensure(SHARE_GROUP_STATE).code is ErrorCode.NONE
    topic_id = world.create_topic("t").topic_id
    ShareClient(world).join("t")
    world.services.share_states.partitions.get(0).resign()
    reported = scraped(world)
    assert reported.value(f"{STATES}_num_partitions", state="active") == 0
    assert reported.value(f"{STATES}_num_partitions", state="failed") == 1
    assert topic_id != ZERO_UUID


def test_share_fetches_and_acknowledgements_by_topic(work: Work) -> None:
    work.one.acquire(work.first, work.second)  # twice: the start offsets are written first
    work.one.fetch(acks={work.first: [(0, 0, ACCEPT)]})
    work.one.acknowledge(work.first, (5, 60, ACCEPT))
    reported = work.scrape()
    assert reported.value(f"{TOPIC}_total_share_fetch_requests_total", topic="t") == 2
    assert reported.value(f"{TOPIC}_failed_share_fetch_requests_total", topic="t") == 0
    assert reported.value(f"{TOPIC}_total_share_acknowledgement_requests_total", topic="t") == 2
    assert reported.value(f"{TOPIC}_failed_share_acknowledgement_requests_total", topic="t") == 1
    errors = {"request": "ShareAcknowledge", "error": "INVALID_REQUEST"}
    assert reported.value("kafka_network_request_metrics_errors_total", **errors) == 1


def test_a_share_fetch_that_fails(work: Work) -> None:
    stranger = ShareClient(work.world, "s", group="nobody")
    answer = stranger.fetch(work.first, (b"\1" * 16, 0))
    assert len(fetch_errors(answer)) == 2
    reported = work.scrape()
    assert reported.value(f"{TOPIC}_total_share_fetch_requests_total", topic="t") == 1
    assert reported.value(f"{TOPIC}_failed_share_fetch_requests_total", topic="t") == 1
    assert reported.labels_of(f"{TOPIC}_total_share_fetch_requests_total") == [{"topic": "t"}]
    assert reported.labels_of(f"{SHARE_GROUP}_request_topic_partitions_fetch_ratio_count") == [], "made up groups"
    assert {labels["group"] for labels in reported.labels_of("shareq_share_partition_deliveries_total")} == {"g"}
    assert reported.value(f"{SHARE_GROUP}_partition_load_time_seconds_count") == 1


def test_share_fetches_that_wait_in_vain(work: Work) -> None:
    work.one.acquire(work.first)
    work.one.send_fetch(max_wait_ms=500)
    work.world.clock.run_until_idle()
    waiting = {"delayed_operation": "ShareFetch"}
    purgatory = "kafka_server_delayed_operation_purgatory_num_delayed_operations"
    assert work.scrape().value(purgatory, **waiting) == 1
    work.world.clock.advance(500)
    work.one.fetch_answer()
    reported = work.scrape()
    assert reported.value("kafka_server_delayed_share_fetch_metrics_expires_total") == 1
    assert reported.value(purgatory, **waiting) == 0


def test_share_fetches_of_full_partitions(work: Work) -> None:
    configure(work.world, share_partition_max_record_locks="100")
    append(work.world, "t", 90)
    work.one.acquire(work.first)
    ratio = f"{SHARE_GROUP}_request_topic_partitions_fetch_ratio"
    wait = f"{SHARE_GROUP}_topic_partitions_acquire_time_seconds"
    before = work.scrape()
    assert before.value(f"{ratio}_count", group="g") == before.value(f"{ratio}_sum", group="g")
    assert before.value(f"{wait}_sum", group="g") == 0
    work.one.send_fetch(work.second, max_wait_ms=0)  # from both, of which one is full
    work.one.fetch_answer()
    half = work.scrape()
    assert half.value(f"{ratio}_sum", group="g") == before.value(f"{ratio}_sum", group="g") + 0.5
    work.one.send_fetch(forgotten=[work.second], max_wait_ms=LOCK_MS * 2)
    work.world.clock.advance(LOCK_MS + 1)
    work.one.fetch_answer()
    reported = work.scrape()
    assert reported.value(f"{ratio}_count", group="g") == before.value(f"{ratio}_count", group="g") + 2
    assert reported.value(f"{wait}_sum", group="g") == pytest.approx(LOCK_MS / 1000, abs=0.01)
