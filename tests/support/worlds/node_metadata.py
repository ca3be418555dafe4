"""A broker with a node's metadata in front of a simulated cluster; its coordinators and logs are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final, TypeVar, cast

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.broker import Broker
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import ConfigService
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.loop.coroutines import beginner, in_ticks
from shareq.broker.metadata.features import SHARE_VERSION
from shareq.cluster.mirror.topics import TopicMirror
from shareq.cluster.node.metadata import NodeMetadata
from shareq.cluster.state.slot import StateTopic
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ApiError
from shareq.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from shareq.protocol.primitives import Message
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.world import ClusterWorld
from tests.support.fakes.kept_by_nodes import MemoryKept
from tests.support.fakes.memory_ground import MemoryGround

R = TypeVar("R", bound=Message)

NODE_ID: Final = 1_000_000
SLOTS: Final = {
    SHARE_GROUP_STATE: StateTopic("__shareq_state", b"s" * 16, 4, 1 << 20, compacted=False),
    CONSUMER_OFFSETS: StateTopic("__shareq_groups", b"g" * 16, 3, 1 << 20, compacted=True),
}
_SERVED: Final = (
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
)


class NodeMetadataGround(MemoryGround):
    def __init__(self, env: Environment, config: BrokerConfig, world: ClusterWorld) -> None:
        super().__init__(env, config)
        self.mirror = TopicMirror(env, world.link, beginner(env.budget, in_ticks(env.clock.call_soon)))
        self.kept = MemoryKept(env.clock.call_soon)
        self.metadata = NodeMetadata(  # type: ignore[assignment]
            env,
            self.mirror,
            self.kept,
            cluster_id=world.cluster.cluster_id,
            features={SHARE_VERSION: 2},
            internal=SLOTS,
        )
        self.configs = ConfigService(config, self.node_metadata)
        self.handlers = {**self.handlers, **{key: HANDLERS[key] for key in _SERVED}}

    @property
    def node_metadata(self) -> NodeMetadata:
        return cast(NodeMetadata, self.metadata)

    async def auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        return await self.mirror.auto_create(names)


class NodeMetadataWorld(BrokerWorld):
    def __init__(self, settings: ClusterSettings | None = None, properties: Mapping[str, str] | None = None) -> None:
        self.cluster_world = ClusterWorld(settings)
        self.cluster = self.cluster_world.cluster
        self.ground: NodeMetadataGround | None = None
        super().__init__({"node.id": str(NODE_ID), **(properties or {})}, clock=self.cluster_world.clock)

    @property
    def stands_on(self) -> NodeMetadataGround:
        assert self.ground is not None
        return self.ground

    def _boot(self) -> Broker:
        env = Environment(self.clock, Random(1), cast(Fs, None))
        self.ground = NodeMetadataGround(env, self.config, self.cluster_world)
        broker = Broker(env, self.config, self.ground)
        broker.start()
        return broker

    def ask(self, client: MockConnection, request: Message, version: int, response_class: type[R]) -> R:
        client.send(request, version)
        self.clock.run_until_idle()
        while not client.frames:
            assert self.clock.advance_to_next_timer(), "no answer comes"
        return client.receive(response_class)
