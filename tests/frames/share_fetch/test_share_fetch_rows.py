"""The partitions that a ShareFetch answer lists, with and without records, as in Apache Kafka 4.3.1."""

from __future__ import annotations

import pytest

from devtools.in_memory.mock_transport import BrokerWorld
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import ShareFetchResponse
from tests.support.clients.share_client import (
    ACCEPT,
    Place,
    ShareClient,
    acquired_of,
    append,
    configure,
    fetch_errors,
    from_the_start,
)


def rows(answer: ShareFetchResponse) -> list[tuple[int, int]]:
    """Return the partition and the number of acquired ranges of each row, in order."""
    assert answer.error_code == ErrorCode.NONE
    assert all(row.records is not None for topic in answer.responses for row in topic.partitions)
    return [(row.partition_index, len(row.acquired_records)) for topic in answer.responses for row in topic.partitions]


class Topic:
    """Topic t of three partitions without records, and a member of group g, which begins at their start."""

    def __init__(self) -> None:
        self.world = BrokerWorld()
        topic_id = self.world.create_topic("t", 3).topic_id
        self.places: list[Place] = [(topic_id, partition) for partition in range(3)]
        from_the_start(self.world)
        self.member = ShareClient(self.world)
        self.member.join("t")

    def append(self, records: int, partition: int) -> None:
        append(self.world, "t", records, partition=partition)


@pytest.fixture
def topic() -> Topic:
    return Topic()


def test_a_session_that_opens_lists_every_partition_it_looked_at(topic: Topic) -> None:
    """Apache Kafka's clients and wire tests wait for these rows as the sign of a working session."""
    assert rows(topic.member.fetch(*topic.places)) == [(0, 0), (1, 0), (2, 0)]


def test_the_rows_without_records_come_with_those_that_have_some_when_the_wait_ends(topic: Topic) -> None:
    topic.member.send_fetch(*topic.places, max_wait_ms=1_000)
    topic.world.clock.run_until_idle()
    assert not topic.member.connection.frames
    topic.append(3, partition=1)
    answer = topic.member.fetch_answer()
    assert rows(answer) == [(0, 0), (1, 1), (2, 0)]
    assert acquired_of(answer) == [(0, 2, 1)]


def test_rows_without_records_end_no_wait(topic: Topic) -> None:
    topic.member.send_fetch(*topic.places, max_wait_ms=1_000)
    topic.world.clock.advance(999)
    assert not topic.member.connection.frames
    topic.world.clock.advance(1)
    assert rows(topic.member.fetch_answer()) == [(0, 0), (1, 0), (2, 0)]


def test_a_partition_for_which_no_records_were_left_is_listed(topic: Topic) -> None:
    """MaxRecords is exhausted before the partition's turn."""
    for partition in range(3):
        topic.append(5, partition)
    assert rows(topic.member.fetch(*topic.places, max_records=5)) == [(0, 1), (1, 0), (2, 0)]


def test_a_full_partition_is_not_listed(topic: Topic) -> None:
    configure(topic.world, share_partition_max_record_locks="100")
    topic.append(100, partition=0)
    other = ShareClient(topic.world, "other")
    assert rows(other.fetch(topic.places[0])) == [(0, 1)]
    assert rows(topic.member.fetch(*topic.places)) == [(1, 0), (2, 0)]


def test_a_fetch_that_asks_for_nothing_looks_at_nothing(topic: Topic) -> None:
    assert rows(topic.member.fetch(*topic.places, max_records=0)) == []
    assert rows(topic.member.fetch(*topic.places, epoch=0, max_bytes=0)) == []


def test_a_negative_number_of_records_lists_partitions_and_takes_nothing(topic: Topic) -> None:
    topic.append(5, partition=0)
    assert rows(topic.member.fetch(*topic.places, max_records=-1, max_wait_ms=1_000)) == [(0, 0), (1, 0), (2, 0)]
    assert acquired_of(topic.member.fetch()) == [(0, 4, 1)]


def test_errors_come_beside_the_rows_without_records(topic: Topic) -> None:
    unknown: Place = (topic.places[0][0], 7)
    answer = topic.member.fetch(topic.places[1], unknown)
    assert sorted(rows(answer)) == [(1, 0), (7, 0)]
    assert fetch_errors(answer) == {unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_later_fetch_lists_what_is_new_in_the_session_once(topic: Topic) -> None:
    topic.member.fetch(topic.places[0])
    assert rows(topic.member.fetch(topic.places[2])) == [(2, 0)]
    assert rows(topic.member.fetch()) == []


def test_a_later_fetch_lists_once_what_failed_before(topic: Topic) -> None:
    unknown: Place = (topic.places[0][0], 3)
    assert rows(topic.member.fetch(topic.places[0], unknown)) == [(3, 0), (0, 0)]
    assert rows(topic.member.fetch()) == [(3, 0)]
    topic.world.folder.metadata.create_partitions({"t": 4})
    topic.member.heartbeat()
    answer = topic.member.fetch()
    assert (rows(answer), fetch_errors(answer)) == ([(3, 0)], {})
    assert rows(topic.member.fetch()) == []


def test_a_session_that_ends_lists_what_was_acknowledged_alone(topic: Topic) -> None:
    topic.append(3, partition=0)
    topic.append(3, partition=1)
    topic.member.fetch(*topic.places)
    acks = {topic.places[0]: [(0, 2, ACCEPT)]}
    assert rows(topic.member.fetch(topic.places[2], acks=acks, epoch=-1)) == [(2, 0), (0, 0)]
    assert rows(topic.member.fetch(*topic.places, epoch=0)) == [(0, 0), (1, 1), (2, 0)]
    assert rows(topic.member.fetch(epoch=-1)) == []


def test_a_partition_of_acknowledgements_alone_is_listed(topic: Topic) -> None:
    """Apache Kafka's client forgets a partition in the request with its last acknowledgements."""
    topic.append(3, partition=0)
    topic.member.fetch(*topic.places[:2])
    answer = topic.member.fetch(acks={topic.places[0]: [(0, 2, ACCEPT)]}, forgotten=[topic.places[0]])
    assert rows(answer) == [(0, 0)]
    assert rows(topic.member.fetch()) == []


def test_a_topic_that_becomes_known_later_is_fetched_in_the_same_session(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that mirrors topics may know them later than a client.

    On UNKNOWN_TOPIC_ID clients keep the partition in their session, and do not name it again.
    """
    metadata, place = topic.world.services.metadata, topic.places[0]
    with monkeypatch.context() as patched:
        patched.setattr(metadata, "topic_by_id", lambda _topic_id: None)
        assert fetch_errors(topic.member.fetch(place)) == {place: ErrorCode.UNKNOWN_TOPIC_ID}
        assert fetch_errors(topic.member.fetch()) == {place: ErrorCode.UNKNOWN_TOPIC_ID}
    topic.append(1, partition=0)
    answers = [topic.member.fetch() for _ in range(2)]  # the first may only write down where the share partition begins
    assert not any(map(fetch_errors, answers))
    assert [each for answer in answers for each in acquired_of(answer)] == [(0, 0, 1)]
