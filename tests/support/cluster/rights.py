"""Denied operations by resource. Everything else is allowed.

One user's ACLs are enough, because a node has one user. As in Apache Kafka's authorizer a denial is of one operation: a
client that may not describe a topic may still write to it.
"""

from __future__ import annotations

from enum import Enum

from shareq.protocol.errors import ErrorCode


class Resource(Enum):
    """A kind of resource; the value is the error for a client without the right."""

    TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
    CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    TRANSACTIONAL_ID = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Operation(Enum):
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    DESCRIBE = 8
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11


class Rights:
    def __init__(self) -> None:
        self._denied: set[tuple[Resource, str, Operation]] = set()

    def deny(self, resource: Resource, name: str, *operations: Operation) -> None:
        self._denied.update((resource, name, operation) for operation in operations)

    def allow(self, resource: Resource, name: str, *operations: Operation) -> None:
        self._denied.difference_update((resource, name, operation) for operation in operations)

    def error(self, resource: Resource, name: str, operation: Operation) -> ErrorCode:
        return resource.value if (resource, name, operation) in self._denied else ErrorCode.NONE

    def allowed(self, resource: Resource, name: str) -> int:
        """Return the allowed operations as KIP-430's bits: bit n is operation n."""
        return sum(1 << each.value for each in Operation if not self.error(resource, name, each))
