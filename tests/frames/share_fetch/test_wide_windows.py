"""A window far wider than Apache Kafka's 10,000 offsets, with a different outcome for every neighbour."""

from __future__ import annotations

from devtools.clients.requests import batch, produce
from devtools.in_memory.mock_transport import BrokerWorld
from shareq.broker.coordinator_runtime.batches import MAX_BATCH_BYTES
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from tests.interop.support.share_wire import ACCEPT, BATCH_OPTIMIZED, REJECT, Acquired, Member, ack_errors, begin_at
from tests.support.worlds.log_world import read_all

WIDTH = 60_000  # offsets; a batch of 900,000 bytes holds 45,000 state batches
BATCH = 1_000  # records
STEP = 5_000  # offsets that are acknowledged together
BROKER = {
    "group.share.partition.max.record.locks": str(WIDTH),
    "group.share.max.partition.max.record.locks": str(WIDTH),
    "share.coordinator.snapshot.update.records.per.snapshot": "2",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.segment.bytes": "1048576",
}


class Queue:
    def __init__(self) -> None:
        self.world = BrokerWorld(BROKER)
        self.topic_id = self.world.create_topic("t").topic_id
        self.client = self.world.connect()
        for _ in range(WIDTH // BATCH):
            produce(self.client, "t", batch(*[b"v"] * BATCH))
        begin_at(self.client, "g", "t", [0])
        self.member = self.take([Acquired(0, WIDTH - 1, 1)])

    def take(self, expected: list[Acquired]) -> Member:
        member = Member(self.world.connect(), "g", "m", self.topic_id)
        member.fetch(WIDTH, mode=BATCH_OPTIMIZED, max_wait_ms=0)
        assert member.acquired == expected
        return member

    def acknowledge_in_turn(self, first: int) -> None:
        last = first + STEP - 1
        kinds = [REJECT if offset % 2 else ACCEPT for offset in range(first, last + 1)]
        assert ack_errors(self.member.acknowledge((first, last, kinds))) == [ErrorCode.NONE]

    def stored_ranges(self) -> int:
        shard = self.world.services.share_states.partitions.get(0).shard
        state = shard.state_of(SharePartitionKey("g", self.topic_id, 0))
        assert state is not None
        return len(state.batches)

    def largest_record(self) -> int:
        """Return the bytes of the largest value in the share coordinator's topic."""
        log = self.world.folder.logs.get("__share_group_state", 0)
        return max(len(record.value or b"") for record in read_all(log))


def test_every_record_may_go_another_way_than_its_neighbours() -> None:
    """One record at the front is held throughout, so that nothing after it is forgotten."""
    queue = Queue()
    for first in range(1, WIDTH - STEP, STEP):
        queue.acknowledge_in_turn(first)
    assert queue.stored_ranges() == WIDTH - STEP
    assert queue.largest_record() > MAX_BATCH_BYTES
    size = queue.world.folder.logs.get("__share_group_state", 0).size_bytes
    queue.world.clock.advance(25_000)  # the log is cleaned, no lock runs out
    assert queue.world.folder.logs.get("__share_group_state", 0).size_bytes < size / 2
    assert queue.largest_record() > MAX_BATCH_BYTES
    queue.world.restart()
    assert queue.stored_ranges() == WIDTH - STEP
    queue.take([Acquired(0, 0, 1), Acquired(WIDTH - STEP + 1, WIDTH - 1, 1)])
