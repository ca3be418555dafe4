"""Helpers for tests: topics, groups, writing and reading records, and the outcome of deliveries.

All use Kafka's protocol as any client does, except that a share group's counts come from the broker directly.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from shareq.protocol.names import (
    AUTO_OFFSET_RESET,
    DELIVERY_COUNT_LIMIT,
    DLQ_COPY_RECORD,
    DLQ_GROUP,
    DLQ_GROUP_ENABLE,
    DLQ_TOPIC_NAME,
    RECORD_LOCK_DURATION_MS,
)
from shareq.testing.failure import BrokerFailed
from shareq.testing.waiting import wait_until

if TYPE_CHECKING:
    from shareq.client.admin.calls import Partition
    from shareq.client.admin.client import Admin
    from shareq.client.network import Network
    from shareq.client.producer import Producer, Written

T = TypeVar("T")
WAIT_S: Final = 10.0
_MOST: Final = 20
_GROUP: Final = "group"
CLIENT_ID: Final = "shareq-testing"
_numbers = count(1)

Text = str | bytes
Headers = Mapping[str, Text | None]


class Record(NamedTuple):
    """A record of a topic. `timestamp_ms` is since the epoch; of several headers with one name, the last counts."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes | None]

    @property
    def text(self) -> str:
        """The value as UTF-8."""
        return (self.value or b"").decode()


class GroupCounts(NamedTuple):
    """Counts of what a share group did with records of a topic since the broker started.

    `dead`: given up after the last allowed delivery (rejected ones are counted separately); `lock_timeouts`: held until
    the lock ran out.
    """

    accepted: int
    released: int
    rejected: int
    renewed: int
    dead: int
    lock_timeouts: int
    deliveries: int


class Helpers(ABC):
    """The operations of a `Broker` other than starting and stopping. One thread at a time."""

    client_properties: Mapping[str, str] = {}
    """The properties that the helpers' own client needs besides the address, for TLS and SASL, by Kafka's names."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""

    @abstractmethod
    def _call(self, name: str, **arguments: Any) -> Any:
        """Ask the broker directly, without Kafka's protocol."""

    @property
    def _away(self) -> str | None:
        """The reason why the broker is away, if it is known: a client would search for the broker for a minute."""
        return None

    def _check_there(self) -> None:
        if (why := self._away) is not None:
            raise BrokerFailed(why)

    def _close_clients(self) -> None:
        """Close the helpers' connections; the next call opens one again."""
        network = self.__dict__.pop("_open_network", None)
        for name in ("_open_admin", "_producers"):
            self.__dict__.pop(name, None)
        if network is not None:
            network.close()

    @cached_property
    def _producers(self) -> dict[str, Producer]:
        return {}

    @property
    def _network(self) -> Network:
        self._check_there()
        return self._open_network

    @property
    def _admin(self) -> Admin:
        self._check_there()
        return self._open_admin

    @cached_property
    def _open_network(self) -> Network:
        from shareq.client.config import ClientConfig
        from shareq.client.network import Network

        known = {"bootstrap.servers": self.bootstrap, "client.id": CLIENT_ID}
        return Network(ClientConfig.from_properties({**known, **self.client_properties}))

    @cached_property
    def _open_admin(self) -> Admin:
        from shareq.client.admin.client import Admin

        return Admin(self._open_network)

    # -- set up

    def topic(self, name: str | None = None, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Create a topic and return its name, a new one by default. Raises BrokerError, also if the topic exists."""
        from shareq.client.admin.topics import NewTopic

        name = name or f"topic-{next(_numbers)}"
        (created,) = self._admin.topics.create([NewTopic(name, partitions, configs=config or {})]).values()
        if isinstance(created, Exception):
            raise created
        return name

    def share_group(
        self,
        name: str | None = None,
        *,
        earliest: bool = True,
        lock_s: float | None = None,
        deliveries: int | None = None,
        dead_letters: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Configure a share group and return its name, a new one by default. It exists once a member joins.

        `earliest`: it begins with the first record of a topic, not with the next one. `lock_s`: how long members may
        hold records, at least 15 s by the broker's default limits. `deliveries`: how often a record is delivered before
        it is dead. `dead_letters`: the topic for dead records, which is created and gets copies of them; its name
        begins with `dlq.` (errors.deadletterqueue.topic.name.prefix). `config`: more properties of groups.
        """
        from shareq.client.admin.topics import NewTopic

        name = name or f"group-{next(_numbers)}"
        settings = {AUTO_OFFSET_RESET: "earliest" if earliest else "latest"}
        if lock_s is not None:
            settings[RECORD_LOCK_DURATION_MS] = str(round(lock_s * 1000))
        if deliveries is not None:
            settings[DELIVERY_COUNT_LIMIT] = str(deliveries)
        if dead_letters is not None:
            self._check_queue(dead_letters)
            settings |= {DLQ_TOPIC_NAME: dead_letters, DLQ_COPY_RECORD: "true"}
            queue = NewTopic(dead_letters, 1, configs={DLQ_GROUP_ENABLE: "true"})
            (created,) = self._admin.topics.create([queue]).values()
            if isinstance(created, Exception) and "TOPIC_ALREADY_EXISTS" not in str(created):
                raise created
        self.configure_group(name, {**settings, **(config or {})})
        return name

    def _check_queue(self, name: str) -> None:
        """Raise ValueError for a name of a queue that gets no dead letters."""
        prefix = self._admin.redrives.queue_rules().prefix
        if not name.startswith(prefix):
            raise ValueError(f"dead_letters={name!r}: must begin with {prefix!r} ({DLQ_TOPIC_NAME}.prefix)")

    def configure_group(self, name: str, config: Mapping[str, str]) -> None:
        """Set properties of a group. Raises BrokerError."""
        from shareq.client.admin.configs import Change

        self._admin.redrives.check_queue(name, config)
        (changed,) = self._admin.configs.alter({(_GROUP, name): Change(set=dict(config))}).values()
        if isinstance(changed, Exception):
            raise changed

    # -- records

    def produce(
        self,
        topic: str,
        *values: Text | None,
        key: Text | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
    ) -> list[Written]:
        """Write records, durably acknowledged, and return where they are. Raises BrokerError for refused records."""
        from shareq.client.producer import Producer
        from shareq.protocol.records.record_codec import RecordData

        self._check_there()
        pairs = tuple((name, _bytes(value)) for name, value in (headers or {}).items())
        if topic not in self._producers:
            self._producers[topic] = Producer(self._network, topic)
        rows = [RecordData(key=_bytes(key), value=_bytes(value), headers=pairs) for value in values]
        return self._producers[topic].write(rows, round(time.time() * 1000), partition)

    def records(self, topic: str, *, committed_only: bool = False) -> list[Record]:
        """Return all records that a topic has now, by partition and offset.

        With `committed_only`, records of open or aborted transactions are left out.
        """
        from shareq.client.reader import Reader

        starts, ends = self._ranges(topic)
        reader = Reader(self._network, starts, committed_only=committed_only)
        if committed_only:
            ends = self._ends(ends, committed_only=True)
        found: list[Record] = []
        for name, number, record in reader.read_towards({each: ends[each] for each in starts}, 100):
            headers = dict(record.headers)
            found.append(
                Record(
                    topic=name,
                    partition=number,
                    offset=record.offset,
                    timestamp_ms=record.timestamp,
                    key=record.key,
                    value=record.value,
                    headers=headers,
                )
            )
        return sorted(found, key=lambda each: (each.partition, each.offset))

    def _ranges(self, topic: str) -> tuple[dict[Partition, int], dict[Partition, int]]:
        from shareq.client.core.list_offsets import EARLIEST, LATEST

        ids = self._network.topic_ids([topic])
        if topic not in ids:
            raise KeyError(f"there is no topic {topic}")
        partitions = [(topic, number) for number in self._network.partitions(ids[topic])]
        return self._offsets(dict.fromkeys(partitions, EARLIEST)), self._offsets(dict.fromkeys(partitions, LATEST))

    def _ends(self, partitions: Iterable[Partition], *, committed_only: bool) -> dict[Partition, int]:
        from shareq.client.core.list_offsets import LATEST

        return self._offsets(dict.fromkeys(partitions, LATEST), committed_only=committed_only)

    def _offsets(self, times: Mapping[Partition, int], *, committed_only: bool = False) -> dict[Partition, int]:
        found = {}
        for partition, outcome in self._admin.topics.offsets(times, committed_only=committed_only).items():
            if isinstance(outcome, Exception):
                raise outcome
            found[partition] = outcome.offset or 0
        return found

    # -- what became of them

    def group_counts(self, group: str, topic: str) -> GroupCounts:
        """Return a share group's counts for the records of a topic since the broker started."""
        return GroupCounts(**self._call("counts", group=group, topic=topic))

    def undone(self, group: str, topic: str) -> int:
        """Return the number of a topic's records that a share group has not finished: neither accepted nor dead."""
        _, ends = self._ranges(topic)
        ((_, found),) = self._admin.share_groups.offsets([group], {topic: [number for _, number in ends]})
        if isinstance(found, Exception):
            raise found
        undone = 0
        for partition, end in ends.items():
            position = found.get(partition)
            if isinstance(position, Exception):
                raise position
            if position is not None and position.lag is not None:
                undone += position.lag
            else:
                undone += end if position is None or position.start is None else end - position.start
        return undone

    def wait_until(self, condition: Callable[[], T], timeout_s: float = WAIT_S, what: str = "") -> T:
        """Call a function again and again until its result is true, and return the result.

        Raises AssertionError when the time is up.
        """
        return wait_until(condition, timeout_s, what)

    def assert_acknowledged(
        self, group: str, topic: str, records: int | None = None, *, timeout_s: float = WAIT_S
    ) -> None:
        """Wait until a share group has accepted every record of a topic; none may be rejected or dead.

        `records`: the exact number that must have been accepted since the broker started.
        """

        def done() -> bool:
            undone, counts = self.undone(group, topic), self.group_counts(group, topic)
            lost = counts.dead + counts.rejected
            assert undone == 0, f"share group {group} is not done with {undone} records of {topic}; {counts}"
            assert lost == 0, f"share group {group} gave up {lost} records of {topic}; {counts}"
            accepted = counts.accepted
            assert records in (None, accepted), f"share group {group} accepted {accepted} records of {topic}; {counts}"
            return True

        wait_until(done, timeout_s, f"share group {group} has accepted all of {topic}")

    def assert_dead_lettered(
        self, group: str, *values: Text, queue: str | None = None, timeout_s: float = WAIT_S
    ) -> list[Record]:
        """Wait until the dead-letter queue has this group's letters with these values, in any order, and no others;
        return them.

        `queue`: the topic, by default the group's. Without values: at least one letter.
        """
        topic = queue or self._queue_of(group)
        wanted = sorted(_bytes(value) or b"" for value in values)

        def letters() -> list[Record]:
            found = [each for each in self.records(topic) if each.headers.get(DLQ_GROUP) == group.encode()]
            assert found, f"{topic} has no dead letter of share group {group}"
            if wanted:
                values_found = sorted(each.value or b"" for each in found)
                assert values_found == wanted, f"{topic} has {values_found[:_MOST]}, expected {wanted[:_MOST]}"
            return found

        return wait_until(letters, timeout_s, f"dead letters of share group {group} in {topic}")

    def _queue_of(self, group: str) -> str:
        for _, outcome in self._admin.configs.describe([(_GROUP, group)]):
            if isinstance(outcome, Exception):
                raise outcome
            for config in outcome:
                if config.name == DLQ_TOPIC_NAME and config.value:
                    return config.value
        raise ValueError(f"share group {group} has no dead-letter queue: {DLQ_TOPIC_NAME} is not set")


def _bytes(value: Text | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
