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
    ShareConsumer,
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
    "ShareConsumer",
    "ShareRecord",
    "Unreachable",
    "UnsupportedApi",
]
