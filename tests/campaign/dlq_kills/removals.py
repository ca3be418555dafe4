"""Groups whose states are removed while dead letters are owed, and a broker that is killed meanwhile."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from devtools.clients.admin import configure_group
from devtools.clients.requests import create_topic, produce
from devtools.clients.wire import ConnectionClosed, WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from shareq.protocol.generated.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from shareq.protocol.generated.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from shareq.protocol.primitives import Message
from shareq.protocol.records.batch import RecordData, build_batch
from tests.campaign.dlq_kills import load
from tests.campaign.dlq_kills.broker import DIE_AFTER, DIE_AT, DIE_IN_REMOVALS, OF_REMOVALS, PLANTED, Aim
from tests.campaign.dlq_kills.judge import Group, judge
from tests.campaign.dlq_kills.ledger import Ledger
from tests.campaign.node import Node
from tests.campaign.order_kills.judge import REJECT
from tests.interop.support.share_wire import NOT_READY, Member

PARTITIONS: Final = 2
RECORDS: Final = 30
"""The records of each partition."""
VALUE_BYTES: Final = 1_000
QUEUE: Final = {"errors.deadletterqueue.group.enable": "true", "max.message.bytes": "2000"}
"""The queue's properties. Each letter is a batch of its own, so that many letters are owed just after a rejection was
answered.
"""
SETTINGS: Final = {
    "share.coordinator.state.topic.num.partitions": "2",
    "offsets.topic.num.partitions": "2",
}
AIM_FOR_S: Final = 1.5
PATIENCE_S: Final = 60
AIMS: Final = (
    Aim.ANY,
    *sorted(OF_REMOVALS, key=lambda aim: aim.name),
    Aim.LETTER,
    Aim.HALF,
    Aim.WRITTEN,
    Aim.ARCHIVES,
    Aim.ARCHIVED,
)
Broken = (OSError, ConnectionClosed)


class Operation(Enum):
    ALTER = "offsets are altered"
    OFFSETS = "offsets are deleted"
    GROUP = "the group is deleted"


class Removed(NamedTuple):
    """The result of a campaign.

    `met`: kills by their moment; `operations`: those begun; `broken`: must be empty.
    """

    kills: int
    met: Counter[Aim]
    operations: Counter[Operation]
    seen: Counter[str]
    broken: list[str]
    took_s: float


class Scene:
    def __init__(self, number: int, operation: Operation) -> None:
        self.operation = operation
        self.topic = f"work-{number}"
        self.group = Group(f"removed-{number}", 2, copies=True, keeps=number % 2 == 1)
        self.ledger = Ledger()
        self.done = False

    @property
    def request(self) -> tuple[Message, int]:
        name, topic = self.group.name, self.topic
        if self.operation is Operation.ALTER:
            rows = [AlterShareGroupOffsetsRequestPartition(number, 0) for number in range(PARTITIONS)]
            return AlterShareGroupOffsetsRequest(name, [AlterShareGroupOffsetsRequestTopic(topic, rows)]), 0
        if self.operation is Operation.OFFSETS:
            return DeleteShareGroupOffsetsRequest(name, [DeleteShareGroupOffsetsRequestTopic(topic)]), 0
        return DeleteGroupsRequest([name]), 2

    def reject_all(self, client: WireClient, address: tuple[str, int]) -> None:
        """Let a member join, acquire everything, reject it, and leave once that is answered."""
        topic_id = create_topic(client, self.topic, PARTITIONS)
        create_topic(client, self.group.queue, 1, QUEUE)
        configure_group(f"127.0.0.1:{address[1]}", self.group.name, self.group.properties)
        for partition in range(PARTITIONS):
            values = [f"{self.topic} {partition} {offset} ".encode() for offset in range(RECORDS)]
            batch = build_batch(
                [RecordData(b"key", value.ljust(VALUE_BYTES, b"."), (("own", value),)) for value in values],
                timestamp_ms=int(time.time() * 1000),
            )
            answer = produce(client, self.topic, bytes(batch), partition=partition)
            assert answer.error_code == ErrorCode.NONE, answer
        with WireClient(address) as connection:
            member = Member(connection, self.group.name, "member", topic_id)
            member.join([self.topic])
            self._take(member)
            for partition in range(PARTITIONS):
                self._reject(member, partition)
            member.member_epoch = -1
            assert member.heartbeat().error_code == ErrorCode.NONE

    def _take(self, member: Member) -> None:
        taken, deadline = 0, time.monotonic() + PATIENCE_S
        while taken < PARTITIONS * RECORDS:
            assert time.monotonic() < deadline, f"{self.topic}: {taken} records came"
            answer = member.fetch(partitions=range(PARTITIONS))
            assert answer.error_code == ErrorCode.NONE, answer
            taken += sum(each.last - each.first + 1 for each in member.acquired)
        now = time.monotonic()
        for place in ((partition, offset) for partition in range(PARTITIONS) for offset in range(RECORDS)):
            self.ledger.has_handed_out(place, 1)
            self.ledger.delivered("member", place, 1, now, now)

    def _reject(self, member: Member, partition: int) -> None:
        places = [(partition, offset) for offset in range(RECORDS)]
        for place in places:
            self.ledger.sends(place, REJECT)
        answer = member.acknowledge((0, RECORDS - 1, REJECT), partition=partition)
        codes = [answer.error_code, *(row.error_code for topic in answer.responses for row in topic.partitions)]
        assert not any(codes), answer
        for place in places:
            self.ledger.answered(place, REJECT, True)

    def owed(self, client: WireClient) -> int:
        """Return the number of records with an answered rejection and no letter."""
        letters = load.plain_records(client, self.group.queue, 0)
        written = {(header[1][1], header[2][1]) for header in (_dlq_headers(letter.headers) for letter in letters)}
        return len(self.ledger.rejected) - len(written)

    def answered(self, answer: Message, *, again: bool) -> ErrorCode:
        """Return an unexpected error of the operation; NONE if the operation is done or to be retried.

        `again`: an earlier attempt may already have done it.
        """
        error = _error_of(answer)
        gone = again and error in {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        self.done = error is ErrorCode.NONE or gone
        return ErrorCode.NONE if self.done or error in NOT_READY else error


class Removals:
    """A campaign: `run` once. `planted`: the name of a fault in the broker, "" for none."""

    def __init__(self, kills: int, seed: int, *, planted: str = "", show: Callable[[str], None] = lambda _line: None):
        self._kills, self._planted, self._show = kills, planted, show
        self._rng = random.Random(f"removals {seed}")
        self._folder = Path(tempfile.mkdtemp(prefix="shareq-removals-"))
        self._node = Node(self._folder / "data", SETTINGS, module="tests.campaign.dlq_kills.broker")
        self._scenes: list[Scene] = []
        self._starts_ms: list[int] = []
        self._met: Counter[Aim] = Counter()
        self._operations: Counter[Operation] = Counter()
        self._seen: Counter[str] = Counter()
        self._broken: list[str] = []

    def run(self) -> Removed:
        """Run the campaign. Raises StartRefused; other faults are in the result."""
        began = time.monotonic()
        try:
            for number in range(self._kills):
                self._one_kill(number)
            self._start(Aim.ANY)
            with WireClient(self._node.address) as client:
                self._note_owed(client)
                self._finish(client)
                self._judge(client)
        finally:
            self._node.kill()
            shutil.rmtree(self._folder, ignore_errors=True)
        took_s = time.monotonic() - began
        return Removed(self._kills, self._met, self._operations, self._seen, self._broken, took_s)

    @property
    def _under_way(self) -> list[Scene]:
        return [scene for scene in self._scenes if not scene.done]

    def _one_kill(self, number: int) -> None:
        """Run a life of the broker: operations left from the last, whose states no leader has loaded, and a new one."""
        operation = list(Operation)[number % len(Operation)]
        aim = self._rng.choice([each for each in AIMS if each is not Aim.NOTED or operation is not Operation.GROUP])
        self._start(aim)
        with WireClient(self._node.address) as client:
            self._note_owed(client)
            again = self._under_way
            scene = Scene(number, operation)
            scene.reject_all(client, self._node.address)
        self._scenes.append(scene)
        self._operations[operation] += 1
        self._seen["operations tried again"] += len(again)
        with ExitStack() as stack:
            self._operate(stack, [scene, *again], again, aim)
        if number % 10 == 9:
            self._show(f"  kill {number + 1}: {self._seen['owed at kills']:,} letters were owed when it died")

    def _operate(self, stack: ExitStack, scenes: list[Scene], again: list[Scene], aim: Aim) -> None:
        """Send all at once, and wait for the moment, or for the answers and a while, until the broker is dead."""
        clients: list[tuple[Scene, WireClient]] = []
        with suppress(*Broken):
            for scene in scenes:
                client = stack.enter_context(WireClient(self._node.address, timeout_s=AIM_FOR_S))
                clients.append((scene, client))
            for scene, client in clients:
                client.send(*scene.request)
        if aim is Aim.ANY:
            time.sleep(self._rng.uniform(0, 0.1))
            self._node.kill()
        for scene, client in clients:
            with suppress(*Broken):
                self._answered(scene, client.receive(), again=scene in again)
        process = self._node.process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(AIM_FOR_S)
            self._met[aim if process.poll() is not None else Aim.ANY] += 1
        else:
            self._met[aim] += 1
        self._node.kill()

    def _answered(self, scene: Scene, answer: Message, *, again: bool) -> None:
        error = scene.answered(answer, again=again)
        self._seen["operations answered in the life that began them"] += scene.done and not again
        if error is not ErrorCode.NONE:
            self._broken.append(f"{scene.group.name}: {scene.operation.value}: {error.name}")

    def _start(self, aim: Aim) -> None:
        environment = {PLANTED: self._planted} if self._planted else {}
        if aim is not Aim.ANY:
            places = PARTITIONS * (1 + len(self._under_way))
            times = self._rng.randint(1, places if aim in OF_REMOVALS else places * RECORDS // 2)
            environment |= {DIE_AT: aim.name, DIE_AFTER: str(times), DIE_IN_REMOVALS: "1"}
        self._node.environment = environment
        self._starts_ms.append(int(time.time() * 1000))
        self._node.start()

    def _note_owed(self, client: WireClient) -> None:
        """Note the letters owed after a start: without members they were owed when the broker died."""
        owed = [scene.owed(client) for scene in self._under_way]
        self._seen["owed at kills"] += sum(owed)
        self._seen["kills with letters owed"] += any(owed)

    def _finish(self, client: WireClient) -> None:
        deadline = time.monotonic() + PATIENCE_S
        self._seen["operations tried again"] += len(self._under_way)
        while (left := self._under_way) and time.monotonic() < deadline:
            for scene in left:
                client.send(*scene.request)
                self._answered(scene, client.receive(), again=True)
        self._broken += [f"{scene.group.name}: {scene.operation.value}: is never done" for scene in left]

    def _judge(self, client: WireClient) -> None:
        for scene in self._scenes:
            topic = load.source(client, scene.topic, PARTITIONS)
            self._seen["records"] += len(topic.records)
            letters = load.plain_records(client, scene.group.queue, 0)
            found = judge(scene.group, scene.topic, scene.ledger, topic, letters, self._starts_ms)
            self._seen.update(found.seen)
            self._seen["rejections answered"] += len(scene.ledger.rejected)
            self._broken += found.broken


def _dlq_headers(headers: tuple[tuple[str, bytes | None], ...]) -> list[tuple[str, bytes | None]]:
    return [header for header in headers if header[0].startswith("__dlq.errors.")]


def _error_of(answer: Message) -> ErrorCode:
    codes: list[int]
    if isinstance(answer, AlterShareGroupOffsetsResponse):
        codes = [answer.error_code, *(row.error_code for topic in answer.responses for row in topic.partitions)]
    elif isinstance(answer, DeleteShareGroupOffsetsResponse):
        codes = [answer.error_code, *(topic.error_code for topic in answer.responses)]
    else:
        assert isinstance(answer, DeleteGroupsResponse)
        codes = [row.error_code for row in answer.results]
    return ErrorCode(next(filter(None, codes), 0))
