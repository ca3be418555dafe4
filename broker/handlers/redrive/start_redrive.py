"""StartRedrive: v0 (shareq's own, ADR 11).

Behaviour: begins to send dead letters back in the background, and answers when the redrive is durable. READ on the
queue is needed, and WRITE on the topic: on the filter's topic now, on each letter's topic when it is sent back; with
target 1 READ on the group instead. A name can be used once (DUPLICATE_RESOURCE). The redrive's group counts towards the
groups that the client's user may create (GROUP_MAX_SIZE_REACHED).
"""

from __future__ import annotations

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.redrive.spec import LetterFilter, Owner, RedriveSpec, Target, problem_of
from shareq.broker.security.rights import READ_GROUP, READ_TOPIC, WRITE_TOPIC, Right
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.start_redrive import StartRedriveRequest, StartRedriveResponse

CONTEXT = FolderContext


async def handle(ctx: FolderContext, request: StartRedriveRequest) -> StartRedriveResponse:
    if request.target not in (Target.TOPIC, Target.GROUP):
        return _response(ApiError(ErrorCode.INVALID_REQUEST, f"Target must be 0 or 1, not {request.target}."))
    spec = _spec(ctx, request)
    problem = problem_of(spec)
    if problem is not None:
        return _response(ApiError(ErrorCode.INVALID_REQUEST, problem))
    for right, name in _needed(spec):
        if not ctx.may(right, name):
            return _response(ApiError(right.error))
    names, owner = ctx.services.groups.names, ctx.owner
    too_many = names.refusal(spec.group_id, owner)
    if too_many:
        return _response(ApiError(ErrorCode.GROUP_MAX_SIZE_REACHED, too_many))
    error = await ctx.ground.redrives.start(spec)
    names.settle(spec.group_id, owner)
    return _response(error)


def _needed(spec: RedriveSpec) -> list[tuple[Right, str]]:
    needed: list[tuple[Right, str]] = [(READ_TOPIC, spec.queue)]
    if spec.target is Target.GROUP:
        needed.append((READ_GROUP, spec.letters.group_id or ""))
    elif spec.letters.topic is not None:
        needed.append((WRITE_TOPIC, spec.letters.topic))
    return needed


def _spec(ctx: FolderContext, request: StartRedriveRequest) -> RedriveSpec:
    letters = LetterFilter(
        group_id=request.group_id,
        topic=request.source_topic,
        partition=request.source_partition,
        first_offset=request.first_source_offset,
        last_offset=request.last_source_offset,
        reason=request.reason,
        died_from_ms=request.died_from_ms,
        died_until_ms=request.died_until_ms,
    )
    return RedriveSpec(
        name=request.name,
        queue=request.queue,
        target=Target(request.target),
        per_second=request.records_per_second,
        owner=Owner(ctx.connection.principal, ctx.connection.client_host),
        letters=letters,
        partition=request.queue_partition,
        first_offset=request.first_offset,
        last_offset=request.last_offset,
        again=request.again,
    )


def _response(error: ApiError) -> StartRedriveResponse:
    message = None if not error else error.message or text_of(error.code)
    return StartRedriveResponse(error_code=error.code, error_message=message)
