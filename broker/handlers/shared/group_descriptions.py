"""The common part of RPCs that describe groups of the newer protocols (KIP-848, KIP-932): the rights they need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.foundation.loop.coroutines import gathered
from shareq.broker.foundation.pending import Pending
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, HIDDEN_TOPICS
from shareq.protocol.errors import ErrorCode

GroupT = TypeVar("GroupT", bound=authorized_operations.DescribedGroup)
GroupT_co = TypeVar("GroupT_co", bound=authorized_operations.DescribedGroup, covariant=True)


class ErrorEntry(Protocol[GroupT_co]):
    """A function that makes the entry of a group that cannot be described."""

    def __call__(self, group_id: str, error: ErrorCode, message: str | None = None) -> GroupT_co: ...


async def described_groups(
    ctx: RequestContext,
    group_ids: Sequence[str],
    describe: Callable[[str], Pending[GroupT]],
    error_entry: ErrorEntry[GroupT],
    topics_of: Callable[[GroupT], Collection[str]],
    *,
    with_operations: bool,
) -> list[GroupT]:
    """Return the groups' entries; first those of groups that the client may not DESCRIBE.

    A group is described only if the client may DESCRIBE all of `topics_of` it, the topics assigned in it.
    `with_operations`: the client asks for its allowed operations.
    """
    described: list[GroupT] = []
    begun: list[Pending[GroupT]] = []
    for group_id in group_ids:
        if ctx.may(DESCRIBE_GROUP, group_id):
            begun.append(describe(group_id))
        else:
            described.append(error_entry(group_id, DESCRIBE_GROUP.error))
        await ctx.breathe()
    for group in await gathered(begun, ctx.breathe):
        if with_operations:
            authorized_operations.fill_in_group_operations(ctx, [group])
        if ctx.services.authorizer is not None and await ctx.find_lacking(DESCRIBE_TOPIC, topics_of(group)):
            described.append(error_entry(group.group_id, DESCRIBE_TOPIC.error, HIDDEN_TOPICS))
        else:
            described.append(group)
        await ctx.breathe()
    return described
