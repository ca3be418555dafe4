"""The cost of the broker's code for a record that is share-fetched and acknowledged, in one process with its client:

    python -m bench.share_broker [--profile FILE] [--kinds NAME ...]

Requests and answers are bytes; sockets, disk and the client's own work are excluded. Each request acknowledges the
records of the previous one, with one batch for each range, as librdkafka does. The figure is CPU time, of the best of
several runs.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from devtools.clients.requests import produce_request
from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.metadata.changes import PutConfig, ResourceName
from shareq.broker.process.allocator import keep_freed_memory
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.produce import ProduceResponse
from shareq.protocol.generated.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    PartitionData,
    ShareFetchRequest,
    ShareFetchResponse,
)
from shareq.protocol.generated.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from shareq.protocol.records.batch import RecordData, build_batch

KEYS: Final = 1_000
PARTITIONS: Final = 4
_MEMBER: Final = "m"
_BATCH_OPTIMIZED: Final = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of records: the order of keys, the records of a batch, and whether a key's records share a partition."""

    at_random: bool
    per_batch: int
    hashed: bool = False

    def keys(self, records: int) -> list[list[bytes]]:
        """Return the keys of each partition's records."""
        chance = random.Random(KEYS)
        found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        for index in range(records):
            number = chance.randrange(KEYS) if self.at_random else index % KEYS
            partition = number % PARTITIONS if self.hashed else index * PARTITIONS // records
            found[partition].append(b"key %d" % number)
        return found


KINDS: Final[Mapping[str, Kind]] = {
    "turn_1m": Kind(at_random=False, per_batch=8_500),
    "turn_16k": Kind(at_random=False, per_batch=140),
    "random_1m": Kind(at_random=True, per_batch=8_500),
    "random_16k": Kind(at_random=True, per_batch=140),
    "hashed_turn_1m": Kind(at_random=False, per_batch=8_500, hashed=True),
    "hashed_turn_16k": Kind(at_random=False, per_batch=140, hashed=True),
    "hashed_random_1m": Kind(at_random=True, per_batch=8_500, hashed=True),
    "hashed_random_16k": Kind(at_random=True, per_batch=140, hashed=True),
}


class Member:
    """A member of a group of its own, and the time the broker has spent on its requests."""

    def __init__(self, world: BrokerWorld, group: str, topic_id: bytes, *, ordered: bool) -> None:
        self._world, self._group, self._topic_id = world, group, topic_id
        configs = {"share.auto.offset.reset": "earliest"} | ({"shareq.order": "key"} if ordered else {})
        for name, value in configs.items():
            world.services.metadata.alter_configs([PutConfig(ResourceName("group", group), name, value)])
        self._connection: MockConnection = world.connect()
        joined = self._connection.call(
            ShareGroupHeartbeatRequest(group, _MEMBER, 0, None, ["t"]), 1, ShareGroupHeartbeatResponse
        )
        assert joined.error_code == ErrorCode.NONE, joined
        self._epoch = 0
        self._held: dict[int, list[AcknowledgementBatch]] = {number: [] for number in range(PARTITIONS)}
        self.cpu_s, self.records, self.ranges, self.fetches = 0.0, 0, 0, 0

    def run(self, profile: cProfile.Profile | None = None) -> None:
        """Fetch and accept until no records are left."""
        empty = 0
        while empty < 3:
            empty = 0 if self._round(profile) else empty + 1

    def _round(self, profile: cProfile.Profile | None) -> int:
        partitions = [FetchPartition(number, acks) for number, acks in self._held.items() if acks or not self._epoch]
        topics = [FetchTopic(self._topic_id, partitions)] if partitions else []
        request = ShareFetchRequest(
            self._group,
            _MEMBER,
            self._epoch,
            500,
            1,
            50 << 20,
            500,
            500,
            share_acquire_mode=_BATCH_OPTIMIZED,
            topics=topics,
            forgotten_topics_data=[],
        )
        frame = self._connection.requests.frame_of(request, 2)
        if profile is not None:
            profile.enable()
        began = time.process_time()
        self._connection.send_raw(frame)
        self._world.clock.run_until_idle()
        self.cpu_s += time.process_time() - began
        if profile is not None:
            profile.disable()
        if not self._connection.frames:
            self._world.clock.advance(500)
        answer = self._connection.receive(ShareFetchResponse)
        assert answer.error_code == ErrorCode.NONE, answer
        self._epoch += 1
        self._held = {number: [] for number in range(PARTITIONS)}
        return sum(self._taken(each) for topic in answer.responses for each in topic.partitions)

    def _taken(self, partition: PartitionData) -> int:
        ranges = partition.acquired_records
        self._held[partition.partition_index] = [
            AcknowledgementBatch(each.first_offset, each.last_offset, [1]) for each in ranges
        ]
        count = sum(each.last_offset - each.first_offset + 1 for each in ranges)
        self.records += count
        self.ranges += len(ranges)
        self.fetches += len(ranges) > 0
        return count


def filled(kind: Kind, records: int) -> tuple[BrokerWorld, bytes]:
    """Return a broker that has a topic with records of this kind, and the topic's id."""
    world = BrokerWorld()
    topic_id = world.create_topic("t", PARTITIONS).topic_id
    producer = world.connect()
    for partition, keys in enumerate(kind.keys(records)):
        for some in _parts(keys, kind.per_batch):
            data = bytes(build_batch([RecordData(key, b"x" * 100) for key in some], timestamp_ms=1))
            answer = producer.call(produce_request(data, topic="t", partition=partition), 9, ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    return world, topic_id


def _parts(keys: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    return (keys[first : first + size] for first in range(0, len(keys), size))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print for each kind what a record costs, without order by key and with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--records", type=int, default=60_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--profile", metavar="FILE", help="where a profile of the last run with order goes")
    options = parser.parse_args(arguments)
    keep_freed_memory()  # as a broker does
    for name in options.kinds:
        world, topic_id = filled(KINDS[name], options.records)
        gc.freeze()  # as a broker does when it begins to listen
        print(
            f"{name:18}", *(_best(world, topic_id, options, ordered) for ordered in (False, True)), sep="  ", flush=True
        )


def _best(world: BrokerWorld, topic_id: bytes, options: argparse.Namespace, ordered: bool) -> str:
    members = []
    for run in range(options.runs):
        member = Member(world, f"g{ordered}{run}", topic_id, ordered=ordered)
        profile = cProfile.Profile() if options.profile and ordered and run == options.runs - 1 else None
        member.run(profile)
        if profile is not None:
            profile.dump_stats(options.profile)
        else:
            members.append(member)
        assert member.records == options.records, member.records
    best = min(members, key=lambda each: each.cpu_s)
    shape = f"({best.records / best.ranges:.1f} a range, {best.records / best.fetches:.0f} of a partition)"
    return f"{'with' if ordered else 'without'} order {best.cpu_s / best.records * 1e6:.2f} µs {shape}"


if __name__ == "__main__":
    main()
