"""DescribeRedrives: v0 (shareq's own, ADR 11).

Behaviour: returns the progress of redrives that run, or are finished and have not expired: by name, of one queue, or
all; running ones first, at most 100. DESCRIBE on the queue is needed. Without it, a redrive gets RESOURCE_NOT_FOUND if
it is named, and is otherwise left out.
"""

from __future__ import annotations

from typing import Final

from shareq.broker.data_folder_ground import FolderContext
from shareq.broker.foundation.turn_budget import LOOK
from shareq.broker.redrive.progress import Ranges, totals
from shareq.broker.redrive.service import MOST_DESCRIBED, RedriveReport
from shareq.broker.security.rights import DESCRIBE_TOPIC
from shareq.protocol.errors import ApiError, ErrorCode, text_of
from shareq.protocol.generated.describe_redrives import (
    DescribedRedrive,
    DescribeRedrivesRequest,
    DescribeRedrivesResponse,
    RedriveCount,
    RedrivePartition,
)

CONTEXT = FolderContext

_HIDDEN: Final = ApiError(ErrorCode.RESOURCE_NOT_FOUND)


async def handle(ctx: FolderContext, request: DescribeRedrivesRequest) -> DescribeRedrivesResponse:
    if request.names is not None and len(request.names) > MOST_DESCRIBED:
        message = f"{len(request.names)} names, and at most {MOST_DESCRIBED} may be asked for at a time."
        return DescribeRedrivesResponse(error_code=ErrorCode.INVALID_REQUEST, error_message=message)
    redrives, names, queue = ctx.ground.redrives, request.names, request.sent_from
    response = DescribeRedrivesResponse()
    for name, found in await (redrives.describe(names) if queue is None else redrives.of_queue(queue)):
        report = _shown(ctx, found)
        if report is not _HIDDEN or names is not None:
            response.redrives.append(_row(name, report))
        await ctx.breathe(LOOK)  # it may have many partitions
    return response


def _shown(ctx: FolderContext, report: RedriveReport | ApiError) -> RedriveReport | ApiError:
    if isinstance(report, ApiError):
        return _HIDDEN if report.code is ErrorCode.RESOURCE_NOT_FOUND else report
    return report if ctx.sees(DESCRIBE_TOPIC, report.spec.queue) else _HIDDEN


def _row(name: str, report: RedriveReport | ApiError) -> DescribedRedrive:
    if isinstance(report, ApiError):
        return DescribedRedrive(report.code, report.message or text_of(report.code), name)
    spec = report.spec
    return DescribedRedrive(
        error_code=ErrorCode.NONE,
        error_message=None,
        name=name,
        state=report.state.value,
        trouble=report.trouble,
        queue=spec.queue,
        target=spec.target,
        group_id=spec.letters.group_id,
        source_topic=spec.letters.topic,
        records_per_second=spec.per_second,
        owner=spec.owner.principal,
        started_ms=spec.started_ms,
        counts=[RedriveCount(what.value, count) for what, count in totals(report.progress).items()],
        partitions=[
            RedrivePartition(each.partition, each.next_offset, each.end_offset, _ends(each.stayed), _ends(each.beyond))
            for each in report.progress
        ],
        source_partition=spec.letters.partition,
        first_source_offset=spec.letters.first_offset,
        last_source_offset=spec.letters.last_offset,
        reason=spec.letters.reason,
        died_from_ms=spec.letters.died_from_ms,
        died_until_ms=spec.letters.died_until_ms,
        first_offset=spec.first_offset,
    )


def _ends(ranges: Ranges) -> list[int]:
    return [end for each in ranges for end in each]
