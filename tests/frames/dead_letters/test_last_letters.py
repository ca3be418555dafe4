"""Operations that remove the state of share partitions with unwritten dead letters (KIP-1191).

Offsets are altered or deleted, groups and topics deleted: every record whose rejection was answered gets its letter.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devtools.in_memory.mock_transport import MockConnection
from shareq.broker.share.last_letters import LONGEST_WAIT_MS
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
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.primitives import Message, uuid_to_text
from tests.support.clients.share_client import REJECT, ShareClient
from tests.support.worlds.dead_letters import MESSAGES, QUEUE, DeadLetterWorld, header_of

RECORDS = 16
ALL = set(range(RECORDS))
HOUR_MS = 3_600_000
SMALL = 300
"""The bytes of a batch of letters, so few that each letter is written in a round of its own."""


ALTER = AlterShareGroupOffsetsRequest(
    "g", [AlterShareGroupOffsetsRequestTopic("t", [AlterShareGroupOffsetsRequestPartition(0, 0)])]
)
DELETE_OFFSETS = DeleteShareGroupOffsetsRequest("g", [DeleteShareGroupOffsetsRequestTopic("t")])
DELETE_GROUP = DeleteGroupsRequest(["g"])


def alter(world: DeadLetterWorld) -> ErrorCode:
    answer = world.world.connect().call(ALTER, 0, AlterShareGroupOffsetsResponse)
    return ErrorCode(answer.error_code or answer.responses[0].partitions[0].error_code)


def delete_offsets(world: DeadLetterWorld) -> ErrorCode:
    answer = world.world.connect().call(DELETE_OFFSETS, 0, DeleteShareGroupOffsetsResponse)
    rows = [row.error_code for row in answer.responses]
    return ErrorCode(answer.error_code or next(iter(rows), 0))


def delete_group(world: DeadLetterWorld) -> ErrorCode:
    answer = world.world.connect().call(DELETE_GROUP, 2, DeleteGroupsResponse)
    return ErrorCode(answer.results[0].error_code)


Operation = Callable[[DeadLetterWorld], ErrorCode]
REQUESTS: dict[Operation, tuple[Message, int]] = {
    alter: (ALTER, 0),
    delete_offsets: (DELETE_OFFSETS, 0),
    delete_group: (DELETE_GROUP, 2),
}
OPERATIONS = pytest.mark.parametrize("operation", [alter, delete_offsets, delete_group])


def begin(*, keeps: bool = False) -> DeadLetterWorld:
    world = DeadLetterWorld(shareq_dlq_keep=str(keeps).lower())
    world.world.create_topic(QUEUE, errors_deadletterqueue_group_enable="true", max_message_bytes=str(SMALL))
    world.produce(*[b"v"] * RECORDS)
    assert world.take() == [(0, RECORDS - 1, 1)]
    return world


def reject(world: DeadLetterWorld) -> None:
    """Reject all and return once that is answered: most letters are still unwritten."""
    world.member.send_acknowledge(world.place, (0, RECORDS - 1, REJECT))
    run_until_answered(world, world.member.connection)
    assert len(world.letters()) < RECORDS // 2


def run_until_answered(world: DeadLetterWorld, connection: MockConnection) -> None:
    while not connection.frames:
        assert world.world.clock.run_tick()


def leave(world: DeadLetterWorld) -> None:
    """Let the last member leave and disconnect before most letters are written."""
    connection = world.world.connect()
    connection.send(world.member.heartbeat_request(epoch=-1), 1)
    run_until_answered(world, connection)
    world.member.connection.disconnect()


@OPERATIONS
def test_letters_under_way_are_written_before_the_state_is_removed(operation: Operation) -> None:
    world = begin()
    reject(world)
    leave(world)
    assert set(world.offsets()) != ALL
    assert operation(world) is ErrorCode.NONE
    assert sorted(world.offsets()) == sorted(ALL)


@OPERATIONS
def test_letters_of_a_state_that_no_leader_has_are_written_before_it_is_removed(operation: Operation) -> None:
    """After a crash, the letters are written before any member returns."""
    world = begin()
    reject(world)
    world.world.crash()
    world.settle(HOUR_MS)
    assert set(world.offsets()) != ALL
    assert operation(world) is ErrorCode.NONE
    assert set(world.offsets()) == ALL


@OPERATIONS
def test_a_crash_at_any_turn_of_an_operation_loses_no_letter(operation: Operation) -> None:
    """The process is killed after each number of turns, up to the operation's answer."""
    turns, done = 0, False
    while not done:
        world = begin()
        reject(world)
        leave(world)
        connection = world.world.connect()
        connection.send(*REQUESTS[operation])
        for _ in range(turns):
            world.world.clock.run_tick()
        done = bool(connection.frames)
        world.world.crash()
        assert not done or set(world.offsets()) == ALL
        repeated = operation(world)
        gone = ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert repeated is ErrorCode.NONE or repeated in gone
        assert set(world.offsets()) == ALL, turns
        turns += 1
    assert turns > RECORDS


def test_an_operation_on_a_group_that_keeps_its_dead_waits_for_the_queue_and_says_why_it_gave_up() -> None:
    """The owed letters are kept; once the queue is repaired, the same operation succeeds."""
    world = begin(keeps=True)
    world.configure("topic", QUEUE, errors_deadletterqueue_group_enable="false", max_message_bytes="500")
    reject(world)
    leave(world)
    connection = world.world.connect()
    connection.send(ALTER, 0)
    world.settle(LONGEST_WAIT_MS - 1_000)
    assert not connection.frames
    world.settle(2_000)
    row = connection.receive(AlterShareGroupOffsetsResponse).responses[0].partitions[0]
    assert row.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert row.error_message == (
        "Dead letters of group g, t-0, are not written yet: DLQ is not enabled on configured DLQ topic for share "
        f"group: g, topic: {QUEUE}."
    )
    world.configure("topic", QUEUE, errors_deadletterqueue_group_enable="true")
    connection.send(ALTER, 0)
    world.settle(HOUR_MS)
    row = connection.receive(AlterShareGroupOffsetsResponse).responses[0].partitions[0]
    assert (row.error_code, set(world.offsets())) == (ErrorCode.NONE, ALL)


def test_an_operation_is_refused_when_a_member_joined_while_letters_were_awaited() -> None:
    world = begin()
    reject(world)
    leave(world)
    connection = world.world.connect()
    connection.send(ALTER, 0)
    world.member = ShareClient(world.world, "next")
    world.member.connection.send(world.member.heartbeat_request("t", epoch=0), 1)
    row = connection.receive(AlterShareGroupOffsetsResponse).responses[0].partitions[0]
    assert row.error_code == ErrorCode.NON_EMPTY_GROUP
    assert set(world.offsets()) == ALL


def test_letters_under_way_go_on_without_content_when_their_topic_is_deleted() -> None:
    world = begin()
    reject(world)
    written = len(world.letters())
    world.world.folder.metadata.delete_topics(["t"])
    world.settle()
    letters = world.letters()
    assert (len(letters), letters[written + 1].value, letters[-1].value) == (RECORDS, None, None)


# -- topics that are deleted


def lost(world: DeadLetterWorld) -> int:
    queues = world.world.services.share.dead_letters.queues
    return 0 if queues is None else sum(group.without_letter for group in queues.groups.values())


def crashed() -> DeadLetterWorld:
    world = begin()
    reject(world)
    world.world.crash()
    world.settle(HOUR_MS)
    assert len(world.letters()) < RECORDS // 2
    return world


def test_letters_of_a_state_that_no_leader_has_are_written_when_its_topic_is_deleted() -> None:
    world = crashed()
    written = len(world.letters())
    world.world.folder.metadata.delete_topics(["t"])
    world.settle()
    letters = world.letters()
    assert (set(world.offsets()), {letter.value for letter in letters[written:]}) == (ALL, {None})
    assert header_of(letters[-1], "__dlq.errors.message") == MESSAGES[REJECT]
    assert header_of(letters[-1], "__dlq.errors.topic") == b"t"
    assert lost(world) == 0


def test_letters_of_a_deleted_topic_that_was_created_again_are_without_the_new_topics_records() -> None:
    world = crashed()
    written = len(world.letters())
    world.world.create_topic("u")  # takes the id that chance would repeat
    world.world.folder.metadata.delete_topics(["t"])
    assert world.world.create_topic("t").topic_id != world.topic_id
    world.produce(*[b"new"] * RECORDS)
    world.settle()
    assert (set(world.offsets()), {letter.value for letter in world.letters()[written:]}) == (ALL, {None})


def test_letters_with_content_are_written_when_the_topic_of_states_is_deleted() -> None:
    world = crashed()
    world.world.folder.metadata.delete_topics([SHARE_GROUP_STATE])
    world.settle()
    assert (set(world.offsets()), {letter.value for letter in world.letters()}) == (ALL, {b"v"})


def test_a_start_writes_the_letters_of_a_deletion_that_a_crash_cut_off() -> None:
    """The broker starts after the metadata has forgotten the topic, with the topic's states still in their log."""
    world = crashed()
    world.world.folder.metadata.delete_topics(["t"])
    world.world.crash()
    world.settle()
    assert (set(world.offsets()), lost(world)) == (ALL, 0)


def test_letters_of_a_deleted_topic_whose_name_is_forgotten_are_logged_and_counted_as_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = crashed()
    written, metadata = len(world.letters()), world.world.folder.metadata
    metadata.delete_topics(["t"])
    metadata.folders_are_gone({world.topic_id})
    world.configure("group", "other", share_auto_offset_reset="earliest")  # a commit
    world.world.crash()
    world.settle()
    assert (len(world.letters()), lost(world)) == (written, RECORDS - written)
    line = (
        f"share group g: {uuid_to_text(world.topic_id)}-0: dead letters of offsets {written} to {RECORDS - 1} could "
        "not be written, archived without: its topic was deleted, and its name is not known any more"
    )
    assert line in caplog.messages
