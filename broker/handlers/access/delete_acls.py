"""DeleteAcls: v1-3 (KIP-140, KIP-290).

Behaviour: removes every entry that matches a filter, up to 1,000 in one commit, and returns the matches by filter; two
filters may match the same entry. ALTER on the cluster is needed. Without an authorizer: SECURITY_DISABLED. More than
10,000 entries get POLICY_VIOLATION, as in Apache Kafka.
v3: resources of the kind USER.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.rows import Rows
from shareq.broker.foundation.turn_budget import in_pieces, pieces
from shareq.broker.metadata.changes import DropAcl
from shareq.broker.security.acls import MOST_CHANGED, TOO_MANY, Acl, AclFilter, filter_is_known
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from shareq.broker.dispatch.context import RequestContext
    from shareq.broker.security.acl_search import AclSearch


logger = logging.getLogger(__name__)


COMMITTED_TOGETHER: Final = 1_000
"""The most entries removed in one commit, 3 µs each plus the time of the disk."""


async def handle(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse | Rows[DeleteAclsResponse]:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    if ctx.services.authorizer is None:
        return _same_for_all(request, ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    filters, search = request.filters, ctx.services.authorizer.search()
    doomed: dict[Acl, None] = {}
    failure = await _find(ctx, search, filters, doomed)
    for some in pieces([] if failure else list(doomed), COMMITTED_TOGETHER):
        await ctx.services.metadata.gate.passing()
        authorizer = ctx.services.authorizer
        gone = [DropAcl(acl) for acl in some if authorizer is None or acl in authorizer]
        failure = await ctx.services.metadata.alter_acls(gone)
        if failure:
            logger.error("acls: not removed: %s", failure.message)
            break
        await ctx.breathe(len(some))
    if failure:
        return _same_for_all(request, failure)
    return await _answer(ctx, search, filters)


async def _find(
    ctx: RequestContext, search: AclSearch, filters: Sequence[DeleteAclsFilter], doomed: dict[Acl, None]
) -> ApiError:
    """Add the entries that match the filters to `doomed`. Return the error if nothing may be removed, or NO_ERROR."""
    looked_up: set[AclFilter] = set()
    for each in filters:
        wanted = _filter(each)
        found: list[Acl] = []
        if wanted not in looked_up and filter_is_known(wanted):
            looked_up.add(wanted)
            await search.prepare(wanted, ctx.breathe)
            if len(search) > MOST_CHANGED and search.count(wanted) > MOST_CHANGED:
                return TOO_MANY
            found = search.matching(wanted)
            doomed.update(dict.fromkeys(found))
            if len(doomed) > MOST_CHANGED:
                return TOO_MANY
            await ctx.breathe(search.looked_up(wanted) + len(found))
        await ctx.breathe()
    return NO_ERROR


async def _answer(
    ctx: RequestContext, search: AclSearch, filters: Sequence[DeleteAclsFilter]
) -> DeleteAclsResponse | Rows[DeleteAclsResponse]:
    """Return the answer, with the matches by filter. Many filters may match the same entries, so matches are looked up
    again instead of kept.
    """
    rows = Rows(ctx, DeleteAclsResponse(), "filter_results")
    for each in filters:
        row = DeleteAclsFilterResult(*NO_ERROR)
        for some in in_pieces(_found(search, each, row)):
            row.matching_acls += [DeleteAclsMatchingAcl(ErrorCode.NONE, None, *acl) for acl in some]
            await rows.breathe(len(some))
        await rows.add(row)
    return await rows.end()


def _found(search: AclSearch, each: DeleteAclsFilter, row: DeleteAclsFilterResult) -> list[Acl]:
    """Return the entries that match the filter; if the filter is invalid, set an error in the row."""
    wanted = _filter(each)
    if filter_is_known(wanted):
        return search.matching(wanted)
    row.error_code, row.error_message = ErrorCode.INVALID_REQUEST, "The filter has a number that means nothing."
    return []


def failed(request: DeleteAclsRequest, error: ErrorCode) -> DeleteAclsResponse:
    return _same_for_all(request, ApiError(error, text_of(error)))


def _same_for_all(request: DeleteAclsRequest, error: ApiError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(*error)] * len(request.filters))


def _filter(wanted: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        kind=wanted.resource_type_filter,
        name=wanted.resource_name_filter,
        pattern=wanted.pattern_type_filter,
        principal=wanted.principal_filter,
        host=wanted.host_filter,
        operation=wanted.operation,
        permission=wanted.permission_type,
    )
