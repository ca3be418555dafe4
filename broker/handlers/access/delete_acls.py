"""DeleteAcls: v1-3 (KIP-140, KIP-290).

Behaviour: removes every entry that one of the filters means, in one commit, and answers by filter what it meant; two
filters may mean the same entry. ALTER on the cluster is needed. Without an authorizer: SECURITY_DISABLED.
v3: resources of the kind USER.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from shareq.broker.metadata.changes import DropAcl
from shareq.broker.security.acls import Acl, AclFilter, filter_is_known
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import ApiError, ErrorCode, storage_failure, text_of
from shareq.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


logger = logging.getLogger(__name__)


def handle(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        return _same_for_all(request, ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    wanted = [_filter(each) for each in request.filters]
    known = [each for each in wanted if filter_is_known(each)]
    found = dict(zip(known, authorizer.matching_each(known), strict=True))
    doomed = dict.fromkeys(acl for acls in found.values() for acl in acls)
    try:
        ctx.services.metadata.alter_acls([DropAcl(acl) for acl in doomed])
    except OSError as error:
        logger.error("acls: not removed: %s", error)
        return _same_for_all(request, storage_failure(error))
    return DeleteAclsResponse(filter_results=[_row(found.get(each)) for each in wanted])


def failed(request: DeleteAclsRequest, error: ErrorCode) -> DeleteAclsResponse:
    return _same_for_all(request, ApiError(error, text_of(error)))


def _same_for_all(request: DeleteAclsRequest, error: ApiError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(*error) for _ in request.filters])


def _filter(wanted: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        wanted.pattern_type_filter,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )


def _row(found: list[Acl] | None) -> DeleteAclsFilterResult:
    if found is None:
        return DeleteAclsFilterResult(ErrorCode.INVALID_REQUEST, "The filter has a number that means nothing.")
    return DeleteAclsFilterResult(
        ErrorCode.NONE, None, [DeleteAclsMatchingAcl(ErrorCode.NONE, None, *acl) for acl in found]
    )
