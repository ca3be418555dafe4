"""The records of a node on a simulated cluster, for unit tests that inspect its requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from shareq.broker.foundation.loop.coroutines import Waiting
from shareq.broker.foundation.pending import Pending
from shareq.broker.log.segments.reader import ReadResult
from shareq.cluster.link.ports import BrokerAddress, LinkFailure, Purpose
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.records.feed import RecordFeed
from shareq.cluster.records.source import PartitionRecords
from shareq.coordinator.ports import TopicImage
from shareq.protocol.primitives import Message
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld
from tests.support.coroutines import begun

T = TypeVar("T")
M = TypeVar("M", bound=Message)


class Sent(NamedTuple):
    node: int | None
    message: Message
    purpose: Purpose


class SeenLink:
    def __init__(self, world: ClusterWorld) -> None:
        self._link = world.link
        self.sent: list[Sent] = []

    @property
    def brokers(self) -> Mapping[int, BrokerAddress]:
        return self._link.brokers

    def send(
        self,
        node: int | None,
        message: Message,
        *,
        purpose: Purpose = Purpose.GENERAL,
        timeout_ms: int | None = None,
        min_version: int = 0,
        max_version: int | None = None,
        lane: int = 0,
    ) -> Pending[Message | LinkFailure]:
        self.sent.append(Sent(node, message, purpose))
        return self._link.send(
            node,
            message,
            purpose=purpose,
            timeout_ms=timeout_ms,
            min_version=min_version,
            max_version=max_version,
            lane=lane,
        )

    def offers(self, node: int | None, api_key: int) -> int | None:
        return self._link.offers(node, api_key)

    def on_lost(self, listener: Callable[[int, Purpose], None]) -> None:
        self._link.on_lost(listener)

    def close(self) -> None:
        self._link.close()

    def requests(self, kind: type[M], purpose: Purpose | None = None) -> list[M]:
        return [
            each.message
            for each in self.sent
            if isinstance(each.message, kind) and (purpose is None or each.purpose is purpose)
        ]


class RecordsRig:
    """A cluster, and a node that reads from it.

    `heard` are the announced partitions; `cut` has the partitions that lost records, with the first lost offset.
    """

    def __init__(self, settings: ClusterSettings | None = None, *, budget: int = 1 << 24) -> None:
        self.world = ClusterWorld(settings)
        self.cluster, self.clock = self.world.cluster, self.world.clock
        self.link = SeenLink(self.world)
        env = self.world.env

        def begin(coroutine: Waiting[T], /) -> Pending[T]:
            return begun(env, coroutine)

        self.mirror = TopicMirror(env, self.link, begin)
        self.feed = RecordFeed(
            env, self.link, self.mirror, self.mirror, begin, budget=budget, led_epoch=lambda topic_id, partition: 3
        )
        self.heard: list[int] = []
        self.starts: list[int] = []
        self.cut: list[tuple[int, int]] = []
        self.feed.add_listener(lambda source: self.heard.append(source.partition))
        self.feed.add_log_start_listener(lambda source: self.starts.append(source.log_start_offset))
        self.feed.add_truncation_listener(lambda source: self.cut.append((source.partition, source.high_watermark)))

    def create(self, name: str, partitions: int = 1, *, replicas: int = 3) -> None:
        self.cluster.create_topic(name, partitions, replication_factor=replicas)
        assert isinstance(self.world.wait(self.mirror.find(name)), TopicImage)

    def open(self, name: str, partition: int = 0) -> PartitionRecords:
        source = self.feed.get(name, partition)
        self.clock.advance(5)
        assert source.has_ends
        return source

    def read(
        self, source: PartitionRecords, offset: int, max_bytes: int = 1 << 20, *, committed: bool = False
    ) -> ReadResult:
        upto = source.last_stable_offset if committed else source.high_watermark
        found = source.read(offset, max_bytes, upto=upto)
        if not isinstance(found, ReadResult):
            self.clock.advance(5)
            found = source.read(offset, max_bytes, upto=upto)
        assert isinstance(found, ReadResult), found
        return found
