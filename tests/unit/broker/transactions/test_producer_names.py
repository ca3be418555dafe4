"""Producers of partitions by owner: an owner at its bound loses its silent producers before it is refused."""

from __future__ import annotations

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.quotas.owned_names import SWEEP_INTERVAL_MS
from shareq.broker.transactions.names import SILENT_MS, ProducerNames
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import read_header
from tests.support.kafka.transactions import numbered


class Log:
    def __init__(self) -> None:
        self.producers = ProducerStates()


class World:
    """One partition, `t-0`, that remembers the producers of its batches."""

    def __init__(self, most: int) -> None:
        self.clock = VirtualClock()
        self.log: Log | None = Log()
        self.names = ProducerNames(most, self.log_of, self.clock)

    def log_of(self, topic: str, partition: int) -> Log | ErrorCode:
        assert (topic, partition) == ("t", 0)
        return self.log or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def send(self, producer_id: int, owner: str = "x", *, transactional: bool = False) -> bool:
        """Send a batch; return whether it was admitted. The log asks only about producers that it does not know."""
        if self.log is None:
            self.log = Log()
        producers = self.log.producers
        known = producers.get(producer_id)
        if known is None and not self.names.admit("t", 0, producer_id, owner):
            return False
        sequence = 0 if known is None else known.batches[-1].last_sequence + 1
        batch = numbered(b"", producer_id=producer_id, sequence=sequence, transactional=transactional)
        producers.append(read_header(batch), 0, self.clock.wall_ms())
        producers.written()
        return True


def test_one_too_many_is_refused_and_another_owners_is_not() -> None:
    world = World(2)
    assert [world.send(i) for i in range(3)] == [True, True, False]
    assert world.send(9, "y")
    assert world.send(0)


def test_silent_producers_make_room_but_open_transactions_do_not() -> None:
    world = World(3)
    assert world.send(0)
    assert world.send(1, transactional=True)
    assert world.send(2)
    world.clock.advance(SILENT_MS)
    assert world.send(2)
    assert not world.send(3)  # exactly so long is not longer
    world.clock.advance(SWEEP_INTERVAL_MS)
    assert world.send(3)
    assert world.log is not None
    assert world.log.producers.producer_ids() == [1, 2, 3]
    world.clock.advance(SWEEP_INTERVAL_MS)
    assert not world.send(4)


def test_producers_far_from_the_bound_are_remembered() -> None:
    world = World(1_000)
    for i in range(500):
        assert world.send(i)
        world.clock.advance(SILENT_MS)
    assert world.log is not None
    assert len(world.log.producers) == 500


def test_a_deleted_topics_producers_are_gone() -> None:
    world = World(2)
    assert [world.send(0), world.send(1)] == [True, True]
    world.log = None
    assert [world.send(2), world.send(3)] == [True, True]
