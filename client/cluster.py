"""The known facts about a cluster: brokers, topics, leaders of partitions, coordinators of groups. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from shareq.client.config import Address
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.metadata import MetadataResponse, MetadataResponseTopic
from shareq.protocol.primitives import ZERO_UUID

NO_LEADER = -1


@dataclass(slots=True)
class Topic:
    """A topic by the last answer about it.

    `partitions`: number -> (leader or NO_LEADER, leader epoch). `error` is NONE, or why nothing is known.
    """

    topic_id: bytes
    name: str | None
    error: int
    heard_at: float
    partitions: dict[int, tuple[int, int]] = field(default_factory=dict)


class Cluster:
    """The known facts about a cluster, which answers extend. Times are the caller's, in seconds; ids are 16 bytes."""

    def __init__(self) -> None:
        self._brokers: dict[int, Address] = {}
        self._topics: dict[bytes, Topic] = {}
        self._ids: dict[str, bytes] = {}
        self._coordinators: dict[str, int] = {}
        self._name_errors: dict[str, int] = {}
        self.controller: int | None = None
        """The node that takes changes of the cluster, which any broker of a KRaft cluster does; None if unknown."""

    @property
    def brokers(self) -> dict[int, Address]:
        """Node id -> advertised address. Not to be changed."""
        return self._brokers

    def add(self, answer: MetadataResponse, now: float) -> None:
        """Add an answer to Metadata. If two answers name leaders of a partition, the later epoch wins.

        An answer may come from a broker that is behind the one that answered before.
        """
        if answer.brokers:
            self._brokers = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
            self.controller = answer.controller_id if answer.controller_id >= 0 else None
        for topic in answer.topics:
            if topic.topic_id == ZERO_UUID:
                self._missing(topic)
            else:
                self._known(topic, now)

    def _missing(self, topic: MetadataResponseTopic) -> None:
        if topic.name:
            self._name_errors[topic.name] = topic.error_code
            self._ids.pop(topic.name, None)

    def _known(self, topic: MetadataResponseTopic, now: float) -> None:
        before = self._topics.get(topic.topic_id)
        old = before.partitions if before else {}
        partitions: dict[int, tuple[int, int]] = {}
        for row in topic.partitions:
            new = (row.leader_id, row.leader_epoch)
            known = old.get(row.partition_index, new)
            partitions[row.partition_index] = known if known[1] > row.leader_epoch >= 0 else new
        name = topic.name or (before.name if before else None)
        self._topics[topic.topic_id] = Topic(topic.topic_id, name, topic.error_code, now, partitions)
        if topic.name and topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
            self._ids[topic.name] = topic.topic_id
            self._name_errors.pop(topic.name, None)
        elif (
            topic.error_code == ErrorCode.UNKNOWN_TOPIC_ID
            and name is not None
            and self._ids.get(name) == topic.topic_id
        ):
            del self._ids[name]

    def topic(self, topic_id: bytes) -> Topic | None:
        return self._topics.get(topic_id)

    def topic_id(self, name: str) -> bytes | None:
        return self._ids.get(name)

    def name_error(self, name: str) -> int:
        """Return the error code of a name without an id; NONE if it has an id or was not looked up."""
        return self._name_errors.get(name, ErrorCode.NONE)

    def leader(self, topic_id: bytes, partition: int) -> int | None:
        """Return the leader's node; None if there is none, or the leader is unknown."""
        topic = self._topics.get(topic_id)
        leader = NO_LEADER if topic is None else topic.partitions.get(partition, (NO_LEADER, -1))[0]
        return None if leader == NO_LEADER else leader

    def coordinator(self, group_id: str) -> int | None:
        return self._coordinators.get(group_id)

    def learn_broker(self, node: int, address: Address) -> None:
        """Add a broker that another answer names; Metadata's facts about it take precedence."""
        self._brokers.setdefault(node, address)

    def set_brokers(self, brokers: dict[int, Address]) -> None:
        """Set the brokers that an answer other than Metadata's names."""
        self._brokers = brokers

    def set_coordinator(self, group_id: str, node: int, address: Address) -> None:
        self._coordinators[group_id] = node
        self.learn_broker(node, address)

    def forget_coordinator(self, group_id: str) -> None:
        self._coordinators.pop(group_id, None)
