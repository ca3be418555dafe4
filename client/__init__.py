"""A blocking Kafka client: share groups by ranges of offsets, and plain fetches of such ranges."""

from shareq.client.config import ClientConfig
from shareq.client.errors import (
    AuthenticationFailed,
    BrokerError,
    ClientError,
    ConfigError,
    Unreachable,
    UnsupportedApi,
)
from shareq.client.fetch import Fetched, OffsetsGone, RangeFetcher, TopicGone
from shareq.client.offsets import OffsetRanges
from shareq.client.share.range_consumer import ShareRangeConsumer
from shareq.client.share.session import AckRange, AcquiredRange
from shareq.protocol.share import AcknowledgeType

__all__ = [
    "AckRange",
    "AcknowledgeType",
    "AcquiredRange",
    "AuthenticationFailed",
    "BrokerError",
    "ClientConfig",
    "ClientError",
    "ConfigError",
    "Fetched",
    "OffsetRanges",
    "OffsetsGone",
    "RangeFetcher",
    "ShareRangeConsumer",
    "TopicGone",
    "Unreachable",
    "UnsupportedApi",
]
