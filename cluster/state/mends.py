"""The commands that mend what a node finds at its start: ends of its lines about state topics and rights.

They are for the cluster's operator, and run against the cluster (`-b`).
"""

from __future__ import annotations

from collections.abc import Mapping


def set_property(topic: str, name: str, value: object) -> str:
    """Return how a topic is given a property."""
    return f". Mend: shareq configs alter topic {topic} --set {name}={value}"


def create(topic: str, partitions: int, replicas: int, configs: Mapping[str, str]) -> str:
    """Return how a topic is made by hand."""
    settings = "".join(f" --set {name}={value}" for name, value in configs.items())
    return f". Mend: shareq topics create {topic} --partitions {partitions} --replication-factor {replicas}{settings}"


def grant(resource: str, name: str, *operations: str, pattern: str = "literal") -> str:
    """Return how the node's user is given rights."""
    prefixed = "" if pattern == "literal" else f" --pattern {pattern}"
    rights = "".join(f" --operation {operation}" for operation in operations)
    return f". Mend: shareq acls create --principal User:NODE --resource {resource} --name {name}{prefixed}{rights}"
