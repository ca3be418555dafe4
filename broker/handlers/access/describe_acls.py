"""DescribeAcls: v1-3 (KIP-140, KIP-290).

Behaviour: returns the access control list entries that match the filter, by resource. DESCRIBE on the cluster is
needed. Without an authorizer: SECURITY_DISABLED. An unknown number for a kind or an operation gets INVALID_REQUEST. v3:
resources of the kind USER.
"""

from __future__ import annotations

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.security.acls import AclFilter, filter_is_known
from shareq.broker.security.rights import DESCRIBE_CLUSTER
from shareq.protocol.errors import ErrorCode, text_of
from shareq.protocol.generated.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


async def handle(ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    wanted = AclFilter(
        kind=request.resource_type_filter,
        name=request.resource_name_filter,
        pattern=request.pattern_type_filter,
        principal=request.principal_filter,
        host=request.host_filter,
        operation=request.operation,
        permission=request.permission_type,
    )
    if not ctx.may(DESCRIBE_CLUSTER):
        return _refused(DESCRIBE_CLUSTER.error, text_of(DESCRIBE_CLUSTER.error))
    if ctx.services.authorizer is None:
        return _refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    if not filter_is_known(wanted):
        return _refused(ErrorCode.INVALID_REQUEST, "The filter has a number that means nothing.")
    # Entries of one resource need not stand beside each other.
    resources: dict[tuple[int, str, int], DescribeAclsResource] = {}
    for acl in ctx.services.authorizer.acls():
        if wanted.matches(acl):
            resource = acl.kind, acl.name, acl.pattern
            if resource not in resources:
                resources[resource] = DescribeAclsResource(*resource)
            resources[resource].acls.append(AclDescription(acl.principal, acl.host, acl.operation, acl.permission))
        await ctx.breathe()
    return DescribeAclsResponse(resources=list(resources.values()))


def _refused(error: ErrorCode, message: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=error, error_message=message)
