"""A broker's ground in memory: fake logs of coordinators and records; and a broker on it.

The module also serves as the ground's metrics module: it has no metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Final, cast

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.mock_transport import BrokerWorld
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import ConfigService
from shareq.broker.coordinator_runtime.ports import CoordinatorHost
from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.fetch.ports import FetchedLog
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.handler_rows import HandlerRow
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.metrics.families import families_with
from shareq.broker.metrics.rows import Ends, Snapshot
from shareq.broker.services import Services
from shareq.broker.share.dlq.ports import QueueTopics
from shareq.broker.share.ports import RecordSource
from shareq.broker.topics.creation import auto_create
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.leaders import LeaderMap
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ApiError
from tests.support.fakes.memory_log import MemoryLog, MemoryLogs, MemorySources

if TYPE_CHECKING:
    from shareq.broker.metrics.family import Family

FAMILIES: Final[tuple[Family, ...]] = families_with(())

SERVED: Final = (
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.FIND_COORDINATOR,
    ApiKey.METADATA,
    ApiKey.FETCH,
)


async def take(_into: Snapshot, _services: Services) -> Ends:
    """Register nothing: the ground has no metrics of its own."""
    return {}


class HeardMemorySources(MemorySources):
    def __init__(self, metadata: MetadataStore) -> None:
        super().__init__(metadata)
        self._listeners: list[Callable[[RecordSource], None]] = []

    def add_listener(self, on_high_watermark: Callable[[RecordSource], None]) -> None:
        self._listeners.append(on_high_watermark)

    def announce(self, topic: str, partition: int) -> None:
        for listener in self._listeners:
            listener(self.get(topic, partition))


class HeardMemoryLogs(MemoryLogs):
    def __init__(self, metadata: MetadataStore) -> None:
        super().__init__(metadata)
        self._listeners: list[Callable[[FetchedLog], None]] = []

    def add_listener(self, on_high_watermark: Callable[[FetchedLog], None]) -> None:
        self._listeners.append(on_high_watermark)

    def add_log_start_listener(self, on_log_start: Callable[[FetchedLog], None]) -> None:
        self._listeners.append(on_log_start)

    def announce(self, log: MemoryLog) -> None:
        for listener in self._listeners:
            listener(log)


class MemoryGround:
    """A `Ground` of fakes.

    `handlers` are those of a data folder that every ground can serve, with Fetch up to v11. `life` records the calls:
    "open", then the way it was closed.
    """

    name: Final = "memory"
    states: Final = None
    nodes: Final = None
    metrics: Final = __name__
    first_used: Final = ()

    def __init__(self, env: Environment, config: BrokerConfig) -> None:
        self.metadata = MetadataStore(MemoryMetaDb(), env)
        self.configs = ConfigService(config, self.metadata)
        self.leaders = LeaderMap()
        self.logs = MemoryLogs(self.metadata)
        self.host = CoordinatorHost(env, self.metadata, self.logs, self.leaders, AS_APACHE_KAFKA, believes_absence=True)
        self.sources = HeardMemorySources(self.metadata)
        self.fetched = HeardMemoryLogs(self.metadata)
        self.internal_topics = InternalTopics(self.metadata, lambda: self.configs.broker)
        self.lookup = self.fetched.lookup(self.leaders)
        fetch, hello = HANDLERS[ApiKey.FETCH], HANDLERS[ApiKey.API_VERSIONS]
        self.handlers: Mapping[ApiKey, HandlerRow] = {
            **{key: HANDLERS[key] for key in SERVED},
            ApiKey.FETCH: fetch.within(fetch.served.first, 11),
            ApiKey.API_VERSIONS: hello.within(hello.served.first, 3),
        }
        self.life: list[str] = []
        self.problem: str | None = None
        self.left: Pending[None] = completed(None)

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        return await auto_create(self.metadata, self.configs, names)

    def queues(self, turns: Turns) -> QueueTopics:
        raise AssertionError("no group here has a queue")

    def open(self, services: Services) -> None:
        assert services.ground is self
        self.life.append("open")

    def leave(self) -> Pending[None]:
        self.life.append("left")
        return self.left

    def close(self, *, clean: bool) -> None:
        self.life.append("closed" if clean else "left as it was")


class GroundWorld(BrokerWorld):
    """A broker on a `MemoryGround`. Appends of its coordinators are durable once the clock has run until idle."""

    def __init__(self) -> None:
        self.ground: MemoryGround | None = None
        super().__init__(clock=_FlushingClock(self._flush))

    @property
    def stands_on(self) -> MemoryGround:
        assert self.ground is not None
        return self.ground

    def _flush(self) -> int:
        return 0 if self.ground is None else self.ground.logs.flush()

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(1), cast(Fs, None))
        self.ground = MemoryGround(env, self.config)
        broker = Broker(env, self.config, self.ground)
        broker.start()
        return broker


class _FlushingClock(VirtualClock):
    def __init__(self, flush: Callable[[], int]) -> None:
        super().__init__()
        self._flush = flush

    def run_until_idle(self) -> int:
        calls = super().run_until_idle()
        while self._flush():
            calls += super().run_until_idle()
        return calls
