"""`shareq cluster`: the cluster and its brokers."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from shareq.ops.cli.shared.command import Session, cluster_command, cluster_group

command = cluster_group("cluster")


class ClusterRow(NamedTuple):
    cluster: Annotated[str, "Its id."]
    controller: Annotated[int | None, "Node id of the controller, or of the broker that stands for it."]
    brokers: Annotated[int, "How many there are."]
    topics: Annotated[int, "Topics that may be seen, internal ones too."]
    partitions: Annotated[int, "Their partitions."]
    without_leader: Annotated[int, "Partitions that have no leader now."]


class BrokerRow(NamedTuple):
    node: Annotated[int, "Its node id."]
    host: Annotated[str, "Where clients reach it."]
    port: Annotated[int, "Its port."]
    rack: Annotated[str | None, "Its rack."]
    controller: Annotated[bool, "Whether it is the controller, or stands for it."]
    log_bytes: Annotated[int | None, "What its logs take; null where it does not say."]
    free_bytes: Annotated[int | None, "What is left on their volumes; null where it does not say."]


@cluster_command(command, "describe", "  shareq cluster describe", row=ClusterRow, shape="object")
def describe(session: Session) -> ClusterRow:
    """Show the cluster in a few numbers."""
    found = session.admin.cluster.describe()
    topics = partitions = leaderless = 0
    for topic in session.admin.topics.all():
        topics += 1
        partitions += len(topic.partitions)
        leaderless += sum(each.leader is None for each in topic.partitions)
    return ClusterRow(found.cluster_id, found.controller, len(found.brokers), topics, partitions, leaderless)


@cluster_command(command, "brokers", "  shareq cluster brokers", row=BrokerRow)
def brokers(session: Session) -> list[BrokerRow]:
    """List the brokers, and how full they are."""
    return [BrokerRow(*each) for each in session.admin.cluster.describe().brokers]
