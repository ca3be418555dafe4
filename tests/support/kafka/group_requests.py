"""Builders of group members' requests; the defaults are what most clients send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shareq.protocol.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from shareq.protocol.generated.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from shareq.protocol.generated.sync_group import SyncGroupRequest, SyncGroupRequestAssignment


def join_request(
    group: str,
    member_id: str = "",
    protocols: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    kind: str = "consumer",
    session_ms: int = 10_000,
    rebalance_ms: int = 10_000,
) -> JoinGroupRequest:
    """Return a JoinGroup that offers `protocols`, or range without metadata."""
    offered = {"range": b""} if protocols is None else protocols
    rows = [JoinGroupRequestProtocol(name, metadata) for name, metadata in offered.items()]
    return JoinGroupRequest(group, session_ms, rebalance_ms, member_id, instance, kind, rows)


def sync_request(
    group: str,
    generation: int,
    member_id: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    kind: str | None = "consumer",
    protocol: str | None = "range",
) -> SyncGroupRequest:
    """Return a SyncGroup; without `assignments` that of a follower."""
    rows = [SyncGroupRequestAssignment(each, data) for each, data in (assignments or {}).items()]
    return SyncGroupRequest(group, generation, member_id, instance, kind, protocol, rows)


def consumer_heartbeat(
    group: str,
    member_id: str = "m",
    epoch: int = 0,
    topics: Sequence[str] | None = None,
    *,
    regex: str | None = None,
    rebalance_ms: int = 30_000,
) -> ConsumerGroupHeartbeatRequest:
    """Return a ConsumerGroupHeartbeat that joins, or of a joined member if `epoch` is not 0."""
    return ConsumerGroupHeartbeatRequest(
        group,
        member_id,
        epoch,
        rebalance_timeout_ms=-1 if epoch else rebalance_ms,
        subscribed_topic_names=None if topics is None else list(topics),
        subscribed_topic_regex=regex,
        topic_partitions=None if epoch else [],
    )
