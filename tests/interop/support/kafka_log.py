"""A partition that Apache Kafka has written, with everything a transactional producer can do; and its files."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from confluent_kafka import Message, Producer

from devtools.clients.admin import QUIET
from devtools.clients.requests import create_topic
from devtools.clients.wire import WireClient
from shareq.protocol.primitives import uuid_to_text
from tests.interop.support.broker_under_test import BrokerUnderTest

LOG_FILES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
_TXN_ENTRY = struct.Struct(">hqqqq")


class AbortedEntry(NamedTuple):
    """The entry of a `.txnindex` for one transaction. Offsets inclusive."""

    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(slots=True)
class Written:
    """Values by offset: plain records, and those of committed, aborted and open transactions."""

    plain: dict[int, bytes] = field(default_factory=dict)
    committed: dict[int, bytes] = field(default_factory=dict)
    aborted: dict[int, bytes] = field(default_factory=dict)
    open: dict[int, bytes] = field(default_factory=dict)

    @property
    def stable_end(self) -> int:
        """The first offset of the first open transaction."""
        return min(self.open)

    def committed_values(self) -> dict[int, bytes]:
        visible = {**self.plain, **self.committed}
        return {offset: visible[offset] for offset in sorted(visible) if offset < self.stable_end}

    def all_values(self) -> dict[int, bytes]:
        values = {**self.plain, **self.committed, **self.aborted, **self.open}
        return {offset: values[offset] for offset in sorted(values)}


class Transactional:
    """One producer of partition 0, transactional with an id of its own, or plain without."""

    def __init__(self, bootstrap: str, topic: str, name: str | None, compression: str = "none") -> None:
        settings: dict[str, str | int] = {"bootstrap.servers": bootstrap, "linger.ms": 1, **QUIET}
        settings["compression.type"] = compression
        if name is not None:
            # What stays open has to stay so until Apache Kafka has reported it, on a slow machine, too.
            settings |= {"transactional.id": name, "transaction.timeout.ms": 600_000}
        self._topic = topic
        self._producer = Producer(settings)
        self._sent: dict[int, bytes] = {}
        if name is not None:
            self._producer.init_transactions(30)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, *values: bytes) -> None:
        """Write one batch, if the client makes one of the values, and wait for the broker."""
        failures: list[object] = []

        def reported(error: object, message: Message) -> None:
            if error:
                failures.append(error)
            else:
                offset, value = message.offset(), message.value()
                assert offset is not None
                assert value is not None
                self._sent[offset] = value

        for value in values:
            self._producer.produce(self._topic, value, partition=0, on_delivery=reported)
        left = self._producer.flush(30)
        assert not left, f"{left} records were not confirmed"
        assert not failures, failures

    def commit(self, into: dict[int, bytes]) -> None:
        self._producer.commit_transaction(30)
        self.leave(into)

    def abort(self, into: dict[int, bytes]) -> None:
        self._producer.abort_transaction(30)
        self.leave(into)

    def leave(self, into: dict[int, bytes]) -> None:
        """Add what was written since the last time to `into`; the transaction is unchanged."""
        into.update(self._sent)
        self._sent.clear()


@contextmanager
def written_by_kafka(bootstrap: str, topic: str) -> Iterator[Written]:
    """Write transactions one after another and interleaved, across segments of 1 MiB, compressed and not.

    One transaction stays open: producers live until the end, so that it is not aborted.
    """
    names = ["one", "two", "three", "four"]
    one, two, three, four = (
        Transactional(bootstrap, topic, f"{topic}-{name}", compression)
        for name, compression in zip(names, ("none", "lz4", "zstd", "gzip"), strict=True)
    )
    plain = Transactional(bootstrap, topic, None)
    written = Written()

    chance = Random(1)

    def values(kind: str, count: int, size: int = 4) -> list[bytes]:
        return [f"{kind} {number}: {chance.randbytes(size // 2).hex()}".encode() for number in range(count)]

    plain.write(*values("plain-first", 10))
    for round_ in range(3):  # one after another
        one.begin()
        one.write(*values(f"committed-{round_}", 7))
        one.commit(written.committed)
        two.begin()
        two.write(*values(f"aborted-{round_}", 5))
        two.abort(written.aborted)
        plain.write(*values(f"plain-{round_}", 3))
    for producer in (one, two, three):  # interleaved
        producer.begin()
    for round_ in range(4):
        for number, producer in enumerate((one, two, three)):
            producer.write(*values(f"interleaved-{number}-{round_}", 1 + (round_ + number) % 3))
        plain.write(*values(f"plain-between-{round_}", 2))
    two.abort(written.aborted)
    one.write(*values("interleaved-late", 2))
    three.commit(written.committed)
    one.abort(written.aborted)
    four.begin()  # through several segments
    four.write(*values("large-aborted", 4))
    for round_ in range(6):
        three.begin()
        three.write(*values(f"large-committed-{round_}", 45, 10_000))
        four.write(*values(f"large-aborted-{round_}", 3, 9_000))
        three.commit(written.committed)
        plain.write(*values(f"large-plain-{round_}", 30, 10_000))
        two.begin()
        two.write(*values(f"large-aborted-short-{round_}", 20, 5_000))
        two.abort(written.aborted)
    four.abort(written.aborted)
    one.begin()  # without a record here
    one.abort(written.aborted)
    plain.write(*values("plain-stable", 4))
    one.begin()  # and what never ends
    one.write(*values("open", 3))
    two.begin()
    two.write(*values("committed-behind", 3))
    two.commit(written.committed)
    three.begin()
    three.write(*values("aborted-behind", 3))
    three.abort(written.aborted)
    plain.write(*values("plain-behind", 5))
    one.leave(written.open)
    plain.leave(written.plain)
    yield written


def partition_folder(broker: BrokerUnderTest, topic: str) -> Path:
    return broker.data_dir / f"{topic}-0"


def txn_index(folder: Path) -> dict[str, list[AbortedEntry]]:
    files = {file.name: file.read_bytes() for file in sorted(folder.glob("*.txnindex"))}
    return {
        name: [AbortedEntry(*fields) for fields in _TXN_ENTRY.iter_unpack(data)] for name, data in files.items() if data
    }


def take_over(kafkas: Path, ours: BrokerUnderTest, topic: str, without: Sequence[str] = ()) -> None:
    """Start `ours`, after a stop, with a topic whose partition 0 has the files of `kafkas` without those suffixes."""
    ours.start()
    with WireClient(("127.0.0.1", ours.port)) as client:
        topic_id = create_topic(client, topic)
    ours.stop()
    folder = partition_folder(ours, topic)
    folder.mkdir()
    for file in kafkas.iterdir():
        if file.suffix in LOG_FILES and file.suffix not in without:
            shutil.copyfile(file, folder / file.name)
    shutil.copyfile(kafkas / "leader-epoch-checkpoint", folder / "leader-epoch-checkpoint")
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_to_text(topic_id)}\n")
