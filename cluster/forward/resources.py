"""Config resources in a client's request: those that are a node's own, and the broker to ask for each other one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from shareq.broker.handlers.shared.config_resources import ResourceType
from shareq.cluster.forward.forwarding import failure_error, is_hidden
from shareq.cluster.link.ports import LinkFailure
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, text_of

if TYPE_CHECKING:
    from shareq.broker.foundation.pending import Pending
    from shareq.broker.security.rights import Right
    from shareq.cluster.forward.forwarding import ForwardContext
    from shareq.protocol.primitives import Message

_EVERYTHING: Final = ""
"""The resource name that stands for the defaults of all brokers."""
_LONGEST_ID: Final = 10
"""The most digits of a broker's id, since `int` is slow for long texts."""


class ConfigResource(Protocol):
    """A resource in a request, or in an answer."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=ConfigResource)
A = TypeVar("A", bound=ConfigResource)
M = TypeVar("M", bound="Message")
Q = TypeVar("Q", bound="Message")


def _is_own(ctx: ForwardContext, resource: ConfigResource) -> bool:
    """Return True for a resource that the node itself answers: groups, its own properties, and types that its handler
    refuses.
    """
    match resource.resource_type:
        case ResourceType.TOPIC:
            return False
        case ResourceType.BROKER:
            return resource.resource_name == str(ctx.services.started_with.node_id)
        case _:
            return True


async def ask_owners(
    ctx: ForwardContext,
    resources: Iterable[R],
    request: Callable[[list[R]], Q],
    answers: type[M],
    rows: Callable[[M], Iterable[A]],
    row: Callable[[R, ApiError], A],
    *,
    rights: tuple[Right, Right],
) -> tuple[Q, list[A]]:
    """Return the request for the node's own resources, and the rows of all other ones, in the order of the request.

    `rights` are the needed rights on topics and on the cluster; `row` makes the row of an error. Properties of one
    broker are asked of that broker, all others of any broker.
    """
    own: list[R] = []
    others: list[R] = []
    for resource in resources:
        (own if _is_own(ctx, resource) else others).append(resource)
        await ctx.breathe()
    return request(own), await _ask_owners(ctx, others, request, answers, rows, row, rights=rights)


async def _ask_owners(
    ctx: ForwardContext,
    resources: Sequence[R],
    request: Callable[[list[R]], Q],
    answers: type[M],
    rows: Callable[[M], Iterable[A]],
    row: Callable[[R, ApiError], A],
    *,
    rights: tuple[Right, Right],
) -> list[A]:
    placed: dict[int, A] = {}
    by_node: dict[int | None, list[tuple[int, R]]] = {}
    for at, resource in enumerate(resources):
        if error := _refusal(ctx, resource, rights):
            placed[at] = row(resource, error)
        else:
            by_node.setdefault(_owner(resource), []).append((at, resource))
        await ctx.breathe()
    sent: list[tuple[list[tuple[int, R]], Pending[Message | LinkFailure]]] = [
        (asked, ctx.send(node, request([resource for _, resource in asked]))) for node, asked in by_node.items()
    ]
    for asked, pending in sent:
        outcome = await pending
        assert isinstance(outcome, (answers, LinkFailure))
        answered = () if isinstance(outcome, LinkFailure) else rows(outcome)
        found = {(each.resource_type, each.resource_name): each for each in answered}
        missing = failure_error(outcome) if isinstance(outcome, LinkFailure) else ApiError(ErrorCode.INVALID_REQUEST)
        for at, resource in asked:
            placed[at] = found.get((resource.resource_type, resource.resource_name)) or row(resource, missing)
            await ctx.breathe()
    return [placed[at] for at in range(len(resources))]


def _owner(resource: ConfigResource) -> int | None:
    broker = resource.resource_type == ResourceType.BROKER and resource.resource_name != _EVERYTHING
    return int(resource.resource_name) if broker else None


def _refusal(ctx: ForwardContext, resource: ConfigResource, rights: tuple[Right, Right]) -> ApiError:
    of_topic, of_cluster = rights
    name = resource.resource_name
    if resource.resource_type == ResourceType.TOPIC:
        if not ctx.may(of_topic, name):
            return ApiError(of_topic.error, text_of(of_topic.error))
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if is_hidden(name) else NO_ERROR
    if not ctx.may(of_cluster):
        return ApiError(of_cluster.error, text_of(of_cluster.error))
    brokers = ctx.forwarding.link.brokers
    if name == _EVERYTHING or (name.isdecimal() and len(name) <= _LONGEST_ID and int(name) in brokers):
        return NO_ERROR
    own = ctx.services.started_with.node_id
    expected = f"{own} for this node, one of {sorted(brokers)} for a broker of the cluster, or an empty string"
    return ApiError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {expected}, but received {name}")
