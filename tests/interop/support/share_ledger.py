"""Monitored librdkafka share consumers: every delivery and every confirmed acknowledgement is recorded."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from confluent_kafka import AcknowledgeType, KafkaException, Message, ShareConsumer, TopicPartition

from devtools.clients.admin import QUIET

Place = tuple[int, int]
"""(partition, offset)"""
Decide = Callable[[Message], AcknowledgeType | None]
"""A function that returns a record's acknowledgement; None leaves the record, after which only `close` is possible."""
TERMINAL = frozenset({AcknowledgeType.ACCEPT, AcknowledgeType.REJECT})


@dataclass(slots=True)
class Ledger:
    """The records that one group received, and the broker's confirmations.

    An acknowledgement counts once the broker has confirmed it. One that a killed connection cut off is *unknown*: the
    broker may have stored it or not, so its record may be redelivered or not.
    """

    counts: dict[Place, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The delivery counts of each record, in order."""
    values: dict[Place, bytes] = field(default_factory=dict)
    finished: dict[Place, AcknowledgeType] = field(default_factory=dict)
    """Records whose ACCEPT or REJECT the broker confirmed."""
    released: set[Place] = field(default_factory=set)
    """Records whose RELEASE the broker confirmed."""
    unknown: set[Place] = field(default_factory=set)
    """Records whose last acknowledgement was cut off."""
    revived: list[Place] = field(default_factory=list)
    """Records that came again after their ACCEPT or REJECT was confirmed; there must be none."""
    cut_off: int = 0
    """The number of acknowledgements that were cut off, whatever became of them later."""
    errors: set[str] = field(default_factory=set)
    """Names of the errors that acknowledgements ended with."""
    last_delivery: float = 0.0

    def deliver(self, message: Message) -> Place:
        place = (message.partition() or 0, message.offset() or 0)
        self.counts[place].append(message.delivery_count() or 0)
        self.values[place] = message.value() or b""
        self.unknown.discard(place)
        self.last_delivery = time.monotonic()
        if place in self.finished:
            self.revived.append(place)
        return place

    def confirm(self, place: Place, kind: AcknowledgeType, error: KafkaException | None) -> None:
        if error is not None:
            self.errors.add(error.args[0].name())
            self.unknown.add(place)
            self.cut_off += 1
        elif kind in TERMINAL:
            self.finished[place] = kind
        else:
            self.released.add(place)

    def finished_at_least(self, records: int) -> Callable[[], bool]:
        """Return a condition for `run_until`."""
        return lambda: len(self.finished) >= records

    def settled(self) -> int:
        return len(self.finished) + len(self.unknown - self.finished.keys())


def accept_all(_: Message) -> AcknowledgeType:
    return AcknowledgeType.ACCEPT


def mixed(message: Message) -> AcknowledgeType:
    """Release every fifth and reject every seventh record on first delivery; accept everything else."""
    if (message.delivery_count() or 0) == 1:
        if (message.offset() or 0) % 5 == 0:
            return AcknowledgeType.RELEASE
        if (message.offset() or 0) % 7 == 0:
            return AcknowledgeType.REJECT
    return AcknowledgeType.ACCEPT


class Member:
    """One share consumer. `step` polls, decides, acknowledges and waits for the broker's confirmation."""

    def __init__(self, ledger: Ledger, consumer: ShareConsumer, decide: Decide | None) -> None:
        self.got: set[Place] = set()
        self._ledger = ledger
        self._consumer = consumer
        self._decide = decide  # None: implicit acknowledgement
        self._sent: dict[Place, AcknowledgeType] = {}
        consumer.set_acknowledgement_commit_callback(self._answered)

    def step(self, timeout_s: float = 0.2) -> int:
        messages = [message for message in self._consumer.poll(timeout_s) if message.error() is None]
        for message in messages:
            place = self._ledger.deliver(message)
            self.got.add(place)
            kind = AcknowledgeType.ACCEPT if self._decide is None else self._decide(message)
            if kind is not None:
                self._sent[place] = kind
            if kind is not None and self._decide is not None:
                self._consumer.acknowledge(message, kind)
        if messages:
            self._consumer.commit_sync(20.0)
        return len(messages)

    def close(self) -> None:
        self._consumer.close()

    def _answered(self, offsets: Mapping[TopicPartition, Collection[int]], error: KafkaException | None) -> None:
        for where, numbers in offsets.items():
            for offset in numbers:
                place = (where.partition, offset)
                if place in self._sent:  # the client itself acknowledges offsets without a record, as gaps
                    self._ledger.confirm(place, self._sent[place], error)


@contextmanager
def members(
    bootstrap: str,
    group: str,
    topic: str,
    ledger: Ledger,
    *,
    count: int = 1,
    decide: Decide | None = accept_all,
    poll_records: int = 500,
) -> Iterator[Sequence[Member]]:
    """Yield share consumers of one group; close them at the end. `decide` None: implicit acknowledgement."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "max.poll.records": poll_records,
        "share.acknowledgement.mode": "implicit" if decide is None else "explicit",
        "reconnect.backoff.max.ms": 250,
        "socket.timeout.ms": 10_000,  # bounds how long `close` waits for an answer that a kill cut off
        **QUIET,
    }
    with ExitStack() as stack:
        joined = []
        for _ in range(count):
            member = Member(ledger, ShareConsumer(settings), decide)
            stack.callback(member.close)
            member._consumer.subscribe([topic])
            joined.append(member)
        yield joined


def run_until(joined: Sequence[Member], done: Callable[[], bool], timeout_s: float = 60) -> None:
    """Run the members in turn until `done`; AssertionError after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, f"not done after {timeout_s} s"
        for member in joined:
            member.step(0.05)


def run_until_settled(joined: Sequence[Member], ledger: Ledger, records: int, quiet_s: float = 1.0) -> None:
    """Run until every record's outcome is confirmed or unknown, and nothing has come for `quiet_s`."""
    run_until(
        joined,
        lambda: ledger.settled() >= records and time.monotonic() - ledger.last_delivery > quiet_s,
        timeout_s=90,
    )
