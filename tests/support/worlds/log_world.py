"""A log manager on a disk in memory and virtual time, which can crash and restart."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.cleaner.schedule import CleanerSettings, Cleaning
from shareq.broker.log.cleaner.survivors import Rule, latest_value
from shareq.broker.log.manager import LogManager
from shareq.broker.log.partition_log import AppendInfo, OnDurable, Origin, PartitionLog
from shareq.broker.log.segments.reader import ReadResult
from shareq.broker.log.settings import LogSettings
from shareq.coordinator.ports import TopicImage
from shareq.protocol.errors import ErrorCode
from shareq.protocol.records.batch import Record, RecordData, build_batch, decode_records

DATA: Final = "data"
TOPIC: Final = "orders"
TOPIC_ID: Final = bytes(range(16))


@dataclass(slots=True)
class Topics:
    images: dict[str, TopicImage]
    deleted: dict[bytes, TopicImage] = field(default_factory=dict)

    def topic(self, name: str) -> TopicImage | None:
        return self.images.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        return next((image for image in self.images.values() if image.topic_id == topic_id), None)

    def deleted_topics(self) -> list[TopicImage]:
        return list(self.deleted.values())

    def folders_are_gone(self, topic_ids: Collection[bytes]) -> None:
        for topic_id in topic_ids:
            self.deleted.pop(topic_id, None)

    def delete(self, name: str) -> None:
        image = self.images.pop(name)
        self.deleted[image.topic_id] = image


class LogWorld:
    """One data folder through any number of starts.

    `settings`, `flush_every_message` and `cleaner` may change at any time; `rule` is the cleaner's.
    """

    def __init__(
        self,
        settings: LogSettings | None = None,
        *,
        flush_every_message: bool = False,
        seed: int = 0,
        rule: Rule = latest_value,
    ) -> None:
        self.rng = Random(seed)
        self.clock = VirtualClock()
        self.fs = MemFs(self.clock.call_soon, Random(seed + 1))
        self.env = Environment(self.clock, Random(seed + 2), self.fs)
        self.settings = settings or LogSettings()
        self.flush_every_message = flush_every_message
        self.cleaner = CleanerSettings()
        self.rule = rule
        self.topics = Topics({TOPIC: TopicImage(TOPIC, TOPIC_ID, 3)})
        self._of_dead_processes: list[LogManager] = []
        self.logs = self.start()

    def start(self, *, from_format_1: bool = False) -> LogManager:
        self.logs = LogManager(
            self.env,
            DATA,
            lambda _topic: self.settings,
            lambda: self.flush_every_message,
            cleaning=Cleaning(lambda: self.cleaner, lambda _topic: self.rule),
            from_format_1=from_format_1,
        )
        self.logs.open_all(self.topics)
        return self.logs

    def restart(self, *, clean: bool = True) -> LogManager:
        """Close and start again; without `clean` as after kill -9."""
        if clean:
            self.logs.close(clean=True)
            assert self.fs.open_files == 0
            self.clock.drop_everything()
        else:
            self.crash(CrashModel.PROCESS_KILL)
        return self.start()

    def crash(self, model: CrashModel) -> None:
        # A coroutine of a dead process runs no `finally`; one that is collected later would, on the next one's files.
        self._of_dead_processes.append(self.logs)
        self.clock.drop_everything()
        self.fs.crash(model, self.rng)

    @property
    def log(self) -> PartitionLog:
        return self.logs.get(TOPIC, 0)

    def tick(self) -> None:
        self.clock.run_until_idle()

    def append(self, batch: bytes | bytearray, on_durable: OnDurable | None = None) -> AppendInfo | ErrorCode:
        return self.log.append(batch, origin=Origin.CLIENT, now_wall_ms=self.clock.wall_ms(), on_durable=on_durable)

    def delete_records(self, before: int, partition: int = 0) -> ErrorCode:
        """Move the log start to `before`, as DeleteRecords does; -1 is the high watermark."""
        log = self.logs.get(TOPIC, partition)
        return self.logs.truncate_prefixes({log: before})[log]

    def produce(self, *values: bytes, timestamp_ms: int | None = None) -> AppendInfo:
        info = self.append(
            batch_of(*values, timestamp_ms=self.clock.wall_ms() if timestamp_ms is None else timestamp_ms)
        )
        assert isinstance(info, AppendInfo), info
        self.tick()
        return info


def batch_of(
    *values: bytes,
    timestamp_ms: int = 1_700_000_000_000,
    key: bytes | None = b"k",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> bytearray:
    return build_batch(
        [RecordData(key, value) for value in values],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )


def read_all(log: PartitionLog, start: int | None = None, max_bytes: int = 1 << 20) -> list[Record]:
    offset = log.log_start_offset if start is None else start
    records: list[Record] = []
    while offset < log.high_watermark:
        result = log.read(offset, max_bytes, upto=log.high_watermark)
        assert isinstance(result, ReadResult), (result, offset)
        assert result.batches, f"nothing at {offset} of {log}"
        for span in result.batches:
            batch = result.records[span.position : span.position + span.size]
            records += [record for record in decode_records(batch) if record.offset >= offset]
        offset = result.batches[-1].last_offset + 1
    return records


def values_of(records: Sequence[Record]) -> list[bytes | None]:
    return [record.value for record in records]
