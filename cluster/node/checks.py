"""The check of the cluster when a node starts: reachable brokers, their features, rights, state topics.

    reach         every broker reports its APIs; repeated for a while, since a cluster may start with its nodes
    lacks         the APIs that a node needs and does not find
    rights        tested by requests that change nothing
    state topics  created if missing, and checked (`check_topic`)

A refusal says why the node could not work, or how confirmed data would be lost. A warning names data that would be lost
together with brokers, or features that will be missing. Both name the resource, and the command that mends it if there
is one.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.cluster.link.ports import Failure, Link, LinkFailure
from shareq.cluster.link.versions import Served, newest_of, served_by_all
from shareq.cluster.membership import group
from shareq.cluster.mirror.topics import BY_ID_FROM
from shareq.cluster.node.options import Replication
from shareq.cluster.records import ends, fetching
from shareq.cluster.state import slot
from shareq.cluster.state.mends import grant
from shareq.cluster.state.slot import StateTopic
from shareq.cluster.state.topics import WantedTopic, check_topic
from shareq.protocol.api_keys import ApiKey
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.api_versions import ApiVersionsRequest, ApiVersionsResponse
from shareq.protocol.generated.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from shareq.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from shareq.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

logger = logging.getLogger(__name__)

PATIENCE_MS: Final = 30_000
AGAIN_MS: Final = 500
ANSWER_MS: Final = 5_000
"""The timeout of one answer; `check_topic` has its own."""
MOST_NAMED: Final = 5
"""The most addresses in one line."""
NOBODY: Final = "shareq-check"
"""A member id that no group has. A heartbeat with it is refused, and the error shows whether rights are missing."""
SHARE_VERSION: Final = "share.version"
WITH_RIGHTS: Final = 8
"""The first version of Metadata that reports authorized operations on a topic."""
NOT_SAID: Final = -(2**31)
READ, WRITE, DELETE = 3, 4, 6
"""The bits of authorized operations, as Apache Kafka numbers the operations."""


class Wanted(NamedTuple):
    """The needs of a node: its state topics, with the replicas that `replication` says, and the group of the nodes.

    `transactional_ids` is the prefix of the slots' transactional ids. The partitions of the topics in `slotted` are
    slots.
    """

    topics: Sequence[WantedTopic]
    replication: Replication
    group_id: str
    transactional_ids: str = "shareq-"
    slotted: Collection[str] = ()


class Reached(NamedTuple):
    """The cluster as its brokers describe it. `unreached` has a text for each named broker that did not answer."""

    cluster_id: str
    brokers: int
    served: Served
    unreached: Sequence[str] = ()


class Unreachable(NamedTuple):
    """The reason why no broker of the cluster answered. `refused`: a broker has rejected the node's credentials."""

    text: str
    refused: bool = False


@dataclass(slots=True)
class Checked:
    """The outcome of the check. If there are `refusals`, the node must not start; `topics` are the state topics by
    name.
    """

    cluster: Reached
    topics: dict[str, StateTopic] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


# -- who answers


async def reach(env: Environment, link: Link, patience_ms: int = PATIENCE_MS) -> Reached | Unreachable:
    """Ask every broker for its versions until all have answered or `patience_ms` are over; then those that answered are
    enough.
    """
    give_up_ms = env.clock.now_ms() + patience_ms
    failed = ""
    while True:
        found = await _ask_all(link)
        problem = found.text if isinstance(found, Unreachable) else "; ".join(found.unreached)
        refused = isinstance(found, Unreachable) and found.refused
        if not problem or refused or env.clock.now_ms() + AGAIN_MS >= give_up_ms:
            return found
        if problem != failed:
            logger.warning("the cluster is not reached yet: %s", problem)
            failed = problem
        await sleep(env.clock, AGAIN_MS)


async def _ask_all(link: Link) -> Reached | Unreachable:
    """Ask all brokers that one broker's Metadata names."""
    metadata = await link.send(None, MetadataRequest([], allow_auto_topic_creation=False), timeout_ms=ANSWER_MS)
    if isinstance(metadata, LinkFailure):
        return Unreachable(metadata.text + _advertised(link), metadata.failure is Failure.REFUSED)
    assert isinstance(metadata, MetadataResponse)
    nodes = sorted(broker.node_id for broker in metadata.brokers)
    asked = [link.send(node, ApiVersionsRequest("shareq", "1"), timeout_ms=ANSWER_MS) for node in nodes]
    answers: list[ApiVersionsResponse] = []
    unreached: list[str] = []
    for pending in asked:
        answer = await pending
        if isinstance(answer, ApiVersionsResponse):
            answers.append(answer)
            continue
        assert isinstance(answer, LinkFailure)
        if answer.failure is Failure.REFUSED:
            return Unreachable(answer.text, refused=True)
        unreached.append(answer.text)
    if not answers:
        return Unreachable(("; ".join(unreached) or "the cluster names no brokers") + _advertised(link))
    return Reached(metadata.cluster_id or "", len(nodes), served_by_all(answers), unreached)


def _advertised(link: Link) -> str:
    """Return the end of a line about unreached brokers: their advertised addresses, if some broker has named them."""
    addresses = [f"{each.host}:{each.port}" for _, each in sorted(link.brokers.items())]
    return f"; the cluster says that its brokers are at {', '.join(addresses[:MOST_NAMED])}" if addresses else ""


# -- what the brokers serve


class Lack(NamedTuple):
    """An API that the cluster does not serve in a sufficient version. If it is not `needed`, the node works with fewer
    features.
    """

    text: str
    needed: bool


class _Need(NamedTuple):
    api: ApiKey
    version: int
    since: str  # the release of Apache Kafka that has it
    without: str
    needed: bool = True


_NEEDS: Final = (
    _Need(ApiKey.METADATA, BY_ID_FROM, "2.8", "topics have no ids, by which their state is kept"),
    _Need(ApiKey.FETCH, fetching.LEAST_VERSION, "1.1", "no records can be read"),
    _Need(ApiKey.LIST_OFFSETS, ends.LEAST_VERSION, "0.11", "where a log begins and ends cannot be known"),
    _Need(ApiKey.PRODUCE, slot.WITH_LOG_START, "1.0", "no state can be written"),
    _Need(ApiKey.INIT_PRODUCER_ID, 0, "0.11", "what a deposed node writes would be taken for its successor's"),
    _Need(ApiKey.FIND_COORDINATOR, group.SEVERAL_KEYS, "3.0", "the nodes could not find one another"),
    _Need(ApiKey.JOIN_GROUP, group.WITH_INSTANCE_ID, "2.3", "the nodes could not share the work"),
    _Need(ApiKey.SYNC_GROUP, 0, "0.9", "the nodes could not share the work"),
    _Need(ApiKey.HEARTBEAT, 0, "0.9", "the nodes could not share the work"),
    _Need(ApiKey.LEAVE_GROUP, group.JOINED_WITH_MEMBERS, "2.4", "the others wait for a node that stops", False),
    _Need(ApiKey.CREATE_TOPICS, 0, "0.10.1", "state topics have to be made by hand", False),
    _Need(ApiKey.DESCRIBE_CONFIGS, 0, "0.11", "whether the cluster keeps what is confirmed cannot be checked", False),
    _Need(ApiKey.DELETE_RECORDS, 0, "0.11", "state topics cannot be pruned, and grow", False),
    _Need(ApiKey.OFFSET_FOR_LEADER_EPOCH, ends.LEAST_VERSION, "2.1", "no log could be read on under another leader"),
)


def lacks(served: Served) -> list[Lack]:
    """Return the APIs that a node needs and the cluster does not serve."""
    return [
        Lack(
            f"the cluster does not serve {_name(need.api)} in version {need.version} or later, which Apache Kafka has "
            f"since {need.since}: {need.without}",
            need.needed,
        )
        for need in _NEEDS
        if (newest := newest_of(need.api, served.versions)) is None or newest < need.version
    ]


def _name(api: ApiKey) -> str:
    return api.name.title().replace("_", "")


def _own_share_groups(served: Served) -> Iterator[str]:
    level = served.features.get(SHARE_VERSION, 0)
    if level > 0 and ApiKey.SHARE_GROUP_HEARTBEAT in served.versions:
        yield (
            f"the cluster has share groups of its own (feature share.version {level}): those of clients that connect "
            "to a node are kept by the nodes, all others by the cluster. A group of one name on both sides is two "
            "groups, and each gets every record"
        )


# -- what the node may do


async def _group_rights(link: Link, group_id: str) -> list[str]:
    """Test the right on the group by a heartbeat of a member that does not exist: brokers check rights before
    members.
    """
    request = HeartbeatRequest(group_id, 0, NOBODY)
    answer = await link.send(None, request, timeout_ms=ANSWER_MS)
    if isinstance(answer, HeartbeatResponse) and answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
        return [
            f"group {group_id}: GROUP_AUTHORIZATION_FAILED: the nodes are its members, and share the work by it"
            f"{grant('group', group_id, 'read')}"
        ]
    return []


async def _transactional_rights(link: Link, prefix: str) -> list[str]:
    """Test the right on transactional ids by FindCoordinator. The right to write is tested by the first take-over."""
    request = FindCoordinatorRequest("", slot.TRANSACTIONAL_ID, [f"{prefix}check"])
    answer = await link.send(None, request, timeout_ms=ANSWER_MS, min_version=slot.SEVERAL_KEYS)
    if not isinstance(answer, FindCoordinatorResponse) or not answer.coordinators:
        return []
    if answer.coordinators[0].error_code != ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
        return []
    return [
        f"transactional ids {prefix}*: TRANSACTIONAL_ID_AUTHORIZATION_FAILED: what a deposed node still writes is not "
        "refused by the brokers; readers skip it all the same, and nothing is lost"
        f"{grant('transactional-id', prefix, 'write', pattern='prefixed')}"
    ]


async def _topic_rights(link: Link, names: Sequence[str], checked: Checked) -> None:
    """Check the node's rights on the state topics, if brokers report them."""
    if (newest_of(ApiKey.METADATA, checked.cluster.served.versions) or 0) < WITH_RIGHTS:
        return
    request = MetadataRequest([MetadataRequestTopic(name=name) for name in names], False, False, True)
    answer = await link.send(None, request, timeout_ms=ANSWER_MS, min_version=WITH_RIGHTS)
    if not isinstance(answer, MetadataResponse):
        return
    for topic in answer.topics:
        bits, name = topic.topic_authorized_operations, topic.name or ""
        if topic.error_code or bits == NOT_SAID:
            continue
        for bit, operation, without in _OF_STATE_TOPICS:
            if not bits >> bit & 1:
                checked.refusals.append(
                    f"topic {name}: no right to {operation} it: {without}{grant('topic', name, operation)}"
                )
        if not (bits >> DELETE & 1 or checked.topics[name].compacted):
            checked.warnings.append(
                f"topic {name}: no right to delete its records: it cannot be pruned, and grows"
                f"{grant('topic', name, 'delete')}"
            )


_OF_STATE_TOPICS: Final = (
    (READ, "read", "what was confirmed could not be loaded"),
    (WRITE, "write", "nothing could be confirmed"),
)


# -- all of it


async def check_cluster(env: Environment, link: Link, wanted: Wanted, cluster: Reached) -> Checked:
    """Check a reachable cluster, and create missing state topics."""
    checked = Checked(cluster)
    checked.warnings += [
        f"{each}; what it leads is neither read nor written until it is reached" for each in cluster.unreached
    ]
    for lack in lacks(cluster.served):
        (checked.refusals if lack.needed else checked.warnings).append(lack.text)
    checked.warnings += _own_share_groups(cluster.served)
    if checked.refusals:
        return checked
    checked.refusals += await _group_rights(link, wanted.group_id)
    checked.warnings += await _transactional_rights(link, wanted.transactional_ids)
    factor, words = _replicas(wanted.replication, cluster.brokers)
    checked.warnings += words
    min_isr = min(wanted.replication.min_isr, factor)
    for topic in wanted.topics:
        found = await check_topic(env, link, topic._replace(replication_factor=factor, min_insync_replicas=min_isr))
        checked.refusals += found.refusals
        checked.warnings += found.warnings
        if found.topic is not None:
            checked.topics[topic.name] = found.topic
            if topic.name in wanted.slotted:
                checked.refusals += _other_slots(found.topic, topic.partitions)
    await _topic_rights(link, list(checked.topics), checked)
    return checked


def _other_slots(topic: StateTopic, slots: int) -> list[str]:
    """Return a fault if the topic's partitions are not `slots`: states would be looked for in the wrong partition."""
    if topic.partitions == slots:
        return []
    return [
        f"topic {topic.name}: it has {topic.partitions} partitions, and shareq.cluster.slots is {slots}: what was "
        "confirmed would be looked for in the wrong ones. If none were added since it was made, mend: "
        f"--set shareq.cluster.slots={topic.partitions}, on every node"
    ]


def _replicas(replication: Replication, brokers: int) -> tuple[int, list[str]]:
    """Return the number of replicas to create state topics with, and warnings.

    The operator's number is used as it is; the default is lowered if there are fewer brokers.
    """
    if replication.given or brokers >= replication.factor:
        return replication.factor, []
    return brokers, [
        f"the cluster has {brokers} broker{'s' * (brokers > 1)}: state topics that are made now have as many replicas, "
        f"where {replication.factor} are usual, and what was confirmed is lost with all of them"
    ]
