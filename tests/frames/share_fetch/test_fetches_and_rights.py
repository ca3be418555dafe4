"""ShareFetch and Fetch whose rights are revoked while they wait: a change applies once it is answered.

Apache Kafka 4.3.1 checks rights when the request arrives, and delivers records afterwards.
"""

from __future__ import annotations

import pytest

from devtools.clients.requests import batch, fetch_request, only_partition, produce_request
from shareq.broker.security import rights as r
from shareq.broker.security.rights import Right
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.fetch import FetchResponse
from shareq.protocol.generated.produce import ProduceResponse
from tests.support.clients.access import ALICE, GROUP, TOPIC, AccessWorld, acl
from tests.support.clients.share_client import ACCEPT, Place, ShareClient, acquired_of, configure, fetch_errors

OTHER = "other"
NO_GROUP, NO_TOPIC = ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED


class Readers:
    """Alice, who may read two empty topics in her group, and an administrator, who writes."""

    def __init__(self) -> None:
        self.world = AccessWorld()
        configure(self.world, GROUP, share_auto_offset_reset="earliest")
        other_id = self.world.create_topic(OTHER).topic_id
        self.first: Place = (self.world.topic_id, 0)
        self.second: Place = (other_id, 0)
        self.all_rights = [acl(r.READ_GROUP), acl(r.READ_TOPIC), acl(r.READ_TOPIC, OTHER)]
        self.world.grant(self.all_rights)
        self.alice = ShareClient(self.world, "alice", group=GROUP)
        self.alice.connection.side.principal = ALICE
        self.alice.join(TOPIC, OTHER)

    def append(self, topic: str) -> None:
        request = produce_request(batch(b"v"), topic=topic)
        answer = self.world.admin.call(request, 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE

    def wait(self, *places: Place) -> None:
        self.alice.send_fetch(*places, max_wait_ms=1_000)
        self.world.clock.run_until_idle()
        assert not self.alice.connection.frames

    def take_away(self, right: Right, name: str | None = None) -> None:
        gone = acl(right, name)
        self.world.grant([each for each in self.all_rights if each != gone])


@pytest.fixture
def readers() -> Readers:
    return Readers()


def test_a_topic_that_may_not_be_read_any_more_is_refused_when_a_record_comes(readers: Readers) -> None:
    readers.wait(readers.first)
    readers.take_away(r.READ_TOPIC)
    readers.append(TOPIC)
    answer = readers.alice.fetch_answer()
    assert (acquired_of(answer), fetch_errors(answer)) == ([], {readers.first: NO_TOPIC})
    assert [bytes(row.records or b"") for topic in answer.responses for row in topic.partitions] == [b""]


def test_a_group_that_may_not_be_read_any_more_is_refused_as_a_whole(readers: Readers) -> None:
    readers.wait(readers.first, readers.second)
    readers.take_away(r.READ_GROUP)
    readers.append(TOPIC)
    answer = readers.alice.fetch_answer()
    assert (answer.error_code, answer.responses) == (NO_GROUP, [])


def test_nothing_is_acquired_for_who_may_not_have_it(readers: Readers) -> None:
    """Another member gets the record at once, as its first delivery."""
    readers.wait(readers.first)
    readers.take_away(r.READ_TOPIC)
    readers.append(TOPIC)
    readers.alice.fetch_answer()
    root = ShareClient(readers.world, "root", group=GROUP)
    root.connection.side.principal = readers.world.admin.side.principal
    assert root.acquire(readers.first) == [(0, 0, 1)]


def test_the_other_topic_of_the_fetch_is_served(readers: Readers) -> None:
    readers.wait(readers.first, readers.second)
    readers.take_away(r.READ_TOPIC)
    readers.append(TOPIC)
    assert not readers.alice.connection.frames, "the fetch waits for what it may have"
    readers.append(OTHER)
    answer = readers.alice.fetch_answer()
    assert (acquired_of(answer), fetch_errors(answer)) == ([(0, 0, 1)], {readers.first: NO_TOPIC})


def test_a_wait_that_ends_without_a_record_reports_the_refusal(readers: Readers) -> None:
    readers.wait(readers.first)
    readers.take_away(r.READ_TOPIC)
    readers.world.clock.advance(1_000)
    assert fetch_errors(readers.alice.fetch_answer()) == {readers.first: NO_TOPIC}


def test_a_right_that_is_given_back_meanwhile_was_never_missed(readers: Readers) -> None:
    readers.wait(readers.first)
    readers.take_away(r.READ_TOPIC)
    readers.world.grant(readers.all_rights)
    readers.append(TOPIC)
    assert acquired_of(readers.alice.fetch_answer()) == [(0, 0, 1)]


@pytest.mark.parametrize(("right", "error"), [(r.READ_TOPIC, NO_TOPIC), (r.READ_GROUP, NO_GROUP)])
def test_records_that_wait_for_acknowledgements_to_be_written_stay_here(
    right: Right, error: ErrorCode, readers: Readers
) -> None:
    """Records acquired with the right are withheld if it is gone when the state write completes."""
    readers.append(TOPIC)
    assert acquired_of(readers.alice.fetch(readers.first, max_wait_ms=1_000)) == [(0, 0, 1)]
    readers.append(TOPIC)
    readers.alice.send_fetch(acks={readers.first: [(0, 0, ACCEPT)]})
    assert not readers.alice.connection.frames
    readers.take_away(right)
    answer = readers.alice.fetch_answer()
    assert acquired_of(answer) == []
    assert error in (answer.error_code, *fetch_errors(answer).values())


@pytest.mark.parametrize("right", [r.READ_TOPIC, r.READ_GROUP])
def test_records_that_stayed_here_are_released(right: Right, readers: Readers) -> None:
    """The records are released at once for another member; alice keeps what she held before the request."""
    readers.append(TOPIC)
    readers.append(TOPIC)
    assert acquired_of(readers.alice.fetch(readers.first, max_wait_ms=1_000)) == [(0, 1, 1)]
    readers.append(TOPIC)
    readers.alice.send_fetch(acks={readers.first: [(0, 0, ACCEPT)]})
    readers.take_away(right)
    assert acquired_of(readers.alice.fetch_answer()) == []
    root = ShareClient(readers.world, "root", group=GROUP)
    root.connection.side.principal = readers.world.admin.side.principal
    assert root.acquire(readers.first) == [(2, 2, 2)]


def test_a_fetch_that_waits_gets_nothing_of_a_topic_that_may_not_be_read_any_more(readers: Readers) -> None:
    consumer = readers.alice.connection
    consumer.send(fetch_request(TOPIC, max_wait_ms=1_000), 12)
    readers.take_away(r.READ_TOPIC)
    readers.append(TOPIC)
    row = only_partition(consumer.receive(FetchResponse))
    assert (row.error_code, bytes(row.records or b"")) == (NO_TOPIC, b"")
