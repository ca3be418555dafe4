"""The leaders of share partitions on fakes: topic `t` with two partitions, group `g` whose state begins at offset 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, cast

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.pending import Pending
from shareq.broker.network.answer_budget import AnswerBudget
from shareq.broker.share.core.partition import AckBatch
from shareq.broker.share.fetch import FetchedPartition, ShareFetch, ShareFetchHost, ShareFetchParams, WantedPartition
from shareq.broker.share.leader import SharePartitionLeader
from shareq.broker.share.partitions import SharePartitionManager
from shareq.broker.topics.leaders import LeaderMap
from shareq.coordinator.ports import ShareGroupSettings
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, AcquireMode
from tests.support.fakes.memory_log import MemorySource, MemorySources
from tests.support.fakes.settings import GroupSettings
from tests.support.fakes.share_states import KeptState, MemoryShareStates
from tests.support.fakes.topics import MemoryTopics

LOCK_MS: Final = 1_000


class ShareRig:
    def __init__(self, *, initialized: bool = True, believes_absence: bool = True) -> None:
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(1), cast(Fs, None))
        self.topics = MemoryTopics(t=2)
        self.topic_id = self.topics.topics()[0].topic_id
        self.sources = MemorySources(self.topics)
        self.sources.believes_absence = believes_absence
        self.settings = GroupSettings(ShareGroupSettings(record_lock_duration_ms=LOCK_MS))
        self.leader_map = LeaderMap()
        self.states = MemoryShareStates()
        self.manager = SharePartitionManager(self.env, self.sources, self.settings, self.leader_map, self.states)
        self.budget = AnswerBudget(self.clock)
        self.host = ShareFetchHost(self.env, self.manager, self.topics, self.budget)
        if initialized:
            for partition in (0, 1):
                self.states.states[self.key(partition)] = KeptState(1, 0)

    def key(self, partition: int = 0, group: str = "g") -> SharePartitionKey:
        return SharePartitionKey(group, self.topic_id, partition)

    def source(self, partition: int = 0) -> MemorySource:
        return self.sources.get("t", partition)

    def leader(self, partition: int = 0) -> SharePartitionLeader:
        """Return the partition's leader, which is loaded if the persister answers at once."""
        return self.manager.get_or_load(self.key(partition), "t")

    def fetch(
        self,
        *partitions: int,
        member: str = "m",
        wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 100_000,
        max_records: int = 500,
        mode: AcquireMode = AcquireMode.BATCH_OPTIMIZED,
        refuse: Callable[[str], ErrorCode] | None = None,
    ) -> ShareFetch:
        """Return a fetch that is not started; of partition 0 if none is named."""
        params = ShareFetchParams("g", member, mode, wait_ms, min_bytes, max_bytes, max_records, 500)
        wanted = [WantedPartition(self.topic_id, each, "t") for each in partitions or (0,)]
        level = self.settings.share_group("g").isolation_level
        return ShareFetch(self.host, level, params, wanted, refuse)

    def start(self, *partitions: int, member: str = "m", wait_ms: int = 0) -> Pending[list[FetchedPartition]]:
        return self.fetch(*partitions, member=member, wait_ms=wait_ms).start()

    def acquire(self, *partitions: int, member: str = "m") -> list[tuple[int, int, int]]:
        """Fetch without waiting and return the acquired ranges: first and last offset, delivery count."""
        return ranges(self.start(*partitions, member=member).value)

    def acknowledge(
        self, first: int, last: int, kind: AcknowledgeType = AcknowledgeType.ACCEPT, member: str = "m"
    ) -> Pending[ErrorCode]:
        return self.manager.acknowledge(self.leader(), member, [AckBatch(first, last, [kind])])


def ranges(fetched: Sequence[FetchedPartition]) -> list[tuple[int, int, int]]:
    """Return the acquired ranges: first and last offset (inclusive), delivery count; fail on an error."""
    assert not any(each.error for each in fetched)
    return [(first, last, count) for each in fetched for first, last, count in each.acquired]
