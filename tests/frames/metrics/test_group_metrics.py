"""A scrape's metrics of classic and consumer groups and committed offsets, after clients' requests."""

from __future__ import annotations

import errno
from itertools import count, pairwise

import pytest

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.transactor import Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.foundation.turn_budget import LOOK, TURN_ELEMENTS
from shareq.broker.metrics import data_folder, families
from shareq.broker.metrics.coordinators import CONSUMER_MEMBERS, OFFSETS
from shareq.broker.metrics.family import Table
from shareq.broker.metrics.rows import Snapshot
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from tests.frames.groups.test_consumer_groups import heartbeat
from tests.frames.groups.test_group_migration import begin, classic_group, rejoin
from tests.support.clients.classic_client import INITIAL_DELAY_MS, ClassicClient, form, settle
from tests.support.clients.share_client import ShareClient, append
from tests.support.coroutines import finished, paused_everywhere
from tests.support.fakes.host import ELSEWHERE
from tests.support.worlds.metrics import Scraped, scraped, scraped_text

NONE = ErrorCode.NONE
GROUPS = "kafka_server_group_coordinator_metrics"
MANAGER = "kafka_coordinator_group_group_metadata_manager"
OFFSET = "shareq_consumer_group_committed_offset"
LAG = "shareq_consumer_group_lag"
MEMBERS = "shareq_consumer_group_members"


def classic_counts(reported: Scraped) -> dict[str, float]:
    states = ("preparing_rebalance", "completing_rebalance", "stable", "dead", "empty")
    counts = {state: reported.value(f"{MANAGER}_num_groups_{state}") for state in states}
    return {state: count for state, count in counts.items() if count}


def consumer_counts(reported: Scraped) -> dict[str, float]:
    states = ("empty", "assigning", "reconciling", "stable", "dead")
    counts = {state: reported.value(f"{GROUPS}_consumer_group_count", state=state) for state in states}
    return {state: count for state, count in counts.items() if count}


class Offsets:
    """Topic t of two partitions, ten records in the first, and a client that commits."""

    def __init__(self, **properties: str) -> None:
        self.world = BrokerWorld({name.replace("_", "."): value for name, value in properties.items()})
        ids = {"t": self.world.create_topic("t", 2).topic_id}
        append(self.world, "t", 10)
        self.client = OffsetsClient(self.world.connect(), ids)

    def scrape(self) -> Scraped:
        return scraped(self.world)


@pytest.fixture
def offsets() -> Offsets:
    return Offsets()


# -- groups


def test_a_classic_group_from_its_first_member_to_its_last(world: BrokerWorld) -> None:
    world.create_topic("t")
    member = ClassicClient(world)
    assert classic_counts(scraped(world)) == {}
    member.begin()
    world.clock.run_until_idle()
    assert classic_counts(scraped(world)) == {"preparing_rebalance": 1}
    world.clock.advance(2 * INITIAL_DELAY_MS)
    member.joined()
    joined = scraped(world)
    assert classic_counts(joined) == {"completing_rebalance": 1}
    assert joined.value(f"{GROUPS}_group_completed_rebalance_total") == 0
    settle([member])
    stable = scraped(world)
    assert classic_counts(stable) == {"stable": 1}
    assert stable.value(f"{GROUPS}_group_completed_rebalance_total") == 1
    assert stable.value(MEMBERS, group="g") == 1
    assert stable.value(f"{GROUPS}_group_count", protocol="classic") == 1
    member.leave()
    left = scraped(world)
    assert classic_counts(left) == {"empty": 1}
    assert left.value(MEMBERS, group="g") == 0
    assert left.value(f"{GROUPS}_group_completed_rebalance_total") == 1


def test_rebalances_of_classic_groups_are_not_counted_again_when_they_are_loaded(world: BrokerWorld) -> None:
    form([ClassicClient(world), ClassicClient(world)])
    form([ClassicClient(world, "h")])
    reported = scraped(world)
    assert reported.value(f"{GROUPS}_group_completed_rebalance_total") == 2
    assert (reported.value(MEMBERS, group="g"), reported.value(MEMBERS, group="h")) == (2, 1)
    world.restart()
    reported = scraped(world)
    assert classic_counts(reported) == {"stable": 2}
    assert reported.value(f"{GROUPS}_group_completed_rebalance_total") == 0


def test_a_consumer_group_from_its_first_member_to_its_last(world: BrokerWorld) -> None:
    world.create_topic("t", 2)
    epoch = heartbeat(world, "one", topics=["t"]).member_epoch
    joined = scraped(world)
    assert consumer_counts(joined) == {"stable": 1}
    assert joined.value(f"{GROUPS}_consumer_group_rebalance_total") == 1
    heartbeat(world, "one", epoch)
    assert scraped(world).value(f"{GROUPS}_consumer_group_rebalance_total") == 1
    heartbeat(world, "two", topics=["t"])
    assert consumer_counts(scraped(world)) == {"assigning": 1}, "the last assignment is too recent for another one"
    world.clock.advance(1_000)
    heartbeat(world, "one", epoch)
    both = scraped(world)
    assert consumer_counts(both) == {"reconciling": 1}
    assert both.value(f"{GROUPS}_consumer_group_rebalance_total") == 2
    assert both.value(MEMBERS, group="g") == 2
    heartbeat(world, "two", -1)
    heartbeat(world, "one", -1)
    reported = scraped(world)
    assert consumer_counts(reported) == {"empty": 1}
    assert reported.value(f"{GROUPS}_consumer_group_rebalance_total") == 2
    assert reported.value(MEMBERS, group="g") == 0


def test_a_group_that_changes_its_protocol(world: BrokerWorld) -> None:
    world.create_topic("t", 4)
    old = ClassicClient(world)
    classic_group(world, old)
    heartbeat(world, topics=["t"])
    upgraded = scraped(world)
    assert (classic_counts(upgraded), consumer_counts(upgraded)) == ({}, {"reconciling": 1})
    assert upgraded.value(f"{GROUPS}_consumer_group_rebalance_total") == 1
    rejoin(old, {0, 1, 2, 3})
    assert scraped(world).value(f"{GROUPS}_consumer_group_rebalance_total") == 1, "its subscription is what it was"
    second = ClassicClient(world)
    begin(second)
    assert second.joined().error_code == NONE
    three = scraped(world)
    assert three.value(f"{GROUPS}_consumer_group_rebalance_total") == 2
    assert three.value(MEMBERS, group="g") == 3


def test_states_of_many_groups_are_taken_in_slices() -> None:
    world = BrokerWorld({"offsets.topic.num.partitions": "1"})
    world.create_topic("t")
    client = OffsetsClient(world.connect(), {})
    for number in range(250):
        client.committed({("t", 0): number}, group=f"g{number}")
    reported = scraped(world)
    assert classic_counts(reported) == {"empty": 250}
    assert len(reported.labels_of(MEMBERS)) == len(reported.labels_of(LAG)) == 250


# -- offsets


def test_committed_offsets_and_lag(offsets: Offsets) -> None:
    """The lag is that of kafka-consumer-groups.sh --describe: the partition's end less the committed offset."""
    offsets.client.committed({("t", 0): 4, ("t", 1): 0})
    reported = offsets.scrape()
    assert reported.value(OFFSET, group="g", topic="t", partition="0") == 4
    assert reported.value(LAG, group="g", topic="t", partition="0") == 6
    assert reported.value(LAG, group="g", topic="t", partition="1") == 0, "nobody has written to it yet"
    assert reported.value(f"{MANAGER}_num_offsets") == 2
    assert reported.value(f"{GROUPS}_offset_commit_total") == 2
    assert reported.value(MEMBERS, group="g") == 0
    offsets.client.committed({("t", 0): 10})
    append(offsets.world, "t", 5)
    reported = offsets.scrape()
    assert reported.value(LAG, group="g", topic="t", partition="0") == 5
    assert reported.value(f"{MANAGER}_num_offsets") == 2
    assert reported.value(f"{GROUPS}_offset_commit_total") == 3


def test_lag_is_never_below_0_and_unknown_without_an_offset(offsets: Offsets) -> None:
    offsets.client.committed({("t", 0): 99, ("t", 1): -1})
    reported = offsets.scrape()
    assert reported.value(LAG, group="g", topic="t", partition="0") == 0
    assert reported.labels_of(LAG) == [{"group": "g", "topic": "t", "partition": "0"}]


def test_lag_counts_what_open_transactions_have_written(offsets: Offsets) -> None:
    """kafka-consumer-groups.sh counts such records, too: its end offsets are read_uncommitted."""
    offsets.client.committed({("t", 0): 4})
    producer = Transactor(offsets.world.connect())
    producer.init()
    producer.write("t", b"x", b"y")
    reported = offsets.scrape()
    assert reported.value(LAG, group="g", topic="t", partition="0") == 8
    assert reported.value("kafka_cluster_partition_last_stable_offset_lag", topic="t", partition="0") == 2


def test_lag_of_a_partition_that_is_led_elsewhere_is_not_reported(offsets: Offsets) -> None:
    offsets.client.committed({("t", 0): 1})
    offsets.world.leaders.move("t", 0, ELSEWHERE)
    reported = offsets.scrape()
    assert reported.labels_of(LAG) == []
    assert reported.value(OFFSET, group="g", topic="t", partition="0") == 1


def test_lag_is_reported_after_a_restart_and_commits_begin_at_zero(offsets: Offsets) -> None:
    offsets.client.committed({("t", 0): 4})
    offsets.world.restart()
    reported = offsets.scrape()
    assert reported.value(LAG, group="g", topic="t", partition="0") == 6
    assert reported.value(f"{GROUPS}_offset_commit_total") == 0


def test_share_groups_have_no_offsets_of_this_sort(offsets: Offsets) -> None:
    ShareClient(offsets.world, group="s").join("t")
    reported = offsets.scrape()
    assert (reported.labels_of(LAG), reported.labels_of(MEMBERS)) == ([], [])


def test_offsets_of_a_transaction_count_when_it_is_committed(offsets: Offsets) -> None:
    producer = Transactor(offsets.world.connect())
    producer.init()
    assert producer.commit_offsets("g", {("t", 0): 7}) == [NONE]
    pending = offsets.scrape()
    assert (pending.labels_of(LAG), pending.value(f"{MANAGER}_num_offsets")) == ([], 0)
    assert pending.value(f"{GROUPS}_offset_commit_total") == 1
    assert producer.commit() is NONE
    reported = offsets.scrape()
    assert reported.value(LAG, group="g", topic="t", partition="0") == 3
    assert reported.value(f"{MANAGER}_num_offsets") == 1


def test_a_commit_that_is_refused_does_not_count() -> None:
    offsets = Offsets(offset_metadata_max_bytes="0")
    assert offsets.client.commit({("t", 0): 4}, generation=3) == {("t", 0): ErrorCode.GROUP_ID_NOT_FOUND}
    assert offsets.scrape().value(f"{GROUPS}_offset_commit_total") == 0


def test_counters_go_on_when_a_shard_is_thrown_away() -> None:
    offsets = Offsets(offsets_topic_num_partitions="1")
    offsets.client.committed({("t", 0): 4})
    offsets.world.fs.fail = lambda kind, path: OSError(errno.EIO, "broken", path) if kind == "write" else None
    assert offsets.client.commit({("t", 0): 5}) != {("t", 0): NONE}
    offsets.world.fs.fail = None
    offsets.client.committed({("t", 0): 6})
    reported = offsets.scrape()
    assert reported.value(f"{GROUPS}_offset_commit_total") == 3, "counted when it is decided, as in Apache Kafka"
    assert reported.value(OFFSET, group="g", topic="t", partition="0") == 6


def test_offsets_that_administrators_delete(offsets: Offsets) -> None:
    offsets.client.committed({("t", 0): 4, ("t", 1): 0})
    assert offsets.client.delete(("t", 0)) == {("t", 0): NONE}
    assert offsets.client.delete(("t", 0)) == {("t", 0): NONE}, "there is nothing to delete any more"
    reported = offsets.scrape()
    assert reported.value(f"{GROUPS}_offset_deletion_total") == 1
    assert reported.labels_of(LAG) == [{"group": "g", "topic": "t", "partition": "1"}]


@pytest.mark.parametrize("what", ["group", "topic"])
def test_offsets_that_go_with_their_group_or_topic(what: str, offsets: Offsets) -> None:
    offsets.client.committed({("t", 0): 4})
    if what == "group":
        offsets.world.connect().call(DeleteGroupsRequest(["g"]), 2, DeleteGroupsResponse)
    else:
        offsets.world.folder.metadata.delete_topics(["t"])
        offsets.world.clock.run_until_idle()
    reported = offsets.scrape()
    assert (reported.labels_of(LAG), reported.labels_of(OFFSET)) == ([], [])
    assert reported.value(f"{MANAGER}_num_offsets") == 0
    assert reported.value(f"{GROUPS}_offset_deletion_total") == 0
    assert reported.value(f"{GROUPS}_offset_expiration_total") == 0


def test_offsets_that_expire() -> None:
    offsets = Offsets(
        offsets_retention_minutes="2", offsets_retention_check_interval_ms="1000", offsets_topic_num_partitions="1"
    )
    for group in ("g", "h"):
        offsets.client.committed({("t", 0): 4}, group=group)
    offsets.client.committed({("t", 0): 4, ("t", 1): 0}, group="i")
    offsets.world.clock.advance(60_000)
    offsets.client.committed({("t", 0): 5})
    offsets.world.clock.advance(61_000)
    reported = offsets.scrape()
    assert reported.value(f"{GROUPS}_offset_expiration_total") == 3
    assert reported.labels_of(MEMBERS) == [{"group": "g"}]


# -- slices


def lengths(world: BrokerWorld, table: Table) -> list[int]:
    """Return a table's number of rows at each pause of the snapshot, and at its end."""
    taken, found = Snapshot(), list[int]()
    finished(
        families.take(taken, world.services, data_folder, {}, [], 0),
        lambda: found.append(len(taken.rows.get(table, ()))),
    )
    return [*found, len(taken.rows[table])]


def longest(lengths: list[int]) -> int:
    return max(after - before for before, after in pairwise([0, *lengths]))


def test_the_snapshot_pauses_after_some_offsets_however_they_are_shared_out() -> None:
    world = BrokerWorld({"offsets.topic.num.partitions": "1"})
    client = OffsetsClient(world.connect(), {"t": world.create_topic("t", 600).topic_id})
    client.committed({("t", partition): 0 for partition in range(600)}, group="large")
    for number in range(200):
        client.committed({("t", 0): 0, ("t", 1): 0}, group=f"small{number}")
    taken = lengths(world, OFFSETS)
    assert taken[-1] == 1_000
    assert longest(taken) <= TURN_ELEMENTS + LOOK


def test_the_snapshot_pauses_after_some_members() -> None:
    """A consumer group's state requires a look at all its members, which takes time."""
    world = BrokerWorld({"offsets.topic.num.partitions": "1"})
    world.create_topic("t")
    client = world.connect()
    for group in ("one", "two", "three"):
        for member in range(TURN_ELEMENTS):
            request = ConsumerGroupHeartbeatRequest(
                group, f"m{member}", 0, rebalance_timeout_ms=1_000, subscribed_topic_names=["t"], topic_partitions=[]
            )
            answer = client.call(request, 1, ConsumerGroupHeartbeatResponse)
            assert answer.error_code == NONE
    assert [scraped(world).value(MEMBERS, group=group) for group in ("one", "two", "three")] == [TURN_ELEMENTS] * 3
    assert longest(lengths(world, CONSUMER_MEMBERS)) == 1


def test_groups_may_come_and_go_at_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    paused_everywhere(monkeypatch)
    world = BrokerWorld({"offsets.topic.num.partitions": "1"})
    client = OffsetsClient(world.connect(), {"t": world.create_topic("t", 2).topic_id})
    for number in range(300):
        client.committed({("t", 0): 0}, group=f"g{number}")
    numbers = count()

    def change() -> None:
        number = next(numbers)
        if number < 300:
            world.connect().call(DeleteGroupsRequest([f"g{number}", f"g{299 - number}"]), 2, DeleteGroupsResponse)
            client.committed({("t", 1): 0}, group=f"new{number}")

    reported = Scraped(scraped_text(world, change))
    assert next(numbers) > 300
    assert 150 < len(reported.labels_of(LAG)) < 400
