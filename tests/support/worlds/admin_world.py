"""A broker for the metadata and admin handlers, over an in-memory database, and a way to call them.

`World.call` encodes and decodes request and response, so every test also shows that the version can express them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeVar, cast

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.config.service import ConfigService
from shareq.broker.coordinator_runtime.routes import AS_APACHE_KAFKA
from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.coroutines import plain_handler
from shareq.broker.dispatch.table import HANDLERS
from shareq.broker.foundation.environment import Environment, Fs
from shareq.broker.foundation.loop.turns import Turns
from shareq.broker.foundation.pending import Pending
from shareq.broker.metadata.store import MetadataStore
from shareq.broker.network.connection import Connection
from shareq.broker.quotas.clients import ClientQuotas
from shareq.broker.quotas.owned_rate import OwnedRate
from shareq.broker.services import Made
from shareq.broker.topics.creation import AUTO_CREATED_BURST_S, AUTO_CREATED_PER_SECOND, auto_create
from shareq.broker.topics.endpoint import Endpoint
from shareq.broker.topics.internal import InternalTopics
from shareq.broker.topics.leaders import LeaderMap
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ApiError
from shareq.protocol.primitives import Message
from tests.support.coroutines import whole

if TYPE_CHECKING:
    from shareq.broker.services import Services

M = TypeVar("M", bound=Message)


def random_only(seed: int = 1) -> Environment:
    return Environment(VirtualClock(), Random(seed), cast(Fs, None))


@dataclass(frozen=True, slots=True)
class OnListener:
    listener: str
    principal: str = "User:test"
    closed: bool = False

    def on_close(self, _callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


class _Context(RequestContext):
    """The context of handlers, also those of a data folder that use only its metadata."""

    __slots__ = ("ground",)

    def __init__(self, services: Services, connection: Connection, api_version: int, client_id: str | None) -> None:
        super().__init__(services, connection, api_version, client_id)
        self.ground = services.ground


class World:
    """One broker's metadata and configuration, with the names of `Services`.

    A second world over the same `db` is the broker after a restart.
    """

    authorizer = None

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        *,
        db: MemoryMetaDb | None = None,
        seed: int = 1,
        features: Mapping[str, int] | None = None,
    ) -> None:
        self.db = db or MemoryMetaDb()
        self.started_with = BrokerConfig.load(properties)
        self.clock = VirtualClock()
        self.env = Environment(self.clock, Random(seed), cast(Fs, None))
        self.turns = Turns(self.clock.call_soon)
        self.metadata = MetadataStore(self.db, self.env, features=features)
        self.configs = ConfigService(self.started_with, self.metadata)
        self.admin = ConfigAdmin(self.configs, self.metadata)
        self.leaders = LeaderMap()
        self.quotas = ClientQuotas()
        self.auto_creations = OwnedRate(AUTO_CREATED_PER_SECOND, AUTO_CREATED_BURST_S)
        self.internal_topics = InternalTopics(self.metadata, lambda: self.configs.broker)
        self.made = Made()
        self.ground = SimpleNamespace(
            handlers=HANDLERS,
            metadata=self.metadata,
            auto_create=self._auto_create,
            host=SimpleNamespace(routes=AS_APACHE_KAFKA),
        )

    async def _auto_create(self, names: Sequence[str]) -> Mapping[str, ApiError]:
        return await auto_create(self.metadata, self.configs, names)

    def endpoint_for(self, listener: str) -> Endpoint:
        return Endpoint(self.started_with.node_id, f"{listener.lower()}.test", 9092)

    def context(self, version: int, listener: str = "BROKER") -> RequestContext:
        return _Context(cast("Services", self), cast(Connection, OnListener(listener)), version, "test")

    def call(self, response_class: type[M], request: Message, version: int) -> M:
        key = ApiKey(request.API_KEY)
        row = HANDLERS[key]
        assert version in row.served
        received, _ = codec(key).request_class.decode(request.encode(version), version)
        self.clock.run_until_idle()  # the turn of the call before is over
        answer = plain_handler(row)(self.context(version), received)
        self.clock.run_until_idle()
        if isinstance(answer, Pending):
            answer = answer.value
        decoded, _ = response_class.decode(whole(answer, version).encode(version), version)
        return decoded
