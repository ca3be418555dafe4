"""The brokers and leaders named in responses, at the addresses for clients of the request's listener."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from shareq.broker.dispatch.context import RequestContext
from shareq.broker.topics.endpoint import Endpoint
from shareq.protocol.errors import ErrorCode

NO_NODE = -1
NO_EPOCH = -1


class PartitionRow(Protocol):
    """A partition in a metadata answer, with this broker as its leader until another one is set."""

    partition_index: int
    error_code: int
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]


class WireEndpoint(Protocol):
    """A node as responses name it, with its address."""

    node_id: int


EndpointT = TypeVar("EndpointT", bound=WireEndpoint)


class Address(NamedTuple):
    """The id and address of a broker as responses have them."""

    node_id: int
    host: str
    port: int
    rack: str | None


class NamedLeader(NamedTuple):
    """The leader to name with an error, and its address if it has the request's listener."""

    node_id: int
    epoch: int
    address: Address | None


def live_brokers(ctx: RequestContext) -> list[Address]:
    """Return the live brokers, including this one, that have the request's listener."""
    listener = ctx.connection.listener
    others = ((node.at(listener), node.rack) for node in ctx.services.leaders.others)
    return [_own(ctx), *(_address(endpoint, rack) for endpoint, rack in others if endpoint is not None)]


def controller_id(ctx: RequestContext) -> int:
    """Return the id of the broker that clients should use as the controller."""
    controller = ctx.services.leaders.controller
    return ctx.services.started_with.node_id if controller is None else controller.node_id


def name_leaders(
    ctx: RequestContext,
    topic: str,
    rows: Iterable[PartitionRow],
    not_reached: ErrorCode = ErrorCode.LISTENER_NOT_FOUND,
) -> None:
    """Set the leaders of partitions, with their epochs.

    If the leader does not have the request's listener, the row's error is `not_reached`; if it is not known to be
    alive, LEADER_NOT_AVAILABLE. An epoch that may be older than the one that a client has from the leader itself is
    left out: librdkafka would ignore an older one for ever.
    """
    leaders = ctx.services.leaders
    if leaders.is_alone:
        return
    alive = {node.node_id: node.at(ctx.connection.listener) for node in leaders.others}
    for row in rows:
        leader = leaders.other_leader(topic, row.partition_index)
        if leader is None:
            row.leader_epoch = leaders.own_epoch(topic, row.partition_index)
            continue
        node_id = NO_NODE if leader.node is None else leader.node.node_id
        replicas = [] if leader.node is None else [node_id]
        row.leader_epoch = leader.epoch if leaders.knows_epochs else NO_EPOCH
        row.replica_nodes = replicas
        if node_id not in alive:
            row.error_code, row.leader_id = ErrorCode.LEADER_NOT_AVAILABLE, NO_NODE
            row.isr_nodes, row.offline_replicas = [], replicas
        elif alive[node_id] is None:
            row.error_code, row.leader_id, row.isr_nodes = not_reached, NO_NODE, replicas
        else:
            row.leader_id, row.isr_nodes = node_id, replicas


def leader_to_name(ctx: RequestContext, topic: str | None, partition: int, error: int) -> NamedLeader | None:
    """Return the leader to name in a response with this error; None for errors that need no leader, and if there is
    none.
    """
    if error not in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
        return None
    leaders = ctx.services.leaders
    other = None if topic is None else leaders.other_leader(topic, partition)
    if other is None:
        epoch = 0 if topic is None else leaders.own_epoch(topic, partition)
        return NamedLeader(ctx.services.started_with.node_id, epoch, _own(ctx))
    if other.node is None:
        return None
    endpoint = other.node.at(ctx.connection.listener)
    address = None if endpoint is None else _address(endpoint, other.node.rack)
    return NamedLeader(other.node.node_id, other.epoch, address)


def add_endpoint(endpoints: list[EndpointT], endpoint: EndpointT) -> None:
    """Add a node to the response, unless it is there already."""
    if all(named.node_id != endpoint.node_id for named in endpoints):
        endpoints.append(endpoint)


def _own(ctx: RequestContext) -> Address:
    services = ctx.services
    return _address(services.endpoint_for(ctx.connection.listener), services.configs.broker.broker_rack)


def _address(endpoint: Endpoint, rack: str | None) -> Address:
    return Address(endpoint.node_id, endpoint.host, endpoint.port, rack)
