"""The cost of one scrape of the metrics, and how long it holds up the broker: `python -m bench.metrics [PARTITIONS]`.

A broker without sockets leads PARTITIONS share partitions (default 10,000) of one group, each with records in flight.
With `--groups` as many groups have committed ten offsets each, with `--transactions` as many transactions are open. The
text is made in turns, between which other work gets its turns, so a client waits for the longest turn at most. Figures
are CPU time, so other programs do not show. The cost of counting one answer is measured, too.
"""

from __future__ import annotations

import argparse
import gc
import platform
import time
from typing import NamedTuple

from devtools.clients.offsets_client import OffsetsClient
from devtools.clients.transactor import Transactor
from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.dispatch.response_errors import error_reader
from shareq.broker.metrics.exposition import scrape
from shareq.broker.network.counters import Requests
from shareq.broker.share.core.values import BatchSpan
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchableTopicResponse, ShareFetchResponse
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.share import AcquireMode

GROUP = "flights-workers"
OFFSETS = 10  # of each group
REPEATS = 5
COUNTED = 200_000


class RecordBatch(NamedTuple):
    """A record batch of the log; both offsets inclusive."""

    base_offset: int
    last_offset: int


class CpuClock(VirtualClock):
    """A clock of this process's CPU time, so that turns last as long as they compute."""

    stands_still = False

    def now_ns(self) -> int:
        return time.process_time_ns()


def world_with(share_partitions: int) -> BrokerWorld:
    """Return a broker that leads so many share partitions, each with records in flight."""
    world = BrokerWorld(clock=CpuClock())
    broker = world.broker
    if not share_partitions:
        return world
    topic = world.create_topic("flights", share_partitions)
    world.folder.internal_topics.ensure(SHARE_GROUP_STATE)
    read: list[BatchSpan] = [RecordBatch(0, 9)]
    for partition in range(share_partitions):
        key = SharePartitionKey(GROUP, topic.topic_id, partition)
        broker.services.share_states.initialize(key, 0, 0)
        world.clock.run_until_idle()
        leader = broker.services.share.partitions.get_or_load(key, topic.name)
        world.clock.run_until_idle()
        assert leader.is_active
        assert leader.core.acquire("member", AcquireMode.BATCH_OPTIMIZED, 10, 10, 0, read, world.clock.now_ms())
    return world


def add_groups(world: BrokerWorld, number: int) -> None:
    """Add groups that have committed offsets."""
    topic = world.create_topic("rides", OFFSETS)
    client = OffsetsClient(world.connect(), {topic.name: topic.topic_id})
    for group in range(number):
        client.committed({(topic.name, partition): group for partition in range(OFFSETS)}, group=f"rides-{group}")


def add_transactions(world: BrokerWorld, number: int) -> None:
    """Open transactions in one partition."""
    topic = world.create_topic("payments")
    for each in range(number):
        producer = Transactor(world.connect(), transactional_id=f"payments-{each}")
        assert not producer.init()
        assert not producer.write(topic.name, b"x")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.metrics", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("partitions", nargs="?", type=int, default=10_000, help="share partitions (default 10,000)")
    parser.add_argument("--groups", type=int, default=0, help="groups of ten committed offsets each (default 0)")
    parser.add_argument("--transactions", type=int, default=0, help="open transactions (default 0)")
    arguments = parser.parse_args()
    world = world_with(arguments.partitions)
    if arguments.groups:
        add_groups(world, arguments.groups)
    if arguments.transactions:
        add_transactions(world, arguments.transactions)
    print(
        f"Python {platform.python_version()}, {platform.machine()}, {arguments.partitions:,} share partitions, "
        f"{arguments.groups:,} groups of {OFFSETS} offsets, {arguments.transactions:,} open transactions"
    )
    print(f"counting an answer: {counting():.2f} us")
    gc.freeze()  # as the process does when it begins to listen
    for _ in range(REPEATS):
        turns, size = measure(world)
        print(
            f"{sum(turns) / 1e3:.3f} s in {len(turns):,} turns: median {turns[len(turns) // 2]:.2f} ms, "
            f"99 % below {turns[len(turns) * 99 // 100]:.2f} ms, longest {turns[-1]:.2f} ms; {size / 1e6:.1f} MB"
        )


def counting() -> float:
    """Return the microseconds to time an answer to a ShareFetch of one partition and look for errors in it."""
    requests, errors_in, now_ns = Requests(), error_reader(ShareFetchResponse), time.monotonic_ns
    answer = ShareFetchResponse(responses=[ShareFetchableTopicResponse(bytes(16), [PartitionData(records=b"")])])
    began = time.process_time()
    for _ in range(COUNTED):
        for error in errors_in(answer):
            requests.failed(error)
        requests.durations.add(now_ns() - now_ns())
    return (time.process_time() - began) / COUNTED * 1e6


def measure(world: BrokerWorld) -> tuple[list[float], int]:
    """Return CPU milliseconds of each turn of one scrape, ascending, and the text's size in bytes."""
    turns: list[float] = []
    text = None
    coroutine = scrape(world.services, world.broker.dispatcher.requests, [], 0)
    while text is None:
        began = time.process_time()
        try:
            coroutine.send(None)
        except StopIteration as end:
            text = end.value
        turns.append((time.process_time() - began) * 1e3)
        world.clock.run_tick()
    return sorted(turns), len(text)


if __name__ == "__main__":
    main()
