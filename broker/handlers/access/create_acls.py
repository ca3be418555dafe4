"""CreateAcls: v1-3 (KIP-140, KIP-290).

Behaviour: every entry stands alone; those that can be added are, in one commit. One that exists already succeeds.
ALTER on the cluster is needed. Without an authorizer: SECURITY_DISABLED. They are in force when the answer leaves.
v3: resources of the kind USER.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import Acl, acl_problem
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure, text_of
from shareq.protocol.generated.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext


logger = logging.getLogger(__name__)


def handle(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    if ctx.services.authorizer is None:
        return _same_for_all(request, ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    acls = [_acl(creation) for creation in request.creations]
    problems = [acl_problem(acl) for acl in acls]
    sound = dict.fromkeys(acl for acl, problem in zip(acls, problems, strict=True) if problem is None)
    failure = NO_ERROR
    try:
        ctx.services.metadata.alter_acls([PutAcl(acl) for acl in sound if acl not in ctx.services.authorizer])
    except OSError as error:
        logger.error("acls: not added: %s", error)
        failure = storage_failure(error)
    return CreateAclsResponse(
        results=[
            _row(failure if problem is None else ApiError(ErrorCode.INVALID_REQUEST, problem)) for problem in problems
        ]
    )


def failed(request: CreateAclsRequest, error: ErrorCode) -> CreateAclsResponse:
    return _same_for_all(request, ApiError(error, text_of(error)))


def _same_for_all(request: CreateAclsRequest, error: ApiError) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_row(error) for _ in request.creations])


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        creation.resource_type,
        creation.resource_name,
        creation.resource_pattern_type,
        creation.principal,
        creation.host,
        creation.operation,
        creation.permission_type,
    )


def _row(error: ApiError) -> AclCreationResult:
    return AclCreationResult(error.code, error.message)
