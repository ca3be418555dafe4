"""A client's authorized operations, as the bit fields of KIP-430: bit n is ACL operation n; all
without an authorizer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.acls import ResourceKind, operations_of
from shareq.broker.security.names import CLUSTER_NAME
from shareq.protocol.errors import ErrorCode


class DescribedGroup(Protocol):
    """A group of any kind, as the RPC that describes its kind returns it."""

    group_id: str
    error_code: int
    authorized_operations: int


def on_topic(ctx: RequestContext, name: str) -> int:
    """Return the operations allowed on a topic, which need not exist."""
    return _bits(ctx, ResourceKind.TOPIC, name)


def on_group(ctx: RequestContext, group_id: str) -> int:
    """Return the operations allowed on a group of any kind."""
    return _bits(ctx, ResourceKind.GROUP, group_id)


def fill_in_group_operations(ctx: RequestContext, groups: Iterable[DescribedGroup]) -> None:
    """Set `authorized_operations` on each group that was found."""
    for group in groups:
        if group.error_code == ErrorCode.NONE:
            group.authorized_operations = on_group(ctx, group.group_id)


def on_cluster(ctx: RequestContext) -> int:
    """Return the operations allowed on the cluster; none if the client may not DESCRIBE it."""
    from shareq.broker.security.rights import DESCRIBE_CLUSTER

    return _bits(ctx, ResourceKind.CLUSTER, CLUSTER_NAME) if ctx.may(DESCRIBE_CLUSTER) else 0


def _bits(ctx: RequestContext, kind: ResourceKind, name: str) -> int:
    authorizer = ctx.services.authorizer
    operations = operations_of(kind)
    if authorizer is not None:
        principal, host = ctx.connection.principal, ctx.connection.client_host
        operations = tuple(each for each in operations if authorizer.allows(principal, host, each, kind, name))
    return sum(1 << operation for operation in operations)
