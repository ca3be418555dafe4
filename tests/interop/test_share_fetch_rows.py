"""The partitions listed in a ShareFetch response, as Apache Kafka lists them.

Run with `--broker=apache` to check the expectations themselves. Its rows are in hash order, so the order is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from devtools.clients.admin import read_from_start
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.errors import ErrorCode
from shareq.protocol.generated.share_fetch import PartitionData, ShareFetchResponse
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import ACCEPT, Member, append, begin_at, eventually

pytestmark = pytest.mark.interop

Rows = dict[int, tuple[ErrorCode, int]]
"""Fetch error and number of acquired records, by partition."""

EMPTY = (ErrorCode.NONE, 0)
UNKNOWN = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)


def rows(answer: ShareFetchResponse) -> Rows:
    """Return the rows; no partition may be listed twice, and records are never null."""
    assert answer.error_code == ErrorCode.NONE, answer
    listed = [row for topic in answer.responses for row in topic.partitions]
    assert len({row.partition_index for row in listed}) == len(listed), answer
    assert all(row.records is not None for row in listed), answer
    return {row.partition_index: (ErrorCode(row.error_code), _acquired(row)) for row in listed}


def _acquired(row: PartitionData) -> int:
    return sum(one.last_offset - one.first_offset + 1 for one in row.acquired_records)


@dataclass(slots=True)
class Queue:
    """A topic of three empty partitions, all loaded for a group without members, and a connection to write on."""

    stack: ExitStack
    address: tuple[str, int]
    topic: str
    group: str
    topic_id: bytes = b""

    def connect(self) -> WireClient:
        return self.stack.enter_context(WireClient(self.address))

    def member(self, member_id: str = "m") -> Member:
        return Member(self.connect(), self.group, member_id, self.topic_id)

    def append(self, records: int, *, partition: int) -> None:
        append(self.connect(), self.topic, records, partition=partition)


@pytest.fixture
def queue(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Queue]:
    with ExitStack() as stack:
        queue = Queue(stack, ("127.0.0.1", broker.port), unique("topic"), unique("group"))
        read_from_start(broker.bootstrap, queue.group)
        client = queue.connect()
        queue.topic_id = create_topic(client, queue.topic, partitions=3)
        begin_at(client, queue.group, queue.topic, [0, 0, 0])
        loader = queue.member("loader")

        def loaded() -> bool | None:
            loader.epoch = 0
            return rows(loader.fetch(partitions=(0, 1, 2))) == {0: EMPTY, 1: EMPTY, 2: EMPTY} or None

        eventually(loaded)
        yield queue


def test_a_session_that_opens_lists_all_its_partitions(queue: Queue) -> None:
    assert rows(queue.member().fetch(partitions=(0, 2), max_wait_ms=0)) == {0: EMPTY, 2: EMPTY}


def test_partitions_without_records_are_listed_beside_those_with_some(queue: Queue) -> None:
    queue.append(4, partition=1)
    assert rows(queue.member().fetch(partitions=(0, 1, 2))) == {0: EMPTY, 1: (ErrorCode.NONE, 4), 2: EMPTY}


def test_a_partition_for_which_no_records_were_left_is_listed(queue: Queue) -> None:
    for partition in range(3):
        queue.append(5, partition=partition)
    found = rows(queue.member().fetch(5, partitions=(0, 1, 2)))
    assert sorted(found) == [0, 1, 2]
    assert sorted(found.values()) == [EMPTY, EMPTY, (ErrorCode.NONE, 5)]


@pytest.mark.parametrize("max_records", [0, -1])
def test_asking_for_no_records(queue: Queue, max_records: int) -> None:
    """With 0 no partition is looked at, with a negative number all are."""
    queue.append(5, partition=0)
    found = rows(queue.member().fetch(max_records, batch_size=500, partitions=(0, 1, 2)))
    assert found == ({} if max_records == 0 else {0: EMPTY, 1: EMPTY, 2: EMPTY})


@pytest.mark.parametrize("max_records", [500, -1])
def test_a_negative_number_of_bytes_is_an_error_of_each_partition(queue: Queue, max_records: int) -> None:
    """Partitions without records have the error at once, too; 0 is answered without a look."""
    queue.append(5, partition=0)
    member = queue.member()
    failed = (ErrorCode.UNKNOWN_SERVER_ERROR, 0)

    def fetch(max_bytes: int) -> Rows:
        member.epoch = 0
        return rows(member.fetch(max_records, max_bytes=max_bytes, max_wait_ms=60_000, partitions=(0, 1, 2)))

    assert fetch(-1) == {0: failed, 1: failed, 2: failed}
    assert fetch(0) == {}
    assert rows(member.fetch(partitions=(0,))) == {0: (ErrorCode.NONE, 5)}


def test_errors_come_beside_partitions_without_records(queue: Queue) -> None:
    assert rows(queue.member().fetch(partitions=(1, 7))) == {1: EMPTY, 7: UNKNOWN}


def test_a_later_fetch_lists_what_is_new_once(queue: Queue) -> None:
    member = queue.member()
    assert rows(member.fetch(partitions=(0,), max_wait_ms=0)) == {0: EMPTY}
    assert rows(member.fetch(partitions=(0, 2), max_wait_ms=0)) == {2: EMPTY}
    assert rows(member.fetch(partitions=(0, 2), max_wait_ms=0)) == {}


def test_a_session_that_ends_lists_what_was_acknowledged_alone(queue: Queue) -> None:
    queue.append(4, partition=0)
    queue.append(4, partition=1)
    member = queue.member()
    assert rows(member.fetch(partitions=(0, 1), min_bytes=1 << 16)) == {0: (ErrorCode.NONE, 4), 1: (ErrorCode.NONE, 4)}
    member.epoch = -1
    answer = member.fetch(acks=[(0, 3, ACCEPT)], partitions=(0, 2))
    assert rows(answer) == {0: EMPTY, 2: EMPTY}
    member.epoch = 0
    member.fetch(partitions=(2,), max_wait_ms=0)
    member.epoch = -1
    assert rows(member.fetch(partitions=(0, 1))) == {}


def test_a_partition_of_acknowledgements_alone_is_listed(queue: Queue) -> None:
    """Apache Kafka's client forgets a partition in the request with its last acknowledgements."""
    queue.append(4, partition=0)
    member = queue.member()
    member.fetch(partitions=(0, 1))
    assert rows(member.fetch(acks=[(0, 3, ACCEPT)], forgotten=(0,), max_wait_ms=0)) == {0: EMPTY}
    assert rows(member.fetch(partitions=(1,), max_wait_ms=0)) == {}


def test_records_of_a_forgotten_partition_stay_locked_when_the_session_ends(queue: Queue) -> None:
    queue.append(5, partition=0)
    queue.append(5, partition=1)
    member, other = queue.member(), queue.member("other")
    assert rows(member.fetch(partitions=(0,))) == {0: (ErrorCode.NONE, 5)}
    assert rows(member.fetch(partitions=(1,))) == {1: (ErrorCode.NONE, 5)}
    member.fetch(partitions=(), forgotten=(0,), max_wait_ms=0)
    member.epoch = -1
    member.fetch(partitions=())

    def others() -> bool | None:
        other.epoch = 0
        return rows(other.fetch(partitions=(0, 1), max_wait_ms=500)) == {0: EMPTY, 1: (ErrorCode.NONE, 5)} or None

    eventually(others)
