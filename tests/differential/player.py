"""A player of steps at one broker, which brings the answers into comparable form."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Protocol

from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated import share_acknowledge, share_fetch
from shareq.protocol.generated.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from shareq.protocol.generated.share_fetch import ShareFetchRequest, ShareFetchResponse
from shareq.protocol.primitives import ZERO_UUID, uuid_to_text
from tests.differential import admin
from tests.differential.answers import Answer, PartitionAnswer
from tests.differential.fields import Fields, batches_of
from tests.differential.steps import (
    MEMBERS,
    PARTITIONS,
    Acknowledge,
    AckRange,
    Acks,
    AlterOffsets,
    Configure,
    DeleteRecords,
    DescribeOffsets,
    Drop,
    Fetch,
    Heartbeat,
    Pause,
    Produce,
    ReadState,
    Restart,
    Setup,
    Step,
)
from tests.differential.wire import Connection

UNKNOWN_TOPIC_ID = bytes(range(16))
BETWEEN_DROPS_S = 0.03


class Plays(Protocol):
    async def begin(self, setup: Setup) -> None: ...

    async def play(self, step: Step) -> Answer: ...

    async def settle(self) -> None:
        """Wait until dead records are finished. Raise TimeoutError."""

    async def end(self) -> None: ...


@dataclass(slots=True)
class Player:
    """The player of one sequence at one broker, with its own topic and group. `begin` comes first, `end` last.

    `written_ms` is the timestamp of all records, equal at both brokers because record batches are compared.
    """

    port: int
    name: str
    written_ms: int
    topic_id: bytes = ZERO_UUID
    admin: Connection = field(init=False)
    stranger: Connection = field(init=False)
    members: list[Connection] = field(init=False)
    member_epochs: dict[int, int] = field(default_factory=dict)
    onlooker: Connection = field(init=False)
    has_queue: bool = False

    def __post_init__(self) -> None:
        self.admin, self.stranger = Connection(self.port), Connection(self.port)
        self.onlooker = Connection(self.port)
        self.members = [Connection(self.port) for _ in range(MEMBERS)]

    @property
    def group(self) -> str:
        return f"g-{self.name}"

    @property
    def topic(self) -> str:
        return f"t-{self.name}"

    @property
    def names(self) -> dict[str, str]:
        return {self.group: "the group", self.topic: "the topic", uuid_to_text(self.topic_id): "the topic's id"}

    async def begin(self, setup: Setup) -> None:
        self.topic_id = await admin.create_topic(self.admin, self.topic)
        assert not (await admin.configure(self.admin, self.group, setup.group_configs())).error
        for partition, sizes in enumerate(setup.first_batches):
            await admin.produce(self.admin, self.topic, partition, sizes, self.written_ms)
        if setup.begins == "altered":
            await admin.begin_at(self.admin, self.group, self.topic, (0,) * PARTITIONS)
        else:
            await admin.join_all(self.members, self.group, self.topic, self.member_epochs)

    async def end(self) -> None:
        try:
            await admin.delete_topic(self.admin, self.topic)
        finally:
            for connection in (self.admin, self.onlooker, *self.members):
                await connection.close()

    async def play(self, step: Step) -> Answer:
        """Play one step. The runner restarts brokers; for such a step the player only reconnects.

        If a kind of request has several answers, the last one counts: requests are repeated until a change is visible.
        """
        connections = (self.admin, self.stranger, *self.members)
        for connection in connections:
            connection.heard.clear()
        answer = await self._play(step)
        if isinstance(step, Restart):
            return answer  # asked until everything was there
        if isinstance(step, Configure) and not answer.error:
            self.has_queue = self.has_queue or "errors.deadletterqueue.topic.name" in dict(step.configs)
        fields = Fields.of(self.names, *(message for each in connections for message in each.heard.values()))
        return replace(answer, fields=fields.judged, aside=fields.aside)

    async def settle(self) -> None:
        if self.has_queue:
            await admin.until_buried(self.onlooker, self.group, self.topic_id)

    async def _play(self, step: Step) -> Answer:
        match step:
            case Fetch():
                return await self._fetch(step)
            case Acknowledge():
                return await self._acknowledge(step)
            case Drop():
                for member in step.members:  # what one brings about is through before the next
                    await self.members[member].close()
                    await asyncio.sleep(BETWEEN_DROPS_S)
                return Answer()
            case Pause():
                await asyncio.sleep(step.ms / 1000)
                return Answer()
            case Restart():
                return await self._after_restart()
            case Heartbeat():
                connection = self.members[step.member]
                return await admin.heartbeat(
                    connection, self.group, self.topic, step.member, step.epoch, self.member_epochs
                )
        return await self._administer(step)

    async def _administer(
        self, step: Produce | AlterOffsets | Configure | DescribeOffsets | ReadState | DeleteRecords
    ) -> Answer:
        match step:
            case Produce():
                return await admin.produce(self.admin, self.topic, step.partition, step.sizes, self.written_ms)
            case AlterOffsets():
                return await admin.alter_offsets(self.admin, self.group, self.topic, step.offsets)
            case Configure():
                return await admin.configure(self.admin, self.group, step.configs)
            case DescribeOffsets():
                return await admin.describe_offsets(self.admin, self.group, self.topic)
            case ReadState():
                return await admin.read_state(self.admin, self.group, self.topic_id)
            case DeleteRecords():
                return await admin.delete_records(self.admin, self.topic, step.partition, step.before)

    async def _after_restart(self) -> Answer:
        for connection in (self.admin, self.onlooker, *self.members):
            await connection.close()
        await admin.until_ready(self.admin, self.group, self.topic, self.topic_id)
        return Answer()

    # -- share RPCs

    async def _fetch(self, step: Fetch) -> Answer:
        stranger = step.member >= MEMBERS
        connection = self.stranger if stranger else self.members[step.member]
        acks = dict(step.acks)
        listed = [
            share_fetch.FetchPartition(
                partition, [share_fetch.AcknowledgementBatch(*_wire(one)) for one in acks.get(partition, ())]
            )
            for partition in dict.fromkeys((*step.partitions, *acks))
        ]
        topic_id = UNKNOWN_TOPIC_ID if step.unknown_topic else self.topic_id
        request = ShareFetchRequest(
            self.group,
            admin.member_id(step.member),
            step.epoch,
            step.max_wait_ms,
            step.min_bytes,
            step.max_bytes,
            step.max_records,
            step.batch_size,
            step.mode,
            step.is_renew_ack,
            [share_fetch.FetchTopic(topic_id, listed)] if listed else [],
            [share_fetch.ForgottenTopic(topic_id, list(step.forgotten))] if step.forgotten else [],
        )
        answer = await connection.call(request, step.version, ShareFetchResponse)
        if stranger:
            await connection.close()
        return fetch_answer(answer, step.acks)

    async def _acknowledge(self, step: Acknowledge) -> Answer:
        partitions = [
            share_acknowledge.AcknowledgePartition(
                partition, [share_acknowledge.AcknowledgementBatch(*_wire(one)) for one in ranges]
            )
            for partition, ranges in step.acks
        ]
        topic_id = UNKNOWN_TOPIC_ID if step.unknown_topic else self.topic_id
        request = ShareAcknowledgeRequest(
            self.group,
            admin.member_id(step.member),
            step.epoch,
            step.is_renew_ack,
            [share_acknowledge.AcknowledgeTopic(topic_id, partitions)] if partitions else [],
        )
        answer = await self.members[step.member].call(request, step.version, ShareAcknowledgeResponse)
        if answer.error_code != ErrorCode.NONE:
            return Answer(answer.error_code)
        codes = {row.partition_index: row.error_code for topic in answer.responses for row in topic.partitions}
        named = {partition for partition, _ in step.acks} | codes.keys()
        return Answer(0, {partition: PartitionAnswer(ack_error=codes.get(partition)) for partition in named})


def _wire(one: AckRange) -> tuple[int, int, list[int]]:
    return one.first, one.last, list(one.types)


def fetch_answer(answer: ShareFetchResponse, acks: Acks) -> Answer:
    """Return the answer's fields for the next step, and those to compare, in comparable form."""
    if answer.error_code != ErrorCode.NONE:
        return Answer(answer.error_code)
    rows = {row.partition_index: row for topic in answer.responses for row in topic.partitions}
    partitions: dict[int, PartitionAnswer] = {}
    for partition in {partition for partition, ranges in acks if ranges} | rows.keys():
        row = rows.get(partition)
        if row is None:
            partitions[partition] = PartitionAnswer(ack_error=None)
            continue
        acquired = {
            offset: each.delivery_count
            for each in row.acquired_records
            for offset in range(each.first_offset, each.last_offset + 1)
        }
        held = {offset for first, last, _ in batches_of(row.records) for offset in range(first, last + 1)}
        missing = tuple(sorted(acquired.keys() - held))
        partitions[partition] = PartitionAnswer(row.error_code, row.acknowledge_error_code, acquired, missing)
    return Answer(0, partitions)
