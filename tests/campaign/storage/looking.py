"""Looks at a broker's content: topics, committed offsets, configurations, start offsets of share groups."""

from __future__ import annotations

from shareq.protocol.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from shareq.protocol.generated.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from shareq.protocol.generated.metadata import MetadataRequest, MetadataResponse
from shareq.protocol.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.campaign.history.operations import Place, ShareStart, Transfer
from tests.campaign.storage.links import Link
from tests.campaign.storage.scene import GROUP_TOPICS, PLAIN, PLANS, Scene

TOPIC = 2


def topic_register(name: str) -> str:
    return f"topic {name}"


def offset_register(group: str, partition: int) -> str:
    return f"offset {group} {PLAIN.name}-{partition}"


class Looker:
    """Questions to the broker, whose answers are noted under the name of `process`."""

    def __init__(self, scene: Scene, link: Link, process: str) -> None:
        self._scene = scene
        self._link = link
        self._process = process

    def topic_ids(self) -> dict[str, bytes]:
        response = self._link.call(MetadataRequest(None, False), 12, MetadataResponse)
        return {topic.name: topic.topic_id for topic in response.topics if topic.name is not None}

    def topics(self) -> dict[str, bytes]:
        invoked = self._scene.recorder.now()
        found = self.topic_ids()
        ids = {plan.name: found.get(plan.name) for plan in PLANS}
        observed = {topic_register(name): None if known is None else known.hex() for name, known in ids.items()}
        self._scene.recorder.ok(self._process, invoked, Transfer(observed=observed))
        return found

    def offsets(self, group: str) -> bool:
        invoked = self._scene.recorder.now()
        topics = [OffsetFetchRequestTopics(PLAIN.name, partition_indexes=list(range(PLAIN.partitions)))]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)], require_stable=True)
        (answer,) = self._link.call(request, 8, OffsetFetchResponse).groups
        rows = [row for topic in answer.topics for row in topic.partitions]
        if answer.error_code or any(row.error_code for row in rows):
            return False
        observed = {
            offset_register(group, row.partition_index): None if row.committed_offset < 0 else str(row.committed_offset)
            for row in rows
        }
        self._scene.recorder.ok(self._process, invoked, Transfer(observed=observed))
        return True

    def config(self, topic: str, name: str) -> None:
        invoked = self._scene.recorder.now()
        request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, topic, [name])])
        (answer,) = self._link.call(request, 4, DescribeConfigsResponse).results
        if not answer.error_code:
            own = [one.value for one in answer.configs if one.config_source == 1]
            observed = {f"config {topic} {name}": own[0] if own else None}
            self._scene.recorder.ok(self._process, invoked, Transfer(observed=observed))

    def share_starts(self, group: str) -> dict[Place, int]:
        invoked = self._scene.recorder.now()
        topics = [
            DescribeShareGroupOffsetsRequestTopic(plan.name, list(range(plan.partitions)))
            for plan in GROUP_TOPICS[group]
        ]
        request = DescribeShareGroupOffsetsRequest([DescribeShareGroupOffsetsRequestGroup(group, topics)])
        (answer,) = self._link.call(request, 1, DescribeShareGroupOffsetsResponse).groups
        found = {
            Place(topic.topic_id.hex(), part.partition_index): part.start_offset
            for topic in answer.topics
            for part in topic.partitions
            if not part.error_code and part.start_offset >= 0
        }
        for place, start in found.items():
            self._scene.recorder.ok(self._process, invoked, ShareStart(group, place, start))
        return found
