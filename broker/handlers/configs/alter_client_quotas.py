"""AlterClientQuotas: v0-1 (KIP-546).

Behaviour: every entity is handled separately; all valid changes are made, up to 250 in one commit. An entity with an
invalid key, a value out of bounds, or a repeated key stays unchanged. If an entity is repeated, its first entry is
applied, but its single answer is an error. Removing a quota that does not exist is no error. ALTER_CONFIGS on the
cluster is needed.

Here: addresses are IP addresses: Apache Kafka takes host names as well, and looks them up.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable
from typing import Final

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.changes import PutQuota
from shareq.broker.quotas.entity import QuotaEntity, entity_of, value_problem
from shareq.broker.security.rights import ALTER_CLUSTER_CONFIGS
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of
from shareq.protocol.generated import alter_client_quotas as rpc

logger = logging.getLogger(__name__)

_Entity = QuotaEntity | tuple[tuple[str, str | None], ...]


CHANGED_TOGETHER: Final = 250
"""The most entities checked and changed in one commit, 20 µs each plus the time of the disk."""


async def handle(ctx: RequestContext, request: rpc.AlterClientQuotasRequest) -> rpc.AlterClientQuotasResponse:
    if not ctx.may(ALTER_CLUSTER_CONFIGS):
        return failed(request, ALTER_CLUSTER_CONFIGS.error)
    outcomes: dict[_Entity, ApiError] = {}
    for some in pieces(request.entries, CHANGED_TOGETHER):
        await ctx.services.metadata.gate.passing()
        changes: list[PutQuota] = []
        good: list[_Entity] = []
        for entry in some:
            entity, error = _planned(ctx, entry, outcomes.keys(), changes)
            outcomes[entity] = error
            if not error:
                good.append(entity)
        failure = NO_ERROR if request.validate_only else await _store(ctx, changes)
        if failure:
            outcomes.update((entity, outcomes[entity] or failure) for entity in good)
        await ctx.breathe(len(some))
    response = rpc.AlterClientQuotasResponse()
    for entity, outcome in outcomes.items():
        response.entries.append(_row(_names(entity), outcome))
        await ctx.breathe()
    return response


def _planned(
    ctx: RequestContext,
    entry: rpc.AlterClientQuotasRequestEntryData,
    before: Container[_Entity],
    changes: list[PutQuota],
) -> tuple[_Entity, ApiError]:
    """Return the entity of an entry, and its error or NO_ERROR; add its changes to `changes` if it has no error."""
    names = {each.entity_type: each.entity_name for each in entry.entity}
    entity = entity_of(names)
    if isinstance(entity, str):
        return tuple(names.items()), ApiError(ErrorCode.INVALID_REQUEST, entity)
    if entity in before or len({op.key for op in entry.ops}) < len(entry.ops):
        return entity, ApiError(ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity {entity}")
    return entity, _plan(ctx, entity, entry.ops, changes)


def failed(request: rpc.AlterClientQuotasRequest, error: ErrorCode) -> rpc.AlterClientQuotasResponse:
    failure = ApiError(error, text_of(error))
    named = [[(each.entity_type, each.entity_name) for each in entry.entity] for entry in request.entries]
    return rpc.AlterClientQuotasResponse(entries=[_row(names, failure) for names in named])


def _plan(ctx: RequestContext, entity: QuotaEntity, ops: list[rpc.OpData], changes: list[PutQuota]) -> ApiError:
    """Add the changes if all of them are valid. Return the error, or NO_ERROR."""
    for op in ops:
        problem = None if op.remove else value_problem(entity, op.key, op.value)
        if problem is not None:
            return ApiError(ErrorCode.INVALID_REQUEST, problem)
    current = ctx.services.metadata.quotas.get(entity, {})
    wanted = [PutQuota(entity, op.key, None if op.remove else op.value) for op in ops]
    changes += [change for change in wanted if change.value != current.get(change.key)]
    return NO_ERROR


async def _store(ctx: RequestContext, changes: list[PutQuota]) -> ApiError:
    failure = await ctx.services.metadata.alter_quotas(changes)
    if failure:
        logger.error("quotas not changed: %s", failure.message)
    return failure


def _names(entity: _Entity) -> Iterable[tuple[str, str | None]]:
    return entity.by_kind().items() if isinstance(entity, QuotaEntity) else entity


def _row(names: Iterable[tuple[str, str | None]], error: ApiError) -> rpc.AlterClientQuotasResponseEntryData:
    entity = [rpc.AlterClientQuotasResponseEntityData(kind, name) for kind, name in names]
    return rpc.AlterClientQuotasResponseEntryData(error.code, error.message, entity)
