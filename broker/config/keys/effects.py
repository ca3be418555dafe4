"""Properties that have no effect, or only a part of it, on this kind of broker.

On a single broker these are the properties about several brokers; on a node, those about a broker's own data. A
property file may be for another kind of broker, so each of them causes a warning, but does not prevent the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shareq.broker.config.keys.broker import BROKER_KEYS, DiskProperties, GroupProperties, TransactionProperties
from shareq.broker.config.keys.log import LogProperties, TopicProperties
from shareq.broker.config.keys.node import FIRST_NODE_ID, NodeProperties
from shareq.protocol.config_def import ConfigKey, declared

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


def on_one_broker(originals: Mapping[str, str]) -> list[str]:
    """Return a warning for each property about several brokers.

    Topics that need more replicas are refused; one replica in sync is enough, as in Apache Kafka, which uses the
    smaller one of `min.insync.replicas` and the number of replicas.
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
    for_nodes = (key.name for key in declared(NodeProperties) if key.name in originals)
    return [*warnings, *(f"Property {name} has no effect without --cluster" for name in for_nodes)]


def on_node(originals: Mapping[str, str]) -> list[str]:
    """Return a warning for each property that a node in front of a cluster ignores, or treats differently."""
    warnings = [
        f"Property {key.name} has no effect on a node: {reason}"
        for keys, reason in _NOT_OF_NODES
        for key in keys
        if key.name in originals
    ]
    node_id = BROKER_KEYS["node.id"].parse(originals.get("node.id", str(FIRST_NODE_ID)))
    if isinstance(node_id, int) and node_id < FIRST_NODE_ID:
        warnings.append(
            f"Property node.id is {node_id}: a broker of the cluster may have that number, too, and one is "
            f"taken for the other in tools and logs; nodes have numbers from {FIRST_NODE_ID} on"
        )
    return warnings


def _keys(*names: str) -> list[ConfigKey[Any]]:
    return [BROKER_KEYS[name] for name in names]


_NOT_OF_NODES: Final[tuple[tuple[Iterable[ConfigKey[Any]], str], ...]] = (
    (
        [*_keys("log.dirs", "log.dir"), *declared(LogProperties), *declared(DiskProperties)],
        "records are kept by the cluster, by its properties",
    ),
    (list(declared(TopicProperties)), "topics are the cluster's, and have its defaults"),
    (
        [
            *declared(GroupProperties),
            *_keys("offsets.topic.num.partitions", "offsets.topic.replication.factor", "offsets.topic.segment.bytes"),
            *_keys("offsets.retention.minutes", "offsets.retention.check.interval.ms", "offset.metadata.max.bytes"),
        ],
        "consumer groups and their offsets are the cluster's",
    ),
    (list(declared(TransactionProperties)), "transactions and producer ids are the cluster's"),
    (_keys("share.coordinator.state.topic.num.partitions"), "shareq.cluster.slots says how many partitions are made"),
    (_keys("share.coordinator.state.topic.segment.bytes"), "the cluster's own size of segments counts"),
)
