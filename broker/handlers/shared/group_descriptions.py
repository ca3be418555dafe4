"""What the RPCs that describe groups of the newer protocols (KIP-848, KIP-932) have in common: who may see which."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Final, Protocol, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.dispatch.in_turns import each_in_turns
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import DESCRIBE_GROUP, DESCRIBE_TOPIC, HIDDEN_TOPICS
from shareq.protocol.errors import ErrorCode

GroupT = TypeVar("GroupT", bound=authorized_operations.DescribedGroup)
GroupT_co = TypeVar("GroupT_co", bound=authorized_operations.DescribedGroup, covariant=True)


TURN_GROUPS: Final = 250
"""So many are described in one turn, 10 µs each beside their members."""


class ErrorEntry(Protocol[GroupT_co]):
    """Makes the entry of a group that cannot be described."""

    def __call__(self, group_id: str, error: ErrorCode, message: str | None = None) -> GroupT_co: ...


def described_groups(
    ctx: RequestContext,
    group_ids: Sequence[str],
    describe: Callable[[str], Pending[GroupT]],
    error_entry: ErrorEntry[GroupT],
    topics_of: Callable[[GroupT], Collection[str]],
    *,
    with_operations: bool,
) -> Pending[list[GroupT]]:
    """The groups' entries, in front those that need DESCRIBE on the group. Where DESCRIBE is missing on one of
    `topics_of`, the topics assigned in a group, nothing is returned of it. `with_operations`: the client asks what it
    may do.
    """
    refused: list[GroupT] = []

    def visible(group: GroupT) -> GroupT:
        if not ctx.lacking(DESCRIBE_TOPIC, topics_of(group)):
            return group
        return error_entry(group.group_id, DESCRIBE_TOPIC.error, HIDDEN_TOPICS)

    def respond(group: GroupT) -> Sequence[GroupT]:
        if with_operations:
            authorized_operations.fill_in_group_operations(ctx, [group])
        return (group if ctx.services.authorizer is None else visible(group),)

    def ask(group_id: str) -> Pending[Sequence[GroupT]]:
        if ctx.may(DESCRIBE_GROUP, group_id):
            return describe(group_id).then(respond)
        refused.append(error_entry(group_id, DESCRIBE_GROUP.error))
        return completed(())

    return each_in_turns(ctx, group_ids, ask, TURN_GROUPS).then(lambda groups: [*refused, *chain.from_iterable(groups)])
