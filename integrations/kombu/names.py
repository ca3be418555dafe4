"""The names of queues and exchanges as topics, and the options of the transport. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shareq.client.aio.early import MAX_DELAY_S
from shareq.client.errors import ConfigError
from shareq.protocol.names import AUTO_OFFSET_RESET

SCHEME: Final = "kafka-share"
ROUTING_KEY: Final = "routing_key"
"""The header with the routing key, in records of an exchange's topic."""
GROUP_CONFIG: Final[dict[str, str]] = {AUTO_OFFSET_RESET: "earliest"}
EXCHANGE_CONFIG: Final[dict[str, str]] = {"retention.ms": "3600000"}
"""The configs of an exchange's topic. After this retention time, a listener that has not read a message never will."""
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]")
LONGEST: Final = 249


@dataclass(frozen=True)
class Options:
    """`transport_options` of a connection, without kombu's own.

    `properties` are the client's by Kafka's names. `group_config` are configs of each queue's share group,
    `topic_config` of each queue's topic, with `partitions` (-1: the broker's default). `renew_s` is how long the lock
    of an unacknowledged message is renewed, `max_delay` how far ahead a task's ETA may lie, in seconds.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""
    partitions: int = -1
    replication_factor: int = -1
    topic_config: Mapping[str, str] = field(default_factory=dict)
    group_config: Mapping[str, str] = field(default_factory=dict)
    renew_s: float = 86_400.0
    max_delay: float = MAX_DELAY_S

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Read the given options; others are kombu's and Celery's."""
        for name, value in given.items():
            kind = _KINDS.get(name)
            if kind is not None and not isinstance(value, kind):
                raise ConfigError(f"transport_options: {name} is {value!r}: must be of {kind}")
        if not given.get("max_delay", MAX_DELAY_S) >= 0:
            raise ConfigError(f"transport_options: max_delay is {given['max_delay']!r}: must be 0 seconds or more")
        return cls(**{name: given[name] for name in _KINDS if name in given})

    def topic_of(self, queue: str) -> str:
        """Return the topic of a queue, which is also the name of its share group."""
        return legal(self.prefix + queue)

    def exchange_topic(self, exchange: str) -> str:
        """Return the topic for messages of an exchange to all listeners."""
        return legal(f"{self.prefix}{exchange}.exchange")


_KINDS: Final[dict[str, Any]] = {
    "properties": Mapping,
    "prefix": str,
    "partitions": int,
    "replication_factor": int,
    "topic_config": Mapping,
    "group_config": Mapping,
    "renew_s": int | float,
    "max_delay": int | float,
}


def legal(name: str) -> str:
    """Return a name that is valid for topics: other characters become "_" and their four hexadecimal digits in UTF-16.

    Raises ConfigError for a name that is too long, or invalid for another reason.
    """
    found = "".join(each if _LEGAL.match(each) else "".join(f"_{unit:04x}" for unit in _utf16(each)) for each in name)
    if not found or len(found) > LONGEST or found in (".", ".."):
        raise ConfigError(f"queue {name!r}: its topic must have 1 to {LONGEST} characters, and not be . or ..")
    return found


def _utf16(text: str) -> list[int]:
    data = text.encode("utf-16-be")
    return [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
