"""A broker in the shape of testcontainers' `KafkaContainer`, for suites that have one: no Docker, no image, no wait."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from shareq.testing.broker import Broker


class KafkaContainer:
    """A replacement for `testcontainers.kafka.KafkaContainer` and `testcontainers.community.kafka.KafkaContainer`.

    It takes their arguments, and ignores those about images and containers. `config` are server properties. `broker` is
    the `shareq.testing.Broker`.
    """

    def __init__(
        self, image: str = "", port: int = 9093, config: dict[str, str] | None = None, **_ignored: Any
    ) -> None:
        self.image = image
        self.port = port
        self._config = dict(config or {})
        self.broker = Broker(config=self._config)

    def with_env(self, key: str, value: str) -> Self:
        """Set a property by its variable in Kafka's image (KAFKA_NUM_PARTITIONS is num.partitions); ignore other
        variables.

        Raises BrokerFailed for an unknown name that looks like a property's.
        """
        from shareq.broker.config.keys.known_names import is_property, nearest

        if key.startswith("KAFKA_") and key not in _OF_THE_IMAGE:
            name = key.removeprefix("KAFKA_").lower().replace("_", ".")
            if is_property(name) or (nearest(name) and not name.startswith("zookeeper.")):
                self.broker = Broker(config={**self._config, name: value})
                self._config[name] = value
        return self

    def with_kraft(self, *_ignored: Any) -> Self:
        """Do nothing: the broker uses no ZooKeeper anyway."""
        return self

    def with_cluster_id(self, _cluster_id: str) -> Self:
        """Do nothing: the broker has its own cluster id."""
        return self

    def start(self, timeout: float = 30) -> Self:
        """Start the broker, and wait until clients can connect. Raises BrokerFailed."""
        self.broker.start()
        return self

    def stop(self, force: bool = True, delete_volume: bool = True) -> None:
        """Stop the broker, and remove the data."""
        self.broker.close()

    def get_bootstrap_server(self) -> str:
        """Return HOST:PORT."""
        return self.broker.bootstrap

    def get_container_host_ip(self) -> str:
        return self.broker.host

    def get_exposed_port(self, _port: int) -> int:
        """Return the broker's port for any given port."""
        return self.broker.port

    def get_logs(self) -> tuple[bytes, bytes]:
        """Return standard output and error as Docker does: here nothing, and the log."""
        return b"", self.broker.log.encode()

    def __enter__(self) -> Self:
        self.broker.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_OF_THE_IMAGE = frozenset(
    {
        "KAFKA_LISTENERS",
        "KAFKA_ADVERTISED_LISTENERS",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP",
        "KAFKA_INTER_BROKER_LISTENER_NAME",
        "KAFKA_CONTROLLER_LISTENER_NAMES",
        "KAFKA_CONTROLLER_QUORUM_VOTERS",
        "KAFKA_NODE_ID",
        "KAFKA_BROKER_ID",
        "KAFKA_PROCESS_ROLES",
        "KAFKA_HEAP_OPTS",
        "KAFKA_OPTS",
        "KAFKA_JMX_PORT",
    }
)
