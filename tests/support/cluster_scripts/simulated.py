from __future__ import annotations

from collections import deque

from shareq.broker.foundation.pending import Pending
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.primitives import Message
from tests.support.cluster.link import SimulatedLink
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.settings import ClusterSettings
from tests.support.cluster.versions import KafkaRelease
from tests.support.cluster.world import ClusterWorld
from tests.support.cluster_scripts.conversation import OF_ALL, PROPERTIES, Setting


class SimulatedKafka:
    """One simulated broker on virtual time: only waiting requests take time."""

    def __init__(self, release: KafkaRelease, setting: Setting) -> None:
        properties = {**OF_ALL, **PROPERTIES[setting]}
        settings = ClusterSettings(
            release=release,
            brokers=(1,),
            properties={name: value for name, value in OF_ALL.items() if name.startswith("log.")},
            initial_rebalance_delay_ms=int(OF_ALL["group.initial.rebalance.delay.ms"]),
            min_session_timeout_ms=int(OF_ALL["group.min.session.timeout.ms"]),
            producer_id_expiration_ms=int(properties.get("producer.id.expiration.ms", 86_400_000)),
            transactional_id_expiration_ms=int(properties.get("transactional.id.expiration.ms", 604_800_000)),
        )
        self._world = ClusterWorld(settings)
        self._release = release
        self._links: dict[str, SimulatedLink] = {}
        self._sent: dict[str, deque[Pending[Message | LinkFailure]]] = {}

    def newest(self, api: ApiKey) -> int:
        known = codec(api)
        return min(self._release.apis[api][1], known.max_version - known.latest_version_unstable)

    def send(self, connection: str, message: Message, version: int) -> None:
        link = self._links.get(connection)
        if link is None:
            link = self._links[connection] = self._world.new_link("script")
        answer = link.send(1, message, min_version=version, max_version=version)
        self._sent.setdefault(connection, deque()).append(answer)
        self._world.clock.run_until_idle()

    def receive(self, connection: str) -> Message:
        answer = self._world.wait(self._sent[connection].popleft())
        assert not isinstance(answer, LinkFailure), answer
        return answer

    def pass_ms(self, ms: int) -> None:
        self._world.clock.advance(ms)
        self._world.cluster.expire_producers()

    def wall_ms(self) -> int:
        return self._world.clock.wall_ms()

    def deny(self, resource: Resource, name: str, *operations: Operation) -> None:
        self._world.cluster.rights.deny(resource, name, *operations)
