"""An OffsetCommit of many partitions, which is handled in turns but commits all of them or none."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from devtools.in_memory.mock_transport import BrokerWorld, MockConnection
from shareq.broker.groups.offsets import GroupOffsetsService
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.metadata.changes import PutAcl
from shareq.broker.security.acls import Acl, Operation, PatternType, Permission, ResourceKind
from shareq.coordinator.group.offsets.commit import PreparedCommit
from shareq.coordinator.group.offsets.group_offsets import GroupOffsets
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from shareq.protocol.names import CONSUMER_OFFSETS
from shareq.protocol.primitives import Message
from tests.support.clients.access import STANDARD
from tests.support.coroutines import paused_everywhere
from tests.support.worlds.counted_work import Work

ONE_LOG = {"offsets.topic.num.partitions": "1"}
FITS = 8_000


def topic(name: str, count: int, *, first: int = 0, topic_id: bytes = bytes(16)) -> OffsetCommitRequestTopic:
    rows = [OffsetCommitRequestPartition(at, 5 + at) for at in range(first, first + count)]
    return OffsetCommitRequestTopic(name, topic_id, rows)


def commit(*topics: OffsetCommitRequestTopic, group: str = "g", member: str = "") -> OffsetCommitRequest:
    epoch = 3 if member else -1
    return OffsetCommitRequest(group, epoch, member, topics=list(topics))


def world_of(partitions: int, **properties: str) -> BrokerWorld:
    world = BrokerWorld({**ONE_LOG, **properties})
    world.create_topic("t", partitions)
    world.create_topic("small", 2)
    world.folder.internal_topics.ensure(CONSUMER_OFFSETS)
    return world


def rows_of(answer: OffsetCommitResponse) -> list[tuple[str, int, int]]:
    return [(each.name, row.partition_index, row.error_code) for each in answer.topics for row in each.partitions]


def kept(world: BrokerWorld, group: str = "g") -> dict[tuple[str, int], int]:
    store = world.services.groups.coordinator.partition(group).shard.offsets.store
    return {
        (name, at): committed.offset
        for name, partitions in store.of(group).items()
        for at, committed in partitions.items()
    }


def test_offsets_are_looked_at_and_made_into_records_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    world, work = world_of(FITS), Work()
    stranger, neighbour = world.connect(), world.connect()
    size: Callable[..., int] = lambda _service, _topic, partitions, *_: len(partitions)  # noqa: E731
    monkeypatch.setattr(GroupOffsetsService, "_sort", work.count(GroupOffsetsService._sort, size))
    monkeypatch.setattr(
        PreparedCommit,
        "add",
        work.count(PreparedCommit.add, lambda _prepared, part, _ms: sum(len(each.partitions) for each in part.topics)),
    )
    stranger.send(commit(topic("t", FITS)), 9)
    work.run(world, neighbour)
    answer = stranger.receive(OffsetCommitResponse)
    assert rows_of(answer) == [("t", at, 0) for at in range(FITS)]
    assert len(answer.topics) == 1
    assert kept(world) == {("t", at): 5 + at for at in range(FITS)}
    assert sum(work.ticks) == 2 * FITS
    assert max(work.ticks) <= 500


def test_a_commit_is_one_batch_and_is_there_after_a_crash() -> None:
    world = world_of(FITS)
    log = world.folder.logs.get(CONSUMER_OFFSETS, 0)
    before = log.log_end_offset
    world.connect().call(commit(topic("t", FITS)), 9, OffsetCommitResponse)
    read = log.read(before, 10_000_000, upto=log.log_end_offset)
    assert isinstance(read, ReadResult)
    assert len(read.batches) == 1
    world.crash()
    assert kept(world) == {("t", at): 5 + at for at in range(FITS)}


def story(world: BrokerWorld, request: Callable[[], OffsetCommitRequest], version: int) -> tuple[Message, object]:
    client: MockConnection = world.connect()
    client.side.principal = "User:alice" if world.services.authorizer is not None else client.side.principal
    answer = client.call(request(), version, OffsetCommitResponse)
    return answer, kept(world)


STORIES: dict[str, Callable[[], OffsetCommitRequest]] = {
    "all there": lambda: commit(topic("t", 3), topic("small", 2)),
    "some unknown": lambda: commit(topic("t", 3), topic("nothing", 2), topic("small", 4)),
    "a topic twice": lambda: commit(topic("t", 2), topic("small", 3), topic("t", 2, first=2)),
    "nothing there": lambda: commit(topic("nothing", 2), topic("no", 1)),
    "no such member": lambda: commit(topic("t", 3), topic("nothing", 1), member="m"),
    "metadata too long": lambda: commit(
        OffsetCommitRequestTopic(
            "t",
            partitions=[
                OffsetCommitRequestPartition(0, 1, committed_metadata="x" * 5_000),
                OffsetCommitRequestPartition(1, 2, committed_metadata="x"),
            ],
        )
    ),
    "no partitions": lambda: commit(OffsetCommitRequestTopic("t"), topic("small", 1)),
    "denied": lambda: commit(topic("hidden", 2), topic("t", 2), topic("nothing", 1)),
    "group denied": lambda: commit(topic("t", 2), topic("small", 1), group="other"),
}


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("authorizer", [False, True])
def test_a_commit_that_pauses_everywhere_answers_and_keeps_the_same(
    name: str, authorizer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def world() -> BrokerWorld:
        more = {"authorizer.class.name": STANDARD} if authorizer else {}
        made = world_of(5, **more)
        made.create_topic("hidden", 2)
        rights = [(ResourceKind.TOPIC, each) for each in ("t", "small", "nothing")] + [(ResourceKind.GROUP, "g")]
        acls = [
            Acl(kind, each, PatternType.LITERAL, "User:alice", "*", Operation.ALL, Permission.ALLOW)
            for kind, each in rights
        ]
        made.services.metadata.alter_acls([PutAcl(acl) for acl in acls])
        return made

    short = story(world(), STORIES[name], 9)
    pauses = paused_everywhere(monkeypatch)
    assert story(world(), STORIES[name], 9) == short
    assert len(pauses) > 1


def test_more_than_a_batch_takes_is_refused_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is committed, as in Apache Kafka, which refuses records that are too large."""
    world = world_of(40_000)
    client = world.connect()
    made: list[int] = []
    accepted = GroupOffsets.commit

    def noted(*given: object) -> object:
        made.append(len(given[-1].records))  # type: ignore[attr-defined]
        return accepted(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(GroupOffsets, "commit", noted)
    answer = client.call(commit(topic("t", 40_000)), 9, OffsetCommitResponse)
    assert {row[2] for row in rows_of(answer)} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(rows_of(answer)) == 40_000
    assert made == [0]
    assert kept(world) == {}
    assert rows_of(client.call(commit(topic("t", 2)), 9, OffsetCommitResponse)) == [("t", 0, 0), ("t", 1, 0)]


def test_an_append_that_fails_refuses_all_of_it() -> None:
    world = world_of(FITS)
    world.fs.fail = lambda kind, path: OSError(errno.EIO, "no") if path.endswith(".log") else None
    answer = world.connect().call(commit(topic("t", FITS)), 9, OffsetCommitResponse)
    assert {row[2] for row in rows_of(answer)} == {ErrorCode.NOT_COORDINATOR}
    assert len(rows_of(answer)) == FITS
    world.fs.fail = None
    assert kept(world) == {}


def test_a_client_that_goes_away_leaves_the_group_whole() -> None:
    world = world_of(FITS)
    client = world.connect()
    client.send(commit(topic("t", FITS)), 9)
    for _ in range(20):
        world.clock.run_tick()
    client.disconnect()
    world.clock.run_until_idle()
    assert len(kept(world)) in (0, FITS)
    assert not len(world.services.turns)


@pytest.mark.parametrize(
    ("version", "error"), [(9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (10, ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_a_topic_that_is_deleted_before_the_group_decides_keeps_no_offset(
    version: int, error: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An offset written after the group has forgotten the topic would stay."""
    world = world_of(FITS)
    images = [world.services.metadata.topic(name) for name in ("t", "small")]
    t, small = [image.topic_id for image in images if image is not None]
    prepare = GroupOffsetsService.prepare

    def and_delete(service: GroupOffsetsService, *, short: bool) -> object:
        prepared = prepare(service, short=short)
        world.clock.call_soon(lambda: world.folder.metadata.delete_topics(["small"]))
        return prepared

    monkeypatch.setattr(GroupOffsetsService, "prepare", and_delete)
    request = commit(topic("t", FITS - 10, topic_id=t), topic("small", 2, topic_id=small))
    answer = world.connect().call(request, version, OffsetCommitResponse)
    errors = [
        (each.topic_id == small or each.name == "small", row.error_code)
        for each in answer.topics
        for row in each.partitions
    ]
    assert errors == [*[(False, 0)] * (FITS - 10), (True, error), (True, error)]
    assert {name for name, _ in kept(world)} == {"t"}
