"""The commands that mend faults which a node finds at its start. Its log lines about state topics and rights end with
them.

They are for the cluster's operator, and run against the cluster (`-b`).
"""

from __future__ import annotations

from collections.abc import Mapping


def set_property(topic: str, name: str, value: object) -> str:
    """Return the command that sets a property of a topic."""
    return f". Mend: shareq configs alter topic {topic} --set {name}={value}"


def create(topic: str, partitions: int, replicas: int, configs: Mapping[str, str]) -> str:
    """Return the command that creates a topic."""
    settings = "".join(f" --set {name}={value}" for name, value in configs.items())
    return f". Mend: shareq topics create {topic} --partitions {partitions} --replication-factor {replicas}{settings}"


def grant(resource: str, name: str, *operations: str, pattern: str = "literal") -> str:
    """Return the command that grants rights to the node's user."""
    prefixed = "" if pattern == "literal" else f" --pattern {pattern}"
    rights = "".join(f" --operation {operation}" for operation in operations)
    return f". Mend: shareq acls create --principal User:NODE --resource {resource} --name {name}{prefixed}{rights}"
