"""Properties that ask for more replicas than one broker has. Files of clusters have such, and they may be set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from shareq.broker.config.keys.broker import BROKER_KEYS

_REPLICATION_FACTORS: Final = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_MIN_ISRS: Final = (
    "min.insync.replicas",
    "transaction.state.log.min.isr",
    "share.coordinator.state.topic.min.isr",
)


def unreachable_replicas(originals: Mapping[str, str]) -> list[str]:
    """Return a warning for each: topics that need more replicas are refused; of replicas in sync one is enough, as in
    Apache Kafka, which takes the smaller of `min.insync.replicas` and the number of replicas.
    """
    warnings: list[str] = []
    for names, outcome in (
        (_REPLICATION_FACTORS, "no topic can have so many replicas"),
        (_MIN_ISRS, "one replica in sync is enough"),
    ):
        for name in names:
            number = BROKER_KEYS[name].parse(originals.get(name, "1"))
            if number != 1:
                warnings.append(f"Property {name} is {number}, and there is one broker: {outcome}")
    return warnings
