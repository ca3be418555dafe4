"""RPCs that describe groups and transactions, forwarded to their coordinator: versions cut to the cluster's.

Behaviour: as the cluster's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from copy import copy
from typing import Any, Final, NamedTuple

from shareq.broker.handlers.shared import authorized_operations
from shareq.broker.security.rights import (
    DESCRIBE_GROUP,
    DESCRIBE_TOPIC,
    DESCRIBE_TRANSACTION,
    HIDDEN_TOPICS,
    Right,
)
from shareq.cluster.forward.coordinators import Kind
from shareq.cluster.forward.forwarding import ForwardContext
from shareq.coordinator.group.classic.describe import classic_group_error_entry
from shareq.coordinator.group.consumer.describe import consumer_group_error_entry
from shareq.protocol.api_keys import ApiKey, codec
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import consumer_group_describe, describe_groups, describe_transactions
from shareq.protocol.primitives import Message

CONTEXT = ForwardContext
Element = Any  # what is described, of whichever RPC


class Described(NamedTuple):
    """An RPC that describes groups or transactions; `keys` and `rows` are its fields. `entry` makes the row of a key
    with an error, `seen` removes from a row what the client may not see.
    """

    kind: Kind
    right: Right
    keys: str
    rows: str
    entry: Callable[[str, ErrorCode], Element]
    seen: Callable[[ForwardContext, Message, Element], Awaitable[Element]]


async def _classic(ctx: ForwardContext, request: Message, group: describe_groups.DescribedGroup) -> Element:
    return _with_operations(ctx, request, group)


async def _consumer(ctx: ForwardContext, request: Message, group: consumer_group_describe.DescribedGroup) -> Element:
    if await ctx.find_lacking(DESCRIBE_TOPIC, dict.fromkeys(_assigned(group))):
        return consumer_group_error_entry(group.group_id, DESCRIBE_TOPIC.error, HIDDEN_TOPICS)
    return _with_operations(ctx, request, group)


def _with_operations(ctx: ForwardContext, request: Message, group: Element) -> Element:
    if request.include_authorized_operations:  # type: ignore[attr-defined]
        authorized_operations.fill_in_group_operations(ctx, [group])
    return group


def _assigned(group: consumer_group_describe.DescribedGroup) -> Iterable[str]:
    for member in group.members:
        for assignment in (member.assignment, member.target_assignment):
            for part in assignment.topic_partitions:
                yield part.topic_name


async def _transaction(
    ctx: ForwardContext, _request: Message, state: describe_transactions.TransactionState
) -> Element:
    state.topics = [topic for topic in state.topics if ctx.sees(DESCRIBE_TOPIC, topic.topic)]
    return state


def _unknown_transaction(transactional_id: str, error: ErrorCode) -> describe_transactions.TransactionState:
    return describe_transactions.TransactionState(error, transactional_id)


ROWS: Final = {
    ApiKey.DESCRIBE_GROUPS: Described(
        Kind.GROUP, DESCRIBE_GROUP, "groups", "groups", classic_group_error_entry, _classic
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Described(
        Kind.GROUP, DESCRIBE_GROUP, "group_ids", "groups", consumer_group_error_entry, _consumer
    ),
    ApiKey.DESCRIBE_TRANSACTIONS: Described(
        Kind.TRANSACTION,
        DESCRIBE_TRANSACTION,
        "transactional_ids",
        "transaction_states",
        _unknown_transaction,
        _transaction,
    ),
}


async def handle(ctx: ForwardContext, request: Message) -> Message:
    """Ask the coordinator of each key, one after the other."""
    row = ROWS[ApiKey(request.API_KEY)]
    response = codec(request.API_KEY).response_class()
    rows: list[Element] = getattr(response, row.rows)
    keys: Sequence[str] = getattr(request, row.keys)
    one = copy(request)
    for key in keys:
        setattr(one, row.keys, [key])
        found = await _found(ctx, row, key, one)
        rows += [row.entry(key, found)] if isinstance(found, ErrorCode) else found
        await ctx.breathe()
    return response


def failed(request: Message, error: ErrorCode) -> Message:
    """Return the answer when the request could not be handled."""
    row = ROWS[ApiKey(request.API_KEY)]
    response = codec(request.API_KEY).response_class()
    setattr(response, row.rows, [row.entry(key, error) for key in getattr(request, row.keys)])
    return response


async def _found(ctx: ForwardContext, row: Described, key: str, request: Message) -> list[Element] | ErrorCode:
    if error := ctx.refusal_of(row.right, key):
        return error
    answer = await ctx.ask_coordinator(row.kind, key, request, Message)
    if isinstance(answer, ErrorCode):
        return answer
    found: list[Element] = getattr(answer, row.rows)
    return [await row.seen(ctx, request, each) for each in found]
