"""CreateAcls: v1-3 (KIP-140, KIP-290).

Behaviour: every entry is handled separately; all valid ones are added, up to 1,000 in one commit. Adding an existing
entry succeeds. ALTER on the cluster is needed. Without an authorizer: SECURITY_DISABLED. The entries are in force when
the answer is sent. A request with more than 10,000 entries gets POLICY_VIOLATION, as in Apache Kafka. v3: resources of
the kind USER.
"""

from __future__ import annotations

import logging
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import MOST_CHANGED, TOO_MANY, Acl, acl_problem
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse

logger = logging.getLogger(__name__)


COMMITTED_TOGETHER: Final = 1_000
"""The most entries added in one commit, 3 µs each plus the time of the disk."""


async def handle(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        return _same_for_all(request, ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    if len(request.creations) > MOST_CHANGED:
        return _same_for_all(request, TOO_MANY)
    entries: list[Acl | str] = []  # what is added, or why it cannot be
    added: dict[Acl, ApiError] = {}
    for creation in request.creations:
        acl = _acl(creation)
        reason = acl_problem(acl)
        entries.append(acl if reason is None else reason)
        if reason is None:
            added[acl] = NO_ERROR
        await ctx.breathe()
    for some in pieces(list(added), COMMITTED_TOGETHER):
        await ctx.services.metadata.gate.passing()
        failure = await ctx.services.metadata.alter_acls([PutAcl(acl) for acl in some if acl not in authorizer])
        if failure:
            logger.error("acls: not added: %s", failure.message)
            added.update(dict.fromkeys(some, failure))
        await ctx.breathe(len(some))
    response = CreateAclsResponse()
    for entry in entries:
        problem = ApiError(ErrorCode.INVALID_REQUEST, entry) if isinstance(entry, str) else added[entry]
        response.results.append(_row(problem))
        await ctx.breathe()
    return response


def failed(request: CreateAclsRequest, error: ErrorCode) -> CreateAclsResponse:
    return _same_for_all(request, ApiError(error, text_of(error)))


def _same_for_all(request: CreateAclsRequest, error: ApiError) -> CreateAclsResponse:
    return CreateAclsResponse(results=[_row(error)] * len(request.creations))


def _acl(creation: AclCreation) -> Acl:
    return Acl(
        kind=creation.resource_type,
        name=creation.resource_name,
        pattern=creation.resource_pattern_type,
        principal=creation.principal,
        host=creation.host,
        operation=creation.operation,
        permission=creation.permission_type,
    )


def _row(error: ApiError) -> AclCreationResult:
    return AclCreationResult(error.code, error.message)
