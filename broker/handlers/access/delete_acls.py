"""DeleteAcls: v1-3 (KIP-140, KIP-290).

Behaviour: removes every entry that one of the filters means, up to 1,000 in one commit, and answers by filter what it
meant; two filters may mean the same entry. ALTER on the cluster is needed. Without an authorizer: SECURITY_DISABLED.
More than 10,000 entries get POLICY_VIOLATION, as in Apache Kafka.
v3: resources of the kind USER.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final

from shareq.broker.dispatch.in_turns import TurnCount, pieces
from shareq.broker.dispatch.parts import Parts, in_parts
from shareq.broker.metadata.changes import DropAcl
from shareq.broker.security.acls import MOST_CHANGED, TOO_MANY, Acl, AclFilter, filter_is_known
from shareq.broker.security.rights import ALTER_CLUSTER
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure, text_of
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


TURN_ENTRIES: Final = 500
"""So many filters, and entries that they mean, are looked at in one turn, 6 µs each."""

ENTERED_FOR_ONE: Final = 8
"""So many ACLs are entered into a table in the time of one of them."""

COMMITTED_TOGETHER: Final = 1_000
"""So many are removed in one commit, 3 µs each beside what the disk takes."""


def handle(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse | Parts:
    if not ctx.may(ALTER_CLUSTER):
        return failed(request, ALTER_CLUSTER.error)
    authorizer = ctx.services.authorizer
    if authorizer is None:
        return _same_for_all(request, ApiError(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured."))
    return in_parts(DeleteAclsResponse(), "filter_results", _parts(ctx, authorizer.search(), request))


def _parts(
    ctx: RequestContext, search: AclSearch, request: DeleteAclsRequest
) -> Iterator[list[DeleteAclsFilterResult]]:
    """The rows. Many filters may mean the same entries, so what each means is looked up again, not kept."""
    turn = TurnCount(TURN_ENTRIES)
    doomed: dict[Acl, None] = {}
    failure = yield from _find(search, request, turn, doomed)
    authorizer = ctx.services.authorizer
    for some in pieces([] if failure else list(doomed), COMMITTED_TOGETHER):
        for _ in ctx.services.metadata.gate.passing():
            yield []
        try:
            ctx.services.metadata.alter_acls([DropAcl(acl) for acl in some if authorizer is None or acl in authorizer])
        except OSError as error:
            logger.error("acls: not removed: %s", error)
            failure = storage_failure(error)
            break
    rows: list[DeleteAclsFilterResult] = []
    for each in request.filters:
        row = DeleteAclsFilterResult(*failure)
        paused = False
        for some in [] if failure else pieces(_found(search, each, row), TURN_ENTRIES):
            row.matching_acls += [DeleteAclsMatchingAcl(ErrorCode.NONE, None, *acl) for acl in some]
            if turn.full(len(some)):
                paused = True
                yield []
        rows.append(row)
        if turn.full() or paused:
            yield rows
            rows = []
    if rows:
        yield rows


def _found(search: AclSearch, each: DeleteAclsFilter, row: DeleteAclsFilterResult) -> list[Acl]:
    """What the filter means; if it means nothing at all the row says so."""
    wanted = _filter(each)
    if filter_is_known(wanted):
        return search.matching(wanted)
    row.error_code, row.error_message = ErrorCode.INVALID_REQUEST, "The filter has a number that means nothing."
    return []


def _find(
    search: AclSearch, request: DeleteAclsRequest, turn: TurnCount, doomed: dict[Acl, None]
) -> Generator[list[DeleteAclsFilterResult], None, ApiError]:
    """Add what the filters mean to `doomed`; returns why nothing may be removed."""
    looked_up: set[AclFilter] = set()
    for each in request.filters:
        wanted = _filter(each)
        found: list[Acl] = []
        effort = 1
        if wanted not in looked_up and filter_is_known(wanted):
            looked_up.add(wanted)
            entered = search.entered
            for _ in search.prepare(wanted):
                yield []
            if len(search) > MOST_CHANGED and search.count(wanted) > MOST_CHANGED:
                return TOO_MANY
            found = search.matching(wanted)
            effort = search.looked_up(wanted) + (search.entered - entered) // ENTERED_FOR_ONE
            doomed.update(dict.fromkeys(found))
            if len(doomed) > MOST_CHANGED:
                return TOO_MANY
        if turn.full(effort + len(found)):
            yield []
    return NO_ERROR


def failed(request: DeleteAclsRequest, error: ErrorCode) -> DeleteAclsResponse:
    return _same_for_all(request, ApiError(error, text_of(error)))


def _same_for_all(request: DeleteAclsRequest, error: ApiError) -> DeleteAclsResponse:
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(*error)] * len(request.filters))


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
