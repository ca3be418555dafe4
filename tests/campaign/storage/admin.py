"""The administrator of the workload: creates and deletes topics, deletes records and groups, and alters offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from shareq.protocol.generated.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from shareq.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.campaign.history.operations import Created, Deleted, Outcome, Place, ShareReset, Transfer, Trim
from tests.campaign.storage.fetching import EARLIEST, LATEST, Reader
from tests.campaign.storage.links import Cut
from tests.campaign.storage.looking import Looker, offset_register, topic_register
from tests.campaign.storage.members import ShareMember
from tests.campaign.storage.scene import (
    CYCLED,
    GROUP_TOPICS,
    JOB_GROUP,
    PLAIN,
    PLANS,
    QUEUE_COMMITTED,
    RESET_GROUP,
    SIMPLE_GROUP,
    TRIMMED,
    Process,
    Scene,
    TopicPlan,
)

TOPIC, GROUP = 2, 32
RETENTION: Final = "retention.ms"


class Admin(Process):
    """The administrator, which repeats a creation or deletion until it gets an answer."""

    def __init__(self, scene: Scene, name: str, *, cycles: bool = True) -> None:
        super().__init__(scene, name)
        self.looker = Looker(scene, self.link, name)
        self._reader = Reader(scene, self.link, self.rng, read_committed=False)
        self._back = False
        self._tasks: list[Callable[[], None]] = [
            self.trim,
            self.configure,
            self.commit_offsets,
            self.delete_group,
            self.look,
            *([self.cycle] if cycles else []),
        ]

    def set_up(self) -> None:
        for plan in PLANS:
            self.create(plan)
        for group in GROUP_TOPICS:
            self._alter(GROUP, group, {"share.auto.offset.reset": "earliest"})
        self._alter(GROUP, QUEUE_COMMITTED, {"share.isolation.level": "read_committed"})

    def on_cut(self) -> None:
        self._back = True

    def step(self) -> None:
        if self._back:
            self.look()  # what was answered before the kill must be there before anybody overwrites it
            self._back = False
        self.rng.choice(self._tasks)()
        self.pause(0.12)

    # -- topics

    def cycle(self) -> None:
        self.delete(CYCLED)
        self.create(CYCLED)

    def create(self, plan: TopicPlan) -> None:
        invoked = self.now()
        topic_id = self._until_known(lambda: self._create(plan))
        created = Created(plan.name, topic_id.hex(), plan.partitions, plan.compacted, plan.shrinks)
        with self.scene.lock:
            self.scene.ids[plan.name] = topic_id
        self.scene.recorder.ok(self.name, invoked, created)
        self.scene.recorder.ok(self.name, invoked, Transfer(writes={topic_register(plan.name): topic_id.hex()}))

    def _create(self, plan: TopicPlan) -> bytes | None:
        configs = [CreatableTopicConfig(name, value) for name, value in plan.configs.items()]
        request = CreateTopicsRequest([CreatableTopic(plan.name, plan.partitions, 1, configs=configs)], 10_000)
        (answer,) = self.link.call(request, 7, CreateTopicsResponse).topics
        if answer.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:  # by a request whose answer was cut off
            return self.looker.topic_ids()[plan.name]
        return None if answer.error_code else answer.topic_id

    def delete(self, plan: TopicPlan) -> None:
        invoked = self.now()
        with self.scene.lock:
            topic_id = self.scene.ids.pop(plan.name)
        self._until_known(lambda: self._delete(topic_id))
        self.scene.recorder.ok(self.name, invoked, Deleted(plan.name, topic_id.hex()))
        self.scene.recorder.ok(self.name, invoked, Transfer(writes={topic_register(plan.name): None}))

    def _delete(self, topic_id: bytes) -> bytes | None:
        request = DeleteTopicsRequest([DeleteTopicState(None, topic_id)], timeout_ms=10_000)
        (answer,) = self.link.call(request, 6, DeleteTopicsResponse).responses
        return topic_id if answer.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID) else None

    def _until_known(self, attempt: Callable[[], bytes | None]) -> bytes:
        while True:
            try:
                if (known := attempt()) is not None:
                    return known
            except Cut:
                self.link.ready()
            self.pause(0.02)

    def trim(self) -> None:
        plan, partition = self.rng.choice([(TRIMMED, 0), (TRIMMED, 0), (PLAIN, 1)])
        place = self.scene.place(plan.name, partition)
        assert place is not None
        start, end = self._reader.offset(place, EARLIEST), self._reader.offset(place, LATEST)
        if start is None or end is None or end <= start:
            return
        before = start + int((end - start) * self.rng.choice((0.3, 0.7, 1.0)))
        invoked = self.now()
        request = DeleteRecordsRequest(
            [DeleteRecordsTopic(plan.name, [DeleteRecordsPartition(partition, before)])], 10_000
        )
        try:
            response = self.link.call(request, 2, DeleteRecordsResponse)
        except Cut:
            self.scene.recorder.add(self.name, invoked, Outcome.INFO, Trim(place, before))
            raise
        done = not response.topics[0].partitions[0].error_code
        self.scene.recorder.add(self.name, invoked, Outcome.OK if done else Outcome.INFO, Trim(place, before))

    # -- registers

    def configure(self) -> None:
        self._alter(TOPIC, PLAIN.name, {RETENTION: str(self.rng.randint(3_600_000, 9_000_000))})

    def _alter(self, kind: int, resource: str, values: Mapping[str, str]) -> None:
        changes = [AlterableConfig(name, 0, value) for name, value in values.items()]
        request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, resource, changes)])
        names: dict[str, str | None] = {f"config {resource} {name}": value for name, value in values.items()}
        self._write(names, lambda: self._altered(request))

    def _altered(self, request: IncrementalAlterConfigsRequest) -> bool:
        response = self.link.call(request, 1, IncrementalAlterConfigsResponse)
        return not any(each.error_code for each in response.responses)

    def commit_offsets(self) -> None:
        rows = {partition: self.rng.randint(0, 1_000_000) for partition in range(PLAIN.partitions)}
        request = OffsetCommitRequest(
            SIMPLE_GROUP,
            -1,
            "",
            None,
            -1,
            [
                OffsetCommitRequestTopic(
                    PLAIN.name, partitions=[OffsetCommitRequestPartition(index, at) for index, at in rows.items()]
                )
            ],
        )
        names: dict[str, str | None] = {offset_register(SIMPLE_GROUP, index): str(at) for index, at in rows.items()}
        self._write(names, lambda: self._committed(request))

    def _committed(self, request: OffsetCommitRequest) -> bool:
        response = self.link.call(request, 8, OffsetCommitResponse)
        return not any(each.error_code for topic in response.topics for each in topic.partitions)

    def delete_group(self) -> None:
        if self.rng.random() < 0.5:
            return
        names: dict[str, str | None] = dict.fromkeys(
            (offset_register(SIMPLE_GROUP, index) for index in range(PLAIN.partitions)), None
        )
        self._write(names, self._group_deleted)

    def _group_deleted(self) -> bool:
        (answer,) = self.link.call(DeleteGroupsRequest([SIMPLE_GROUP]), 2, DeleteGroupsResponse).results
        return not answer.error_code

    def _write(self, names: Mapping[str, str | None], attempt: Callable[[], bool]) -> None:
        invoked = self.now()
        try:
            done = attempt()
        except Cut:
            self.scene.recorder.add(self.name, invoked, Outcome.INFO, Transfer(writes=names))
            raise
        self.scene.recorder.add(self.name, invoked, Outcome.OK if done else Outcome.INFO, Transfer(writes=names))

    def look(self) -> None:
        for group in GROUP_TOPICS:
            self.looker.share_starts(group)
        for group in (SIMPLE_GROUP, JOB_GROUP):
            self.looker.offsets(group)
        self.looker.config(PLAIN.name, RETENTION)


class Resetter(Process):
    """A share group whose member works for a while, then leaves, so that offsets of the empty group can be altered."""

    def __init__(self, scene: Scene, name: str) -> None:
        super().__init__(scene, name)
        self.member = ShareMember(scene, f"{name}-member", RESET_GROUP)
        self.member.link = self.link
        self._reader = Reader(scene, self.link, self.rng, read_committed=False)

    def on_cut(self) -> None:
        self.member.on_cut()

    def step(self) -> None:
        for _ in range(self.rng.randint(2, 8)):
            self.member.step()
        self.member.at_end()
        self.link.ready()
        place = self.scene.place(TRIMMED.name, 0)
        assert place is not None
        first, end = self._reader.offset(place, EARLIEST), self._reader.offset(place, LATEST)
        if first is None or end is None:
            return
        start = self.rng.randint(first, end)
        invoked = self.now()
        try:
            outcome = self._alter(start)
        except Cut:
            outcome = Outcome.INFO
        self.scene.recorder.add(self.name, invoked, outcome, ShareReset(RESET_GROUP, place, start))
        self.pause(0.3)

    def _alter(self, start: int) -> Outcome:
        partition = AlterShareGroupOffsetsRequestPartition(0, start)
        request = AlterShareGroupOffsetsRequest(
            RESET_GROUP, [AlterShareGroupOffsetsRequestTopic(TRIMMED.name, [partition])]
        )
        response = self.link.call(request, 0, AlterShareGroupOffsetsResponse)
        if response.error_code == ErrorCode.NON_EMPTY_GROUP:
            return Outcome.FAIL
        errors = [each.error_code for topic in response.responses for each in topic.partitions]
        return Outcome.OK if not response.error_code and errors == [0] else Outcome.INFO


__all__ = ["Admin", "Place", "Resetter"]
