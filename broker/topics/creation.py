"""The checks of a new topic, and the creation of topics named in a Metadata request.

The order of the checks is Apache Kafka's: name, existence, properties, then partitions and replicas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from shareq.broker.config.admin import ConfigAdmin
from shareq.broker.config.service import ConfigService
from shareq.broker.foundation.pending import Pending, completed
from shareq.broker.foundation.turn_budget import pieces
from shareq.broker.metadata.store import MetadataStore, NewTopic
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS, collision_key, name_error
from shareq.broker.topics.internal import new_internal_topic
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode, storage_failure

DEFAULT: Final = -1
"""The partition count or replication factor that stands for the broker's default."""

MOST_PARTITIONS_OF_A_REQUEST: Final = 10_000
"""The most partitions that one CreateTopics makes, or that CreatePartitions adds to one topic."""

MOST_AUTO_CREATED: Final = 50
"""The most topics that one Metadata request creates. Clients ask again for the others, as for topics whose creation
takes time.
"""

AUTO_CREATED_TOGETHER: Final = 5
"""The most topics of such a request created in one commit: a millisecond of work, plus the time of the disk."""

AUTO_CREATED_PER_SECOND: Final = 5
"""The topics per second that one user (without authentication: one address) may create by asking for their metadata.

Each commit waits for the disk on the loop; with this limit there is one commit in a second.
"""

AUTO_CREATED_BURST_S: Final = 20
"""The seconds of that rate that may be used at once: a hundred topics."""


class TopicSpec(NamedTuple):
    """A topic as a client requests it. `assignments` are (partition, broker ids) pairs; if there are none, the
    broker assigns.
    """

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Sequence[tuple[int, Sequence[int]]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


def plan_topic(metadata: MetadataStore, configs: ConfigService, spec: TopicSpec) -> NewTopic | ApiError:
    """Return the topic to create, or the error. Nothing is created."""
    error = check_name(metadata, spec.name)
    if error:
        return error
    base = _base(configs, spec.name)
    if isinstance(base, ApiError):
        return base
    nulls = sorted(name for name, value in spec.configs if value is None)
    if nulls:
        message = f"Null value not supported for topic configs: {', '.join(nulls)}"
        return ApiError(ErrorCode.INVALID_CONFIG, message)
    own = {**base.configs, **{name: value for name, value in spec.configs if value is not None}}
    error = ConfigAdmin(configs, metadata).check_new_topic(spec.name, own)
    if error:
        return error
    count = _partition_count(spec, base.partitions, configs)
    return count if isinstance(count, ApiError) else NewTopic(spec.name, count, own, base.internal)


def check_name(metadata: MetadataStore, name: str) -> ApiError:
    """Return the error if a topic of this name cannot be created now, or NO_ERROR."""
    problem = name_error(name)
    if problem is not None:
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if metadata.topic(name) is not None:
        return ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = metadata.colliding_topic(name)
    return NO_ERROR if other is None else _collision(name, other)


def take_name(taken: dict[str, str], name: str) -> ApiError:
    """Add a name to the names of one request, by `collision_key`. Return the error if it collides, or NO_ERROR."""
    other = taken.setdefault(collision_key(name), name)
    return NO_ERROR if other == name else _collision(name, other)


def partitions_asked(partitions: int, assigned: int, default: int) -> int:
    """Return the number of partitions that a client requests: `assigned`, or `partitions`, or the `default`."""
    if assigned:
        return assigned
    return default if partitions == DEFAULT else max(partitions, 0)


def check_partition_total(total: int) -> ApiError:
    """Return POLICY_VIOLATION if one request asks for more partitions than a broker should create at a time."""
    if total > MOST_PARTITIONS_OF_A_REQUEST:
        message = f"{total} partitions in one request, and at most {MOST_PARTITIONS_OF_A_REQUEST} are allowed"
        return ApiError(ErrorCode.POLICY_VIOLATION, message)
    return NO_ERROR


def create_topic(metadata: MetadataStore, configs: ConfigService, spec: TopicSpec) -> Pending[ApiError]:
    """Create a topic that the broker itself needs, in a commit of its own, unless it exists by then. Return the
    error, or NO_ERROR.
    """
    return metadata.gate.pass_then(lambda: completed(_create_topic(metadata, configs, spec)))


def _create_topic(metadata: MetadataStore, configs: ConfigService, spec: TopicSpec) -> ApiError:
    if metadata.topic(spec.name) is not None:
        return NO_ERROR
    planned = plan_topic(metadata, configs, spec)
    if not isinstance(planned, NewTopic):
        return planned
    try:
        metadata.create_topics([planned])
    except OSError as error:
        return storage_failure(error)
    return NO_ERROR


async def auto_create(metadata: MetadataStore, configs: ConfigService, names: Sequence[str]) -> Mapping[str, ApiError]:
    """Create topics with the broker's defaults, because a client asked for their metadata. `names` has no
    repetitions.

    Each commit has a few topics and a turn of its own. Return the errors of topics that could not be created, by
    name.
    """
    refused: dict[str, ApiError] = {}
    for some in pieces(names, AUTO_CREATED_TOGETHER):
        await metadata.gate.passed()
        refused.update(_auto_create(metadata, configs, some))
    return refused


def _auto_create(metadata: MetadataStore, configs: ConfigService, names: Sequence[str]) -> dict[str, ApiError]:
    """Create topics in one commit. Return the errors by name."""
    plans: dict[str, NewTopic | ApiError] = {}
    taken: dict[str, str] = {}
    for name in names:
        plans[name] = take_name(taken, name) or plan_topic(metadata, configs, TopicSpec(name))
    topics = [plan for plan in plans.values() if isinstance(plan, NewTopic)]
    refused = {name: plan for name, plan in plans.items() if isinstance(plan, ApiError)}
    try:
        if topics:
            metadata.create_topics(topics)
    except OSError as error:
        refused.update((topic.name, storage_failure(error)) for topic in topics)
    return refused


def check_assignment(
    node_id: int, broker_ids: Sequence[int], partition: int, replication_factor: int | None
) -> ApiError:
    """Return INVALID_REPLICA_ASSIGNMENT unless the partition is assigned to this broker, once. `replication_factor`
    None allows any.
    """
    if len(broker_ids) == 1 and broker_ids[0] == node_id and replication_factor in (None, 1):
        return NO_ERROR  # as nearly always: there may be thousands
    problem: str | None = None
    if not broker_ids:
        problem = f"partition {partition} has no replica"
    elif len(set(broker_ids)) != len(broker_ids):
        problem = f"partition {partition} names a broker twice"
    elif any(broker_id != node_id for broker_id in broker_ids):
        unknown = next(broker_id for broker_id in broker_ids if broker_id != node_id)
        problem = f"partition {partition} names broker {unknown}, which is not registered"
    elif replication_factor is not None and len(broker_ids) != replication_factor:
        problem = f"partition {partition} has {len(broker_ids)} replicas, others have {replication_factor}"
    if problem is None:
        return NO_ERROR
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"The manual partition assignment is invalid: {problem}")


def _collision(name: str, other: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def _base(configs: ConfigService, name: str) -> NewTopic | ApiError:
    """Return the topic with its name and the defaults, before the client's values are applied."""
    if name in INTERNAL_TOPICS:
        return new_internal_topic(configs.broker, name)
    return NewTopic(name, configs.broker.num_partitions)


def _partition_count(spec: TopicSpec, default: int, configs: ConfigService) -> int | ApiError:
    if spec.assignments:
        return _assigned_count(spec, configs.broker.node_id)
    if spec.replication_factor < DEFAULT or spec.replication_factor == 0:
        message = "Replication factor must be larger than 0, or -1 to use the default value."
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if spec.partitions < DEFAULT or spec.partitions == 0:
        message = "Number of partitions was set to an invalid non-positive value."
        return ApiError(ErrorCode.INVALID_PARTITIONS, message)
    factor = spec.replication_factor
    if factor == DEFAULT:
        # An internal topic's factor has been checked with its own property.
        factor = 1 if spec.name in INTERNAL_TOPICS else configs.broker.default_replication_factor
    if factor > 1:
        message = f"The replication factor of {factor} cannot be reached because only 1 broker is registered."
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    return default if spec.partitions == DEFAULT else spec.partitions


def _assigned_count(spec: TopicSpec, node_id: int) -> int | ApiError:
    if spec.replication_factor != DEFAULT:
        message = "A manual partition assignment was specified, but replication factor was not set to -1."
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    if spec.partitions != DEFAULT:
        message = "A manual partition assignment was specified, but numPartitions was not set to -1."
        return ApiError(ErrorCode.INVALID_REQUEST, message)
    seen: dict[int, Sequence[int]] = {}
    for partition, broker_ids in spec.assignments:
        if partition in seen:
            message = f"Found multiple manual partition assignments for partition {partition}"
            return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        factor = len(next(iter(seen.values()))) if seen else None
        error = check_assignment(node_id, broker_ids, partition, factor)
        if error:
            return error
        seen[partition] = broker_ids
    if sorted(seen) != list(range(len(seen))):
        message = "Partitions should be a consecutive 0-based integer sequence"
        return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(seen)
