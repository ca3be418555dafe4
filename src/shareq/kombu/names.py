"""How queues and exchanges are named as topics, what options the transport takes, and messages as bytes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kombu.utils.json import dumps, loads

from shareq.client.errors import ConfigError

SCHEME: Final = "kafka-share"
ROUTING_KEY: Final = "routing_key"
"""The header of a record of an exchange's topic."""
GROUP_CONFIG: Final[dict[str, str]] = {"share.auto.offset.reset": "earliest"}
EXCHANGE_CONFIG: Final[dict[str, str]] = {"retention.ms": "3600000"}
"""What is said to all has been heard, or never will be."""
_PROPERTIES: Final = frozenset(
    {
        *("delivery_mode", "correlation_id", "reply_to", "expiration", "message_id", "timestamp", "type", "user_id"),
        *("app_id", "cluster_id", "priority"),
        *("delivery_info", "delivery_tag", "body_encoding"),  # kombu's own
    }
)
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]")
LONGEST: Final = 249


@dataclass(frozen=True)
class Options:
    """`transport_options` of a connection, beside kombu's own.

    `properties` are the client's by Kafka's names. `group_config` are configs of each queue's share group,
    `topic_config` of each queue's topic, with `partitions` (-1: the broker's default). `renew_s` is how long the lock
    of an unacknowledged message is renewed.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    partitions: int = -1
    replication_factor: int = -1
    topic_config: Mapping[str, str] = field(default_factory=dict)
    group_config: Mapping[str, str] = field(default_factory=dict)
    renew_s: float = 86_400.0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Read what is given; other options are kombu's and Celery's."""
        for name, value in given.items():
            kind = _KINDS.get(name)
            if kind is not None and not isinstance(value, kind):
                raise ConfigError(f"transport_options: {name} is {value!r}: must be of {kind}")
        return cls(**{name: given[name] for name in _KINDS if name in given})

    def topic_of(self, queue: str) -> str:
        """The topic of a queue, which is also the name of its share group."""
        return legal(self.prefix + queue)

    def exchange_topic(self, exchange: str) -> str:
        """The topic of what an exchange has for all who listen."""
        return legal(f"{self.prefix}{exchange}.exchange")


_KINDS: Final[dict[str, Any]] = {
    "properties": Mapping,
    "prefix": str,
    "partitions": int,
    "replication_factor": int,
    "topic_config": Mapping,
    "group_config": Mapping,
    "renew_s": int | float,
}


def legal(name: str) -> str:
    """A name as topics may have it: other characters become "_" and four hexadecimal digits of UTF-16.

    Raises ConfigError for one that is too long, or is no name of a topic for another reason.
    """
    found = "".join(each if _LEGAL.match(each) else "".join(f"_{unit:04x}" for unit in _utf16(each)) for each in name)
    if not found or len(found) > LONGEST or found in (".", ".."):
        raise ConfigError(f"queue {name!r}: its topic must have 1 to {LONGEST} characters, and not be . or ..")
    return found


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]


def packed(message: Mapping[str, Any]) -> bytes:
    """A message as a record's value. Properties that AMQP does not have are left out, as they are there."""
    properties = {name: value for name, value in message["properties"].items() if name in _PROPERTIES}
    text: str = dumps({**message, "properties": properties})
    return text.encode()


def expired(message: Mapping[str, Any], now_ms: int) -> bool:
    """Whether a message's own time to live (its property `expiration`, in ms) is over."""
    try:
        return now_ms >= int(message["sent_ms"]) + int(message["properties"]["expiration"])
    except (KeyError, TypeError, ValueError):
        return False


def unpacked(value: bytes | None, sent_ms: int) -> dict[str, Any]:
    """The message of a record's value, with `sent_ms`, the record's time, in it. ValueError for what is none."""
    found = loads(value or b"")
    if not isinstance(found, dict) or not isinstance(found.get("properties"), dict):
        raise ValueError("no message of kombu")
    found["properties"].setdefault("delivery_info", {})
    found["sent_ms"] = sent_ms
    return found
