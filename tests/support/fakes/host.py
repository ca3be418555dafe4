"""The host of a coordinator in a unit test: virtual time, topics and logs in memory."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final, TypeVar, cast

from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.loop.coroutines import Begin
from shareq.broker.foundation.pending import Pending
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.leaders import Leader, LeaderMap, Node
from tests.support.coroutines import begun
from tests.support.fakes.memory_log import MemoryLogs
from tests.support.fakes.topics import MemoryTopics

T = TypeVar("T")

ELSEWHERE: Final = Leader(Node(2, {"PLAINTEXT": Endpoint(2, "other.test", 9092)}), 1)
"""Another broker, which is not known to be alive."""


class FakeHost:
    """The ports of one broker's coordinators, combined in `host`. Internal topics have 2 partitions."""

    def __init__(self, **topics: int) -> None:
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(1), cast(Fs, None))
        self.topics = MemoryTopics(**topics)
        self.logs = MemoryLogs(self.topics)
        self.leaders = LeaderMap()
        self.host = CoordinatorHost(
            self.env, self.topics, self.logs, self.leaders, AS_APACHE_KAFKA, believes_absence=True
        )
        self.begin: Begin = partial(begun, self.env)
        counts = ("offsets.topic", "share.coordinator.state.topic", "transaction.state.log")
        self.config = BrokerConfig.load({f"{name}.num.partitions": "2" for name in counts})
        self.internal_topics = InternalTopics(self.topics, lambda: self.config)

    def answer(self, pending: Pending[T]) -> T:
        """Return the answer, after checking that it did not come before its records were durable."""
        assert not pending.done, "answered before anything was durable"
        self.logs.flush()
        return pending.value

    def impossible_topics(self) -> None:
        self.topics.failure = OSError(28, "No space left on device")
