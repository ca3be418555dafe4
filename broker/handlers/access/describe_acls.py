"""DescribeAcls: v1-3 (KIP-140, KIP-290).

Behaviour: the access control list entries that a filter means, by resource. DESCRIBE on the cluster is needed. Without
an authorizer: SECURITY_DISABLED. A number that means nothing is INVALID_REQUEST.
v3: resources of the kind USER.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.in_turns import TurnCount
from shareq.broker.dispatch.parts import Parts, in_parts
from shareq.broker.security.acls import Acl, AclFilter, filter_is_known
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


TURN_ENTRIES: Final = 1_000
"""So many are looked at in one turn, 1 or 2 µs each."""


def handle(ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse | Parts:
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    if not ctx.may(DESCRIBE_CLUSTER):
        return _refused(DESCRIBE_CLUSTER.error, text_of(DESCRIBE_CLUSTER.error))
    if ctx.services.authorizer is None:
        return _refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    if not filter_is_known(wanted):
        return _refused(ErrorCode.INVALID_REQUEST, "The filter has a number that means nothing.")
    return in_parts(DescribeAclsResponse(), "resources", _parts(ctx.services.authorizer.acls(), wanted))


def _parts(acls: list[Acl], wanted: AclFilter) -> Iterator[list[DescribeAclsResource]]:
    """The rows, once all are known: entries of one resource need not stand beside each other."""
    turn = TurnCount(TURN_ENTRIES)
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in acls:
        if wanted.matches(acl):
            resource = acl.kind, acl.name, acl.pattern
            if resource not in resources:
                resources[resource] = DescribeAclsResource(*resource)
            resources[resource].acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission))
        if turn.full():
            yield []
    rows: list[DescribeAclsResource] = []
    for row in resources.values():
        rows.append(row)
        if turn.full(1 + len(row.acls)):
            yield rows
            rows = []
    if rows:
        yield rows


def _refused(error: ErrorCode, message: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error, error_message=message)
