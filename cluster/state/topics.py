"""The state topics: created if they are missing, and checked before each start.

    states   cleanup.policy=delete, retention.ms=-1   pruned by their owners; all updates of a state have one
                                                      key, so compaction would keep the last of them alone
    others   cleanup.policy=compact                   a key's last value counts; deletion would forget what is old

A topic that would lose confirmed data by its own settings is refused. A topic that may lose it when brokers are lost
causes a warning that names the loss: how many lost brokers a confirmed acknowledgement survives is the operator's
choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Environment
from shareq.broker.foundation.loop.coroutines import sleep
from shareq.cluster.link.ports import Link, LinkFailure
from shareq.cluster.state.mends import create, grant, set_property
from shareq.cluster.state.slot import StateTopic
from shareq.protocol.errors import ErrorCode, error_of
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from shareq.protocol.primitives import Message

WANTED_MESSAGE_BYTES: Final = 33 << 20
"""The most bytes of a batch that are wanted. A state of a million offsets in flight takes up to 32 MB."""
DEFAULT_MESSAGE_BYTES: Final = 1_048_588
"""Apache Kafka's default, used if the properties of a topic may not be read."""
COMPACTION_LAG_MS: Final = 3_600_000
"""The least age of records that are compacted. Valid records that a zombie has overwritten are written again before
that (`overwritten.py`).
"""
TIMEOUT_MS: Final = 30_000
HEARD_OF_WITHIN_MS: Final = 30_000
"""The time in which brokers have to learn of a created topic."""
AGAIN_MS: Final = 100
UNLIMITED: Final = "-1"
TOPIC: Final = 2
"""The resource type of topics in DescribeConfigs."""

_REFUSES_CONFIGS: Final = frozenset({ErrorCode.INVALID_CONFIG, ErrorCode.POLICY_VIOLATION})


class WantedTopic(NamedTuple):
    """The settings that a state topic should have."""

    name: str
    partitions: int
    compacted: bool
    replication_factor: int = 3
    min_insync_replicas: int = 2
    max_message_bytes: int = WANTED_MESSAGE_BYTES

    def configs(self) -> dict[str, str]:
        """Return the properties that the topic is created with."""
        own = (
            {"cleanup.policy": "compact", "min.compaction.lag.ms": str(COMPACTION_LAG_MS)}
            if self.compacted
            else {"cleanup.policy": "delete", "retention.ms": UNLIMITED, "retention.bytes": UNLIMITED}
        )
        return own | {
            "min.insync.replicas": str(self.min_insync_replicas),
            "unclean.leader.election.enable": "false",
            "max.message.bytes": str(self.max_message_bytes),
        }


@dataclass(slots=True)
class Checked:
    """The outcome of a check. `topic` is None if there are `refusals`, which say why it must not be used. A later check
    may differ.
    """

    topic: StateTopic | None = None
    refusals: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


async def check_topic(env: Environment, link: Link, wanted: WantedTopic) -> Checked:
    """Create a state topic unless it exists, wait until brokers know it, and check its properties."""
    found = await _find(link, wanted)
    if found is None:
        refusal = await _create(link, wanted, wanted.configs())
        if refusal is not None:
            return Checked(refusals=[refusal])
        give_up_ms = env.clock.now_ms() + HEARD_OF_WITHIN_MS
        while (found := await _find(link, wanted)) is None and env.clock.now_ms() < give_up_ms:
            await sleep(env.clock, AGAIN_MS)
    if not isinstance(found, MetadataResponseTopic):
        return Checked(refusals=[found or f"topic {wanted.name}: it was made, and is not known yet"])
    checked = Checked()
    configs = await _configs(link, wanted.name)
    limit = DEFAULT_MESSAGE_BYTES
    if isinstance(configs, str):
        checked.warnings.append(f"whether the cluster keeps what is confirmed cannot be checked: {configs}")
    else:
        checked.refusals += _refusals(wanted, configs)
        checked.warnings += _config_warnings(wanted, configs)
        limit = _number(configs.get("max.message.bytes"), DEFAULT_MESSAGE_BYTES)
    checked.warnings += _replica_warnings(wanted, found)
    if not checked.refusals:
        checked.topic = StateTopic(wanted.name, found.topic_id, len(found.partitions), limit, wanted.compacted)
    return checked


# -- what is asked


async def _find(link: Link, wanted: WantedTopic) -> MetadataResponseTopic | str | None:
    """Return the topic, a text that says why it cannot be seen, or None if it does not exist."""
    asked = [MetadataRequestTopic(name=wanted.name)]
    answer = await link.send(None, MetadataRequest(asked, allow_auto_topic_creation=False), timeout_ms=TIMEOUT_MS)
    if not isinstance(answer, MetadataResponse) or not answer.topics:
        return _failure(wanted.name, "Metadata", answer)
    topic = answer.topics[0]
    if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    if topic.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return f"topic {wanted.name}: no right to describe it{grant('topic', wanted.name, 'read', 'write')}"
    return f"topic {wanted.name}: {error_of(topic.error_code).name}" if topic.error_code else topic


async def _create(link: Link, wanted: WantedTopic, configs: Mapping[str, str]) -> str | None:
    """Create the topic. Return None, or why it could not be created. If the cluster's policy forbids large batches, it
    is created without them.
    """
    topic = CreatableTopic(
        wanted.name,
        wanted.partitions,
        wanted.replication_factor,
        configs=[CreatableTopicConfig(name, value) for name, value in configs.items()],
    )
    answer = await link.send(None, CreateTopicsRequest([topic], TIMEOUT_MS), timeout_ms=TIMEOUT_MS)
    if not isinstance(answer, CreateTopicsResponse) or not answer.topics:
        return _failure(wanted.name, "CreateTopics", answer)
    error = error_of(answer.topics[0].error_code)
    if error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        return None
    if error in _REFUSES_CONFIGS and "max.message.bytes" in configs:
        return await _create(link, wanted, {name: configs[name] for name in configs if name != "max.message.bytes"})
    mend = create(wanted.name, wanted.partitions, wanted.replication_factor, configs)
    if error in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
        return f"topic {wanted.name}: there is none, and no right to create it{mend}"
    said = (answer.topics[0].error_message or "no more was said").rstrip(".")
    return f"topic {wanted.name}: it cannot be created: {error.name}: {said}{mend}"


async def _configs(link: Link, name: str) -> dict[str, str] | str:
    """Return the properties in force, or a text that says why they are unknown."""
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, name, None)])
    answer = await link.send(None, request, timeout_ms=TIMEOUT_MS)
    if not isinstance(answer, DescribeConfigsResponse) or not answer.results:
        return _failure(name, "DescribeConfigs", answer)
    result = answer.results[0]
    if result.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return f"topic {name}: no right to describe its properties{grant('topic', name, 'describe-configs')}"
    if result.error_code:
        return f"topic {name}: DescribeConfigs: {error_of(result.error_code).name}"
    return {each.name: each.value for each in result.configs if each.value is not None}


def _failure(name: str, what: str, answer: Message | LinkFailure) -> str:
    text = answer.text if isinstance(answer, LinkFailure) else "an empty answer"
    return f"topic {name}: {what}: {text}"


# -- what is found


def _refusals(wanted: WantedTopic, configs: Mapping[str, str]) -> list[str]:
    """Return the properties of the topic by which confirmed data would be lost without any fault."""
    at = f"topic {wanted.name}"
    policy = {each.strip() for each in configs.get("cleanup.policy", "").split(",")}
    due = "compact" if wanted.compacted else "delete"
    if policy != {due}:
        loss = (
            "records of keys that are written seldom" if wanted.compacted else "all but the last change of each state"
        )
        mend = set_property(wanted.name, "cleanup.policy", due)
        return [f"{at}: cleanup.policy is {configs.get('cleanup.policy')!r}, where only {due} keeps {loss}{mend}"]
    if wanted.compacted:
        return []
    return [
        f"{at}: {name} is {configs[name]}, and states that were confirmed would be deleted; it must be -1"
        f"{set_property(wanted.name, name, UNLIMITED)}"
        for name in ("retention.ms", "retention.bytes")
        if configs.get(name, UNLIMITED) != UNLIMITED
    ]


def _config_warnings(wanted: WantedTopic, configs: Mapping[str, str]) -> list[str]:
    """Return warnings of data that would be lost together with brokers, and of properties that could be better."""
    at = f"topic {wanted.name}"
    warnings = []
    if configs.get("unclean.leader.election.enable") == "true":
        warnings.append(
            f"{at}: unclean.leader.election.enable is true: acknowledgements that were confirmed are lost, and their "
            "records delivered again, when a broker is elected that lags behind"
            f"{set_property(wanted.name, 'unclean.leader.election.enable', 'false')}"
        )
    in_sync = _number(configs.get("min.insync.replicas"), 1)
    if in_sync < wanted.min_insync_replicas:
        warnings.append(
            f"{at}: min.insync.replicas is {in_sync}, {wanted.min_insync_replicas} are wanted: what was confirmed may "
            f"be on {in_sync} broker{'s' * (in_sync > 1)} alone, and is lost with {'them' if in_sync > 1 else 'it'}"
            f"{set_property(wanted.name, 'min.insync.replicas', wanted.min_insync_replicas)}"
        )
    limit = _number(configs.get("max.message.bytes"), DEFAULT_MESSAGE_BYTES)
    if limit < wanted.max_message_bytes:
        warnings.append(
            f"{at}: max.message.bytes is {limit}, {wanted.max_message_bytes} are wanted: a share partition can have "
            "fewer records in flight, as its state has to fit into one record"
            f"{set_property(wanted.name, 'max.message.bytes', wanted.max_message_bytes)}"
        )
    lag = _number(configs.get("min.compaction.lag.ms"), 0)
    if wanted.compacted and lag < COMPACTION_LAG_MS:
        warnings.append(
            f"{at}: min.compaction.lag.ms is {lag}, {COMPACTION_LAG_MS} are wanted: what a deposed node still writes "
            "may take the place of what was confirmed"
            f"{set_property(wanted.name, 'min.compaction.lag.ms', COMPACTION_LAG_MS)}"
        )
    return warnings


def _replica_warnings(wanted: WantedTopic, topic: MetadataResponseTopic) -> list[str]:
    replicas = min((len(each.replica_nodes) for each in topic.partitions), default=0)
    if replicas >= wanted.replication_factor:
        return []
    brokers = f"{replicas} broker{'s' * (replicas != 1)}"
    return [
        f"topic {wanted.name}: it is on {brokers}, {wanted.replication_factor} are wanted: what was confirmed is lost "
        f"with {'these' if replicas != 1 else 'it'}. Mend: kafka-reassign-partitions.sh"
    ]


def _number(text: str | None, otherwise: int) -> int:
    try:
        return otherwise if text is None else int(text)
    except ValueError:
        return otherwise
