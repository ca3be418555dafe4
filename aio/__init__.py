"""An asyncio client of any Kafka cluster; see `shareq.client.aio`."""

from shareq.client.aio import (
    AcknowledgeType,
    Appended,
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    LockLost,
    Producer,
    ProducerMetrics,
    ShareConsumer,
    ShareMetrics,
    ShareRecord,
    Unreachable,
    UnsupportedApi,
)

__all__ = [
    "AcknowledgeType",
    "Appended",
    "AuthenticationFailed",
    "BrokerError",
    "ClientError",
    "ConfigError",
    "LockLost",
    "Producer",
    "ProducerMetrics",
    "ShareConsumer",
    "ShareMetrics",
    "ShareRecord",
    "Unreachable",
    "UnsupportedApi",
]
