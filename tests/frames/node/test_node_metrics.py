"""The metrics of a node: its slots, the membership, records ahead, requests to brokers; and its readiness."""

from __future__ import annotations

import pytest

from shareq.broker.metrics.family import Kind
from shareq.cluster.node.metrics import FAMILIES
from tests.frames.node.test_node import acquired, assigned
from tests.support.clients.share_client import ACCEPT, ShareClient, append, from_the_start
from tests.support.cluster.node_world import NODE_ID, SLOTS, NodeWorld
from tests.support.worlds.metrics import scraped


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld()
    world.cluster.create_topic("t", 1)
    return world


def test_a_node_is_ready_when_its_slots_are_served(world: NodeWorld) -> None:
    assert world.stands_on.problem == "no member of group __shareq: not joined yet"
    world.until_it_serves()
    assert world.stands_on.problem is None
    world.cluster.cut(world.link.name)
    world.clock.advance(15_000)
    assert world.stands_on.problem == "cut off from cluster broker-1:9092"
    found = scraped(world)
    assert (found.value("shareq_node_cut_off"), found.value("shareq_node_member")) == (1, 0)


def test_what_a_node_owns_reads_and_asks(world: NodeWorld) -> None:
    before = scraped(world)
    assert (before.value("shareq_node_slots"), before.value("shareq_node_membership_generation")) == (0, -1)
    world.until_it_serves()
    from_the_start(world)
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 3)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place) == [(0, 2, 1)]
    client.acknowledge(place, (0, 2, ACCEPT))
    found = scraped(world)
    assert found.value("shareq_node_member") == 1
    assert found.value("shareq_node_membership_generation") >= 1
    assert found.value("shareq_node_members") == 1
    assert (found.value("shareq_node_slots"), found.value("shareq_node_awaited_slots")) == (2 * SLOTS, 0)
    assert found.value("shareq_node_take_over_seconds_count") == 2 * SLOTS
    assert found.value("shareq_slot_generation", topic="__shareq_state", slot="0") == 1
    assert found.value("shareq_slot_lease_age_seconds", topic="__shareq_groups", slot="0") < 6
    assert found.value("shareq_slot_log_end_offset", topic="__shareq_groups", slot="0") >= 1
    assert 0 < found.value("shareq_node_read_ahead_bytes") < found.value("shareq_node_read_ahead_limit_bytes")
    assert (found.value("shareq_node_topics"), found.value("shareq_node_read_partitions")) == (1, 1)
    assert found.value("shareq_link_request_seconds_count", purpose="state") > 2 * SLOTS
    assert found.value("shareq_link_request_seconds_count", purpose="membership") >= 3
    assert found.value("shareq_link_requests_under_way", purpose="tail") == 1


def test_the_record_that_a_window_cannot_pass(world: NodeWorld) -> None:
    world.until_it_serves()
    from_the_start(world)
    client = ShareClient(world)
    assigned(client, "t")
    append(world, "t", 3)
    place = (world.cluster.topic("t").topic_id, 0)
    assert acquired(client, place) == [(0, 2, 1)]
    client.acknowledge(place, (0, 0, ACCEPT))
    world.clock.advance(7_000)
    found, labels = scraped(world), {"group": "g", "topic": "t", "partition": "0"}
    assert found.value("shareq_share_partition_start_offset", **labels) == 1
    assert 7 <= found.value("shareq_share_partition_first_record_age_seconds", **labels, state="acquired") < 8
    assert found.value("shareq_share_partition_in_flight_limit", **labels) == 2_000


def test_what_goes_wrong_is_counted(world: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    world.until_it_serves()
    for broker in world.cluster.brokers:
        world.cluster.kill(broker)
    world.clock.advance(10_000)
    found = scraped(world)
    assert found.value("shareq_link_failed_requests_total", purpose="membership", failure="not_sent") >= 1
    assert found.value("shareq_link_lost_connections_total", purpose="membership") >= 1
    assert found.value("shareq_node_lost_slots_total") == 2 * SLOTS
    lost = [record.getMessage() for record in caplog.records if record.getMessage().startswith("slots: lost ")]
    assert len(lost) == 1  # for all of them
    assert lost[0].startswith("slots: lost __shareq_")
    assert lost[0].endswith(f"; and {2 * SLOTS - 1} more")


def test_every_metric_of_a_node_has_its_sample(world: NodeWorld) -> None:
    world.until_it_serves()
    found = scraped(world)
    own = [family for family in FAMILIES if family.name.startswith(("shareq_node_", "shareq_slot_", "shareq_link_"))]
    assert len(own) > 20
    for family in own:
        name = f"{family.name}_count" if family.kind is Kind.HISTOGRAM else family.name
        assert found.labels_of(name), family.name


def test_two_nodes_of_one_number_are_noticed(world: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    """The cause may be a copied property file, or a killed node that is not yet forgotten."""
    world.until_it_serves()
    twin = NodeWorld(behind=world.behind, kept=world.kept)
    world.clock.advance(5_000)
    for each in (world, twin):
        assert each.stands_on.problem == f"node.id {NODE_ID} is that of the node at 127.0.0.1:9092, too"
    assert caplog.text.count("one of them has to have another node.id") == 2
    twin.broker.close(clean=False)
    world.clock.advance(20_000)
    assert world.stands_on.problem is None
