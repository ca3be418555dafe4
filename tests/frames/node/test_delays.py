"""Records with a delivery time, records that members release with one, and records that expire, through a node."""

from __future__ import annotations

from typing import Final

from devtools.clients.requests import produce
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.names import NOT_AFTER, NOT_BEFORE
from shareq.protocol.records.batch import RecordData, build_batch
from tests.frames.node.test_node import acquired, assigned
from tests.frames.share_fetch.test_delays_over_frames import give_back
from tests.support.clients.share_client import (
    ACCEPT,
    RELEASE,
    Acquired,
    Place,
    ShareClient,
    acquired_of,
    configure,
    from_the_start,
)
from tests.support.cluster.node_world import NODE_ID, NodeWorld

STEP_MS: Final = 20


def test_times_of_senders_and_of_members_hold_on_the_next_node() -> None:
    """The first node is killed while a record waits for its sender's time, and another for its member's."""
    world = NodeWorld()
    world.cluster.create_topic("t", 1)
    world.until_it_serves()
    from_the_start(world)
    configure(world, shareq_delay_enable="true")
    client = ShareClient(world)
    assigned(client, "t")
    place = (world.cluster.topic("t").topic_id, 0)
    sent_ms = world.clock.wall_ms()
    records = [RecordData(None, b"v", ((NOT_BEFORE, b"%d" % (sent_ms + 30_000)),)), *[RecordData(None, b"v")] * 2]
    batch = bytes(build_batch(records, timestamp_ms=sent_ms))
    assert produce(world.connect(), "t", batch).error_code == ErrorCode.NONE
    assert acquired(client, place) == [(1, 2, 1)]
    given_ms = world.clock.wall_ms()
    assert give_back(client, place, (1, 1, RELEASE), (2, 2, ACCEPT), later=[Later(1, 1, 40_000)]) is ErrorCode.NONE
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1)
    world.clock.advance(5_000)
    world.broker.close(clean=False)
    other.until_it_serves()
    client = ShareClient(other)
    assigned(client, "t")
    assert comes_first(client, place, sent_ms + 30_000) == [(0, 0, 1)]
    assert client.acknowledge(place, (0, 0, ACCEPT)) is ErrorCode.NONE
    assert comes_first(client, place, given_ms + 40_000) == [(1, 1, 2)]


def comes_first(client: ShareClient, place: Place, due_ms: int) -> list[Acquired]:
    """Return the record that is acquired first, which has to come at its time."""
    clock = client.world.clock
    while not (found := acquired_of(client.fetch(place))):
        assert clock.wall_ms() <= due_ms + STEP_MS
        clock.advance(STEP_MS)
    assert due_ms <= clock.wall_ms() <= due_ms + STEP_MS
    return found


def test_what_expires_is_handed_out_by_no_node() -> None:
    """The first node is killed while members hold two records, which expire before the next one loads them."""
    world = NodeWorld()
    world.cluster.create_topic("t", 1)
    world.until_it_serves()
    from_the_start(world)
    configure(world, shareq_ttl_ms="30000", shareq_not_after_enable="true")
    client = ShareClient(world)
    assigned(client, "t")
    place = (world.cluster.topic("t").topic_id, 0)
    sent_ms = world.clock.wall_ms()
    until = [sent_ms + 2_000, sent_ms - 1, sent_ms + 90_000_000]
    records = [RecordData(None, b"v", ((NOT_AFTER, b"%d" % each),)) for each in until]
    for batch in (records, [RecordData(None, b"v", (), sent_ms + 60_000)]):
        sent = bytes(build_batch(batch, timestamp_ms=sent_ms))
        assert produce(world.connect(), "t", sent).error_code == ErrorCode.NONE
    assert acquired(client, place) == [(0, 0, 1), (2, 3, 1)]
    other = NodeWorld(behind=world.behind, kept=world.kept, node_id=NODE_ID + 1)
    world.clock.advance(31_000)
    world.broker.close(clean=False)
    other.until_it_serves()
    client = ShareClient(other)
    assigned(client, "t")
    assert acquired(client, place) == [(3, 3, 2)]
