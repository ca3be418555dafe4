"""The broker: all parts of one process except its sockets. It runs on `env.clock`, without an event loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shareq.broker.config.broker_config import BrokerConfig
from shareq.broker.dispatch.dispatcher import Dispatcher
from shareq.broker.foundation.environment import Environment
from shareq.broker.services import Services
from shareq.broker.topics.endpoint import Endpoint
from shareq.coordinator.ports import TopicImage

if TYPE_CHECKING:
    from shareq.broker.ground import Ground


class Broker:
    """One broker. Its user calls `start`, passes connections to it, then calls `stop_waiting` and `close`.

    `services` are its parts; `handler_for` makes the handler of a new connection's frames. Everything runs on the
    thread of `env.clock`. The broker opens and closes its `ground`. `endpoints` are the addresses to which each
    listener's clients connect.
    """

    def __init__(
        self,
        env: Environment,
        config: BrokerConfig,
        ground: Ground[Services],
        *,
        endpoints: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.services = Services(env, config, ground, endpoints=endpoints)
        self.dispatcher = Dispatcher(self.services)
        self.handler_for = self.dispatcher.handler_for

    def start(self) -> None:
        """Open the ground, and have the coordinators load the state that they need.

        Raise the errors of the ground; the caller must call `close` then, too.
        """
        self._listen()
        self.services.ground.open(self.services)

    def stop_waiting(self) -> None:
        """Answer long polls with the records found so far, because the broker is about to stop."""
        self.services.fetch_waits.finish_all()
        for service in self.services.made:
            service.stop_waiting()

    def close(self, *, clean: bool = True) -> None:
        """Close the ground; with `clean`, first write everything out."""
        services = self.services
        services.turns.close()
        services.audit.flush()
        for service in services.made:
            service.close()
        services.ground.close(clean=clean)

    # -- news, in the order in which the parts have to get them; what the ground hears of itself, it hears first

    def _listen(self) -> None:
        ground, waits = self.services.ground, self.services.fetch_waits
        ground.fetched.add_listener(waits.on_high_watermark)
        ground.fetched.add_log_start_listener(waits.on_log_start)
        ground.metadata.on_topics_changed(self._topics_changed)
        ground.metadata.on_topics_deleted(self._topics_deleted)
        ground.metadata.on_features_changed(self._features_changed)
        ground.leaders.on_move(self._leader_moved)

    def _topics_changed(self, topics: Sequence[TopicImage]) -> None:
        for service in self.services.made:
            service.topics_changed(topics)

    def _topics_deleted(self, topics: Sequence[TopicImage]) -> None:
        """Have the other parts and the ground forget topics that were deleted from the metadata."""
        self.services.fetch_waits.topics_deleted({topic.topic_id for topic in topics})
        for service in self.services.made:
            service.topics_go(topics)
        for service in self.services.made:
            service.topics_deleted(topics)

    def _leader_moved(self, topic: str, partition: int) -> None:
        self.services.fetch_waits.leader_moved(topic, partition)
        for service in self.services.made:
            service.leader_moved(topic, partition)

    def _features_changed(self) -> None:
        if not self.services.metadata.share_groups_enabled:
            for service in self.services.made:
                service.share_groups_disabled()
