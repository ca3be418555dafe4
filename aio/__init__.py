"""An asyncio client of any Kafka cluster: share consumers whose records are acknowledged one by one, and a producer."""

from shareq.client.aio.consumer.consumer import ShareConsumer, ShareMetrics
from shareq.client.aio.consumer.records import LockLost, ShareBatch, ShareRecord
from shareq.client.aio.producer import Producer, ProducerMetrics
from shareq.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    Unreachable,
    UnsupportedApi,
)
from shareq.client.produce.batches import Appended
from shareq.protocol.share import AcknowledgeType

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
    "ShareBatch",
    "ShareConsumer",
    "ShareMetrics",
    "ShareRecord",
    "Unreachable",
    "UnsupportedApi",
]
