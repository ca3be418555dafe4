"""CreateTopics, DeleteTopics, and topics' properties: DescribeConfigs, IncrementalAlterConfigs.

Properties, their bounds and the rules for changing them are shareq's (`broker/config`), reduced to those that the
simulated release knows. Every broker accepts these requests and forwards them to the controller. Sources:
ReplicationControlManager.createTopics, ControllerApis.deleteTopics, ConfigurationControlManager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from shareq.broker.config.changes import Alteration, apply_alterations, check_alterations
from shareq.broker.config.describe import BrokerLayers, ConfigEntry, describe_topic
from shareq.broker.config.topic_config import TOPIC_KEYS, check_topic_configs
from shareq.protocol.config_def import ConfigError
from shareq.protocol.errors import NO_ERROR, ApiError, ErrorCode
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from shareq.protocol.generated.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.primitives import ZERO_UUID
from tests.support.cluster.call import Answer, Call
from tests.support.cluster.image import TopicState
from tests.support.cluster.rights import Operation, Resource
from tests.support.cluster.topic_names import is_valid_name

_TOPIC: Final = 2
_DEFAULT: Final = -1
_OPERATIONS: Final = range(4)
_CONFIGS_FROM: Final = 5


def create_topics(call: Call, request: CreateTopicsRequest) -> Answer:
    names = Counter(topic.name for topic in request.topics)
    rows = []
    for topic in {each.name: each for each in request.topics}.values():
        error = _may_create(call, topic, twice=names[topic.name] > 1)
        rows.append(
            CreatableTopicResult(topic.name, error_code=error.code, error_message=error.message)
            if error
            else _created(call, request, topic)
        )
    rows.sort(key=lambda row: names[row.name] > 1)
    return CreateTopicsResponse(topics=rows)


def _may_create(call: Call, topic: CreatableTopic, *, twice: bool) -> ApiError:
    cluster = call.broker.cluster
    if twice:
        return ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    if error := cluster.rights.error(Resource.TOPIC, topic.name, Operation.CREATE):
        return ApiError(error)
    if not is_valid_name(topic.name):
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    if topic.name in cluster.controller.image.topics:
        return ApiError(ErrorCode.TOPIC_ALREADY_EXISTS)
    if any(_folded(other) == _folded(topic.name) for other in cluster.controller.image.topics):
        return ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)
    error_of_configs = _configs_error(call, topic.name, {each.name: each.value for each in topic.configs})
    return error_of_configs or _numbers_error(call, topic)


def _folded(name: str) -> str:
    return name.replace(".", "_")


def _configs_error(call: Call, name: str, configs: Mapping[str, str | None]) -> ApiError:
    unknown = call.broker.cluster.settings.release.unknown_topic_properties
    for key, value in configs.items():
        if value is None:
            return ApiError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {key}")
        if key in unknown:
            return ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {key}")
    try:
        check_topic_configs(name, call.broker.cluster.config, {key: value or "" for key, value in configs.items()})
    except ConfigError as error:
        return ApiError(ErrorCode.INVALID_CONFIG, str(error))
    return NO_ERROR


def _numbers_error(call: Call, topic: CreatableTopic) -> ApiError:
    if topic.assignments:
        if topic.num_partitions != _DEFAULT or topic.replication_factor != _DEFAULT:
            return ApiError(ErrorCode.INVALID_REQUEST)
        return NO_ERROR
    if topic.replication_factor == 0 or topic.replication_factor < _DEFAULT:
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR)
    if topic.num_partitions == 0 or topic.num_partitions < _DEFAULT:
        return ApiError(ErrorCode.INVALID_PARTITIONS)
    if topic.replication_factor > len(call.broker.cluster.controller.image.live):
        return ApiError(ErrorCode.INVALID_REPLICATION_FACTOR)
    return NO_ERROR


def _created(call: Call, request: CreateTopicsRequest, topic: CreatableTopic) -> CreatableTopicResult:
    cluster = call.broker.cluster
    settings, configs = cluster.settings, {each.name: each.value or "" for each in topic.configs}
    assigned = [tuple(each.broker_ids) for each in sorted(topic.assignments, key=lambda each: each.partition_index)]
    partitions = settings.default_partitions if topic.num_partitions == _DEFAULT else topic.num_partitions
    factor = topic.replication_factor
    factor = settings.default_replication_factor if factor == _DEFAULT else factor
    row = CreatableTopicResult(topic.name, error_message=None, num_partitions=len(assigned) or partitions)
    row.replication_factor = len(assigned[0]) if assigned else factor
    row.topic_id = cluster.env.random_uuid()  # also of a topic that is only validated
    if not request.validate_only:
        assignment = assigned or cluster.controller.assign(partitions, factor)
        cluster.controller.create_topic(topic.name, assignment, configs, row.topic_id)
    if cluster.rights.error(Resource.TOPIC, topic.name, Operation.DESCRIBE_CONFIGS):
        row.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        row.num_partitions = row.replication_factor = -1
    elif call.version >= _CONFIGS_FROM:
        row.configs = [
            CreatableTopicConfigs(each.key.name, each.value, each.read_only, each.source, each.sensitive)
            for each in _entries(call, topic.name, configs)
        ]
    return row


def delete_topics(call: Call, request: DeleteTopicsRequest) -> Answer:
    states = [*request.topics, *map(DeleteTopicState, request.topic_names)]
    return DeleteTopicsResponse(responses=[_deleted(call, state) for state in states])


def _deleted(call: Call, state: DeleteTopicState) -> DeletableTopicResult:
    image = call.broker.cluster.controller.image
    by_id = state.name is None
    topic = image.by_id(state.topic_id) if by_id else image.topics.get(state.name or "")
    error = _may_delete(call, state, topic)
    if error:
        return DeletableTopicResult(state.name, state.topic_id, error)
    assert topic is not None
    call.broker.cluster.controller.delete_topic(topic.name)
    return DeletableTopicResult(topic.name, topic.topic_id)


def _may_delete(call: Call, state: DeleteTopicState, topic: TopicState | None) -> ErrorCode:
    rights, by_id = call.broker.cluster.rights, state.name is None
    if by_id == (state.topic_id == ZERO_UUID):
        return ErrorCode.INVALID_REQUEST
    if not by_id and (error := rights.error(Resource.TOPIC, state.name or "", Operation.DESCRIBE)):
        return error
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return rights.error(Resource.TOPIC, topic.name, Operation.DELETE)


def describe_configs(call: Call, request: DescribeConfigsRequest) -> Answer:
    return DescribeConfigsResponse(results=[_described(call, request, each) for each in request.resources])


def _described(call: Call, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    name, topic = resource.resource_name, call.broker.topic(resource.resource_name)
    rights = call.broker.cluster.rights
    error = ErrorCode.INVALID_REQUEST if resource.resource_type != _TOPIC else ErrorCode.NONE
    error = error or rights.error(Resource.TOPIC, name, Operation.DESCRIBE_CONFIGS)
    if not error and not is_valid_name(name):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    if not error and topic is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    result = DescribeConfigsResult(error, "", resource.resource_type, name)
    if error or topic is None:
        return result
    wanted = resource.configuration_keys
    result.configs = [
        _config(entry, request)
        for entry in _entries(call, name, topic.configs)
        if not wanted or entry.key.name in wanted
    ]
    return result


def _entries(call: Call, name: str, configs: Mapping[str, str]) -> list[ConfigEntry]:
    config, release = call.broker.cluster.config, call.broker.cluster.settings.release
    layers = BrokerLayers(config, {}, release.cluster_properties, config.originals)
    entries = describe_topic(release.topic_values(name, config, configs), configs, layers)
    return [entry for entry in entries if entry.key.name not in release.unknown_topic_properties]


def _config(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        entry.key.name,
        entry.value,
        entry.read_only,
        entry.source,
        entry.sensitive,
        [DescribeConfigsSynonym(*each) for each in synonyms],
        entry.key.described_as,
        entry.key.doc if request.include_documentation else None,
    )


def incremental_alter_configs(call: Call, request: IncrementalAlterConfigsRequest) -> Answer:
    rows = []
    for resource in request.resources:
        error = _altered(call, resource, validate_only=request.validate_only)
        name = resource.resource_name
        rows.append(AlterConfigsResourceResponse(error.code, error.message, resource.resource_type, name))
    return IncrementalAlterConfigsResponse(responses=rows)


def _altered(call: Call, resource: AlterConfigsResource, *, validate_only: bool) -> ApiError:
    cluster, name = call.broker.cluster, resource.resource_name
    alterations = [Alteration(each.name, each.config_operation, each.value) for each in resource.configs]
    if resource.resource_type != _TOPIC:
        return ApiError(ErrorCode.INVALID_REQUEST)
    if error := cluster.rights.error(Resource.TOPIC, name, Operation.ALTER_CONFIGS):
        return ApiError(error)
    if any(each.op not in _OPERATIONS for each in alterations):
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka trips over it
    if refused := check_alterations(alterations):
        return refused
    topic = cluster.controller.image.topics.get(name)
    configs = {} if topic is None else topic.configs
    effective = cluster.settings.release.topic_values(name, cluster.config, configs)
    after = apply_alterations(configs, alterations, TOPIC_KEYS.keys.get, effective.get)
    if isinstance(after, ApiError):
        return after
    if refused := _configs_error(call, name, after):
        return refused
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not validate_only:
        cluster.controller.set_configs(name, after)
    return NO_ERROR
