"""The letters of a queue that were sent back, as a client reads it from redrives' commits."""

from __future__ import annotations

from devtools.in_memory.mock_transport import MockConnection
from shareq.client.admin.redrives import LetterFilter, SentLetters, SentRange, _sent, letter_of
from shareq.protocol.generated.describe_redrives import DescribeRedrivesRequest, DescribeRedrivesResponse
from tests.support.worlds.redrives import QUEUE, RedriveWorld, letter


def sent_back_from(connection: MockConnection, queue: str) -> SentLetters:
    answer = connection.call(DescribeRedrivesRequest([], sent_from=queue), 0, DescribeRedrivesResponse)
    return SentLetters([each for row in answer.redrives for each in _sent(row)])


def sent_offsets(world: RedriveWorld) -> list[int]:
    sent = sent_back_from(world.world.connect(), QUEUE)
    letters = world.records(QUEUE)
    return [each.offset for each in letters if sent.has(0, each.offset, letter_of(each.headers), each.timestamp)]


def test_a_client_sees_what_the_broker_would_pass_over(world: RedriveWorld) -> None:
    """The client selects by filter, by range, by what stayed, and by what a cancelled redrive had sent."""
    world.bury(*(letter(b"%d" % n, n, topic="tu"[n % 3 == 0], group="gh"[n % 2]) for n in range(12)))
    assert sent_offsets(world) == []
    world.run("one", group_id="h", queue_partition=0, first_offset=2, last_offset=8)
    assert sent_offsets(world) == [5, 7]
    world.start("two", records_per_second=10)
    world.world.clock.advance(250)
    world.cancel("two")
    found = sent_offsets(world)
    assert len(found) == len(world.values()) > 2
    world.run("three")
    assert sent_offsets(world) == [n for n in range(12) if n % 3]
    assert sent_back_from(world.world.connect(), "other").ranges == ()


def test_the_end_of_what_may_have_been_sent_back() -> None:
    ranges = [
        SentRange(0, -1, 5, (), (), LetterFilter()),
        SentRange(0, -1, 3, (), ((7, 8),), LetterFilter()),
        SentRange(1, -1, 9, (), (), LetterFilter()),
    ]
    sent = SentLetters(ranges)
    assert (sent.upto(0), sent.upto(1), sent.upto(2)) == (9, 9, 0)
