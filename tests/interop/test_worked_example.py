"""KIP-932's worked example of one share partition, step by step over the wire, with three members.

After each step the persisted state is read back and compared in normal form, since brokers may keep more or less of
finished records; the records still to be delivered, and their delivery counts, must be equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from devtools.clients.admin import configure_group
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.api_keys import ApiKey
from tests.interop.support.broker_under_test import BrokerUnderTest
from tests.interop.support.share_wire import (
    ACCEPT,
    ACKNOWLEDGED,
    AVAILABLE,
    BATCH_OPTIMIZED,
    RELEASE,
    RENEW,
    Acquired,
    Member,
    StateBatch,
    append,
    described_lag,
    eventually,
    normalised,
    read_state,
)

BROKER_SETTINGS = {"group.share.min.record.lock.duration.ms": "1000"}
LOCK_MS = 3000


@dataclass(slots=True)
class Example:
    """Topic-partition T-0 with records 0-99 and group G1, which begins at the end of the log."""

    broker: BrokerUnderTest
    stack: ExitStack
    topic: str
    group: str
    topic_id: bytes = b""
    client: WireClient = field(init=False)
    one: Member = field(init=False)
    two: Member = field(init=False)
    three: Member = field(init=False)

    def begin(self) -> None:
        """Write offsets 0-99 before the group exists; its first member finds SPSO and SPEO at 100."""
        configure_group(self.broker.bootstrap, self.group, {"share.record.lock.duration.ms": str(LOCK_MS)})
        self.connect()
        self.topic_id = create_topic(self.client, self.topic)
        self.append(100)
        self.connect()
        for member in (self.one, self.two, self.three):
            member.join([self.topic])
            member.open()  # the very first one resolves share.auto.offset.reset=latest

    def connect(self) -> None:
        """Open new connections, as after a restart; the members do not know their old sessions."""
        self.client = self._connection()
        self.one, self.two, self.three = (
            Member(self._connection(), self.group, f"{self.group}-{name}", self.topic_id)
            for name in ("one", "two", "three")
        )

    def append(self, count: int) -> None:
        append(self.client, self.topic, count)

    def state(self) -> tuple[int, list[StateBatch]]:
        return normalised(*read_state(self.client, self.group, self.topic_id))

    def expect(self, start: int, *batches: tuple[int, int, int, int], lag: int) -> None:
        assert self.state() == (start, [StateBatch(*one) for one in batches])
        if self.broker.serves(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS):
            assert described_lag(self.client, self.group, self.topic) == lag

    def _connection(self) -> WireClient:
        return self.stack.enter_context(WireClient(("127.0.0.1", self.broker.port)))


@pytest.fixture
def example(broker: BrokerUnderTest, unique: Callable[[str], str]) -> Iterator[Example]:
    with ExitStack() as stack:
        example = Example(broker, stack, unique("T"), unique("G1"))
        example.begin()
        yield example


def up_to_fetching_110_and_120(example: Example) -> None:
    one, two, three = example.one, example.two, example.three
    assert example.state()[0] in {-1, 100}  # only the first write makes it 100

    example.append(10)
    assert one.take(10) == [Acquired(100, 109, 1)]
    assert example.state() in [(-1, []), (100, [])]

    one.acknowledged((100, 109, ACCEPT))
    example.expect(110, lag=0)

    example.append(10)
    assert one.take(3) == [Acquired(110, 112, 1)]
    assert two.take(6) == [Acquired(113, 118, 1)]
    assert three.take(1) == [Acquired(119, 119, 1)]
    example.expect(110, lag=10)

    one.acknowledged((110, 110, RELEASE))
    example.expect(110, (110, 110, AVAILABLE, 1), lag=10)

    three.acknowledged((119, 119, ACCEPT))
    example.expect(110, (110, 110, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1), lag=9)

    example.append(1)
    taken = one.take(1)
    if taken == [Acquired(110, 110, 2)]:
        taken += one.take(1)
    assert taken == [Acquired(110, 110, 2), Acquired(120, 120, 1)]
    example.expect(110, (110, 110, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1), lag=10)


def up_to_the_end(example: Example) -> None:
    """Run the rows `lock timeout on 111, 112` to the last one."""
    one, two, three = example.one, example.two, example.three

    def timed_out() -> bool | None:
        """Return whether 111 and 112 have timed out; members one and two keep their other records."""
        one.acknowledged((110, 110, RENEW), (120, 120, RENEW), is_renew_ack=True)
        two.acknowledged((113, 118, RENEW), is_renew_ack=True)
        return any(batch.first <= 111 and batch.last >= 112 for batch in example.state()[1]) or None

    eventually(timed_out, timeout_s=3 * LOCK_MS / 1000)
    example.expect(110, (110, 112, AVAILABLE, 1), (119, 119, ACKNOWLEDGED, 1), lag=10)

    two.acknowledged((113, 118, ACCEPT))
    example.expect(110, (110, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1), lag=4)

    assert three.take(2) == [Acquired(111, 112, 2)]
    example.expect(110, (110, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1), lag=4)

    one.acknowledged((110, 110, ACCEPT))
    example.expect(111, (111, 112, AVAILABLE, 1), (113, 119, ACKNOWLEDGED, 1), lag=3)

    three.acknowledged((111, 112, ACCEPT))
    example.expect(120, lag=1)


def test_every_step(example: Example) -> None:
    up_to_fetching_110_and_120(example)
    up_to_the_end(example)


@pytest.mark.crash
def test_crash_after_fetching_110_and_120(example: Example) -> None:
    """110 (available, delivered once) and 119 (done) are loaded; 111-118 and 120 were not persisted and start over."""
    up_to_fetching_110_and_120(example)
    example.broker.restart(kill=True)
    example.connect()
    taken: list[Acquired] = []
    while sum(one.last - one.first + 1 for one in taken) < 10:
        taken += example.one.take(mode=BATCH_OPTIMIZED)
    assert taken == [Acquired(110, 110, 2), Acquired(111, 118, 1), Acquired(120, 120, 1)]
    example.one.acknowledged((110, 118, ACCEPT), (120, 120, ACCEPT))
    example.expect(121, lag=0)


@pytest.mark.crash
def test_crash_after_the_last_step(example: Example) -> None:
    """All up to 119 is loaded as done; 120 was never persisted: it is delivered as for the first time."""
    up_to_fetching_110_and_120(example)
    up_to_the_end(example)
    example.broker.restart(kill=True)
    example.connect()
    assert example.state() == (120, [])
    assert example.two.take() == [Acquired(120, 120, 1)]
    example.two.acknowledged((120, 120, ACCEPT))
    example.expect(121, lag=0)
