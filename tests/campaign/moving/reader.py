"""A member of a consumer group that moves:

    python -m tests.campaign.moving.reader CLIENT BOOTSTRAP GROUP TOPIC JOURNAL PACE

CLIENT is `librdkafka` or `kafka-python`, which commit the offsets that they have read, or `checkpoint`, which keeps its
offsets in a file `offsets` beside PACE, as Spark's Kafka source does in its checkpoint, and starts from these. The
journal, PACE, SIGTERM and SIGALRM are as in `member.py`: committed records count as accepted. kafka-python 3.0.12
sometimes waits for a task that its input/output thread has not noticed.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka import KafkaConsumer
from kafka.errors import KafkaError

from devtools.clients.admin import QUIET
from tests.campaign.moving.member import COMMITS_EACH_S, HANGS_S, Journal

MOST: Final = 500
WAIT_S: Final = 0.2
CALL_S: Final = 10.0
ACCEPT: Final = 1


class Read(NamedTuple):
    partition: int
    offset: int
    row: int


class _Client(Protocol):
    """A consumer. `commit` confirms that all records up to these offsets are done; it raises an error if the broker
    does not confirm that.
    """

    def read(self) -> list[Read]: ...

    def commit(self, done: Sequence[Read]) -> None: ...

    def close(self) -> None: ...


class _Librdkafka:
    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **QUIET,
            }
        )
        self._consumer.subscribe([topic])

    def read(self) -> list[Read]:
        return [
            Read(each.partition() or 0, each.offset() or 0, int(each.key() or b""))
            for each in self._consumer.consume(MOST, WAIT_S)
            if each.error() is None
        ]

    def commit(self, done: Sequence[Read]) -> None:
        ends = [TopicPartition(self._topic, partition, offset) for partition, offset in _ends(done).items()]
        for each in self._consumer.commit(offsets=ends, asynchronous=False) or ():
            if each.error is not None:
                raise KafkaException(each.error)

    def close(self) -> None:
        self._consumer.close()


class _KafkaPython:
    def __init__(self, bootstrap: str, group: str, topic: str) -> None:
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=MOST,
        )

    def read(self) -> list[Read]:
        found = self._consumer.poll(timeout_ms=int(WAIT_S * 1000))
        return [Read(each.partition, each.offset, int(each.key)) for some in found.values() for each in some]

    def commit(self, done: Sequence[Read]) -> None:
        from kafka.structs import OffsetAndMetadata
        from kafka.structs import TopicPartition as Partition

        (topic,) = self._consumer.subscription()
        ends = _ends(done)
        self._consumer.commit({Partition(topic, each): OffsetAndMetadata(ends[each], "", -1) for each in ends})

    def close(self) -> None:
        self._consumer.close(autocommit=False)


class _Checkpoint:
    """A consumer without group membership, whose offsets are in a file."""

    def __init__(self, bootstrap: str, group: str, topic: str, file: Path) -> None:
        self._file = file
        self._offsets = read_offsets(file)
        settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, **QUIET}
        self._consumer = Consumer({**settings, "auto.offset.reset": "error", "isolation.level": "read_committed"})
        self._consumer.assign([TopicPartition(topic, each, at) for each, at in self._offsets.items()])

    def read(self) -> list[Read]:
        found: list[Read] = []
        for each in self._consumer.consume(MOST, WAIT_S):
            if (error := each.error()) is not None:
                raise KafkaException(error)
            found.append(Read(each.partition() or 0, each.offset() or 0, int(each.key() or b"")))
        return found

    def commit(self, done: Sequence[Read]) -> None:
        self._offsets.update(_ends(done))
        write_offsets(self._file, self._offsets)

    def close(self) -> None:
        self._consumer.close()


def read_offsets(file: Path) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in json.loads(file.read_text()).items()}


def write_offsets(file: Path, offsets: Mapping[int, int]) -> None:
    whole = file.with_suffix(".new")
    whole.write_text(json.dumps(offsets))
    whole.replace(file)


def _ends(done: Sequence[Read]) -> dict[int, int]:
    """Return the offset after the last record of each partition."""
    found: dict[int, int] = {}
    for each in done:
        found[each.partition] = max(each.offset + 1, found.get(each.partition, 0))
    return found


def main(kind: str, bootstrap: str, group: str, topic: str, path: str, pace: str) -> None:
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    client: _Client
    match kind:
        case "librdkafka":
            client = _Librdkafka(bootstrap, group, topic)
        case "kafka-python":
            client = _KafkaPython(bootstrap, group, topic)
        case _:
            client = _Checkpoint(bootstrap, group, topic, Path(pace).with_name("offsets"))
    with open(path, "w") as file:
        journal = Journal(file)
        while not stopping:
            signal.alarm(HANGS_S)
            records = client.read()
            if records:
                _work(client, records, journal, Path(pace), stopping)
        signal.alarm(HANGS_S)
        client.close()


def _work(client: _Client, records: list[Read], journal: Journal, pace: Path, stopping: Collection[int]) -> None:
    """Work on all records that were read, unless the process stops: the client would not return the rest again."""
    journal.write({"got": [[*each, 1, ACCEPT] for each in records]})
    begin = 0
    while begin < len(records) and not stopping:
        signal.alarm(HANGS_S)
        rate = float(pace.read_text())
        some = records[begin : begin + max(int(rate * COMMITS_EACH_S), 1)] if rate else records[begin:]
        if rate:
            time.sleep(len(some) / rate)
        places = [[each.partition, each.offset] for each in some]
        journal.write({"sent": places})
        try:
            client.commit(some)
        except KafkaException as error:
            journal.write({"acked": places, "error": error.args[0].name()})
        except KafkaError as error:
            journal.write({"acked": places, "error": f"_{type(error).__name__}"})
        else:
            journal.write({"acked": places, "error": None})
        begin += len(some)


if __name__ == "__main__":
    main(*sys.argv[1:])
