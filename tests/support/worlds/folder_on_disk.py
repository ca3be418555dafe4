"""A data folder built in memory with every kind of file, two or three segments a log, to damage and check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.data_folder.comparison import CLUSTER_ID, DIGEST, NUMBER
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.kept_twice import look_at_records, open_records
from shareq.broker.data_folder.marker import MARKER_FILE, Marker, format_marker
from shareq.broker.foundation.environment import Environment
from shareq.broker.log.manager import LogManager
from shareq.broker.log.producer_state import ProducerStates
from shareq.broker.log.promises.checkpoints import format_epochs, format_partition_metadata
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE, LogEnd, format_clean_stop
from shareq.broker.log.promises.manifest import LogRow, chain_of, snapshot
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE
from shareq.broker.log.segments.index import SegmentMap
from shareq.broker.log.segments.index_checksums import CHECKSUMS_SUFFIX, format_checksums
from shareq.broker.log.segments.segment import INDEX_SUFFIX, LOG_SUFFIX, SNAPSHOT_SUFFIX, TIME_INDEX_SUFFIX, file_name
from shareq.broker.log.segments.txn_index import TXN_INDEX_SUFFIX, entries_to_bytes
from shareq.broker.log.settings import LogSettings
from shareq.broker.maintenance.verify.metadata import Topics
from shareq.broker.metadata.changes import PutMeta, PutTopic, TopicRow
from shareq.coordinator.share.keys import SharePartitionKey
from shareq.coordinator.share.records import SHARE_STATE_SERDE, tombstone
from shareq.protocol.names import SHARE_GROUP_STATE
from shareq.protocol.records.batch import RecordData, build_batch, read_header
from shareq.protocol.records.checksum import crc32c
from shareq.protocol.records.control import build_end_transaction_marker
from tests.support.fakes.memory_record import MemoryRecord
from tests.support.worlds.log_world import read_all

DATA: Final = "data"
CLUSTER: Final = "AAAAAAAAAAAAAAAAAAAAAQ"
TIME_MS: Final = 1_700_000_000_000
ORDERS, PAYMENTS, STATE = b"o" * 16, b"p" * 16, b"s" * 16


def plain(offset: int, count: int = 3, size: int = 40) -> bytearray:
    records = [RecordData(b"key", b"%d" % (offset + n) * size) for n in range(count)]
    return build_batch(records, timestamp_ms=TIME_MS + offset, base_offset=offset, leader_epoch=0)


def written_by(producer_id: int, offset: int, sequence: int) -> bytearray:
    return build_batch(
        [RecordData(None, b"in a transaction")],
        timestamp_ms=TIME_MS + offset,
        base_offset=offset,
        leader_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def marker(producer_id: int, offset: int, *, commit: bool) -> bytearray:
    batch = bytearray(
        build_end_transaction_marker(
            commit=commit,
            producer_id=producer_id,
            producer_epoch=0,
            coordinator_epoch=0,
            timestamp_ms=TIME_MS + offset,
        )
    )
    batch[:8] = offset.to_bytes(8, "big")
    batch[12:16] = bytes(4)
    return batch


def key_of_state(partition: int) -> SharePartitionKey:
    return SharePartitionKey("g", ORDERS, partition)


def forgotten(partition: int, offset: int | None = None) -> bytearray:
    """Return a share coordinator's batch that deletes a share partition's state; `offset` overrides its place."""
    offset = partition if offset is None else offset
    key, value = SHARE_STATE_SERDE.encode(tombstone(key_of_state(partition)))
    return build_batch([RecordData(key, value)], timestamp_ms=TIME_MS, base_offset=offset, leader_epoch=0)


class FolderOnDisk:
    def __init__(self) -> None:
        self.fs = MemFs(lambda call: call())
        self.db = MemoryMetaDb()
        self.fs.make_dirs(DATA)
        self.fs.write_atomic(f"{DATA}/{MARKER_FILE}", format_marker(Marker(CLUSTER, used=True)))
        metadata = open_records(self.record(), self.journal(), look_at_records(self.record(), self.journal()))
        topics = [("orders", ORDERS, 1, False), ("payments", PAYMENTS, 1, False), (SHARE_GROUP_STATE, STATE, 1, True)]
        metadata.commit([PutMeta(CLUSTER_ID, CLUSTER), *(PutTopic(TopicRow(*topic)) for topic in topics)])
        metadata.close()
        assert digest_of(self.db.load())
        self.log("orders-0", ORDERS, [[plain(0), plain(3), plain(6)], [plain(9), plain(12)], [plain(15), plain(18)]])
        first = [written_by(7, 0, 0), written_by(8, 1, 0), marker(7, 2, commit=True), marker(8, 3, commit=False)]
        self.log("payments-0", PAYMENTS, [first, [written_by(7, 4, 1), marker(7, 5, commit=True)]])
        self.log(f"{SHARE_GROUP_STATE}-0", STATE, [[forgotten(0), forgotten(1)], [forgotten(2), forgotten(3)]])
        self.rows: dict[tuple[str, int], LogRow] = {
            ("orders", 0): LogRow(ORDERS, 0, 15, 15, chain_of([0, 9, 15])),
            ("payments", 0): LogRow(PAYMENTS, 0, 4, 4, chain_of([0, 4])),
            (SHARE_GROUP_STATE, 0): LogRow(STATE, 0, 2, 2, chain_of([0, 2])),
        }
        self.promise()

    def promise(self, rows: Mapping[tuple[str, int], LogRow] | None = None, *, boot_id: str | None = None) -> None:
        """Set the manifest; by default to its first content and the current boot."""
        boot_id = self.fs.boot_id() if boot_id is None else boot_id
        self.write(MANIFEST_FILE, snapshot(boot_id, {**self.rows, **(rows or {})}))

    def stop(self) -> None:
        ends = {("orders", 0): (21, 15), ("payments", 0): (6, 4), (SHARE_GROUP_STATE, 0): (4, 2)}
        self.promise({key: self.rows[key]._replace(synced=end) for key, (end, _) in ends.items()})
        logs = {
            key: LogEnd(end, base, len(self.content(f"{key[0]}-{key[1]}/{file_name(base, LOG_SUFFIX)}")))
            for key, (end, base) in ends.items()
        }
        self.write(CLEAN_SHUTDOWN_FILE, format_clean_stop(logs))

    def record(self) -> MemoryRecord:
        return MemoryRecord(self.db)

    def journal(self) -> JournalFile:
        return JournalFile(self.fs, DATA)

    def log(self, name: str, topic_id: bytes, segments: Sequence[Sequence[bytearray]]) -> None:
        """Add a partition's folder; every segment but the last has index files."""
        folder = f"{DATA}/{name}"
        self.fs.make_dirs(folder)
        self.write(f"{name}/{PARTITION_METADATA_FILE}", format_partition_metadata(topic_id))
        self.write(f"{name}/{LEADER_EPOCH_FILE}", format_epochs([(0, 0)]))
        producers = ProducerStates()
        for at, batches in enumerate(segments):
            base = read_header(batches[0]).base_offset
            self.write(f"{name}/{file_name(base, LOG_SUFFIX)}", b"".join(batches))
            segment_map = SegmentMap(base, 100)
            position = end = 0
            for batch in batches:
                header = read_header(batch)
                segment_map.add(header.last_offset, position, header.size, header.newest_timestamp)
                if header.producer_id >= 0:
                    producers.replay(header, lambda batch=batch: bytes(batch))  # type: ignore[misc]
                position += header.size
                end = header.next_offset
            if at == len(segments) - 1:
                continue
            segment_map.finish_times()
            self.write(f"{name}/{file_name(base, INDEX_SUFFIX)}", segment_map.offsets.to_bytes())
            self.write(f"{name}/{file_name(base, TIME_INDEX_SUFFIX)}", segment_map.times.to_bytes())
            aborted = producers.aborted.ending_in(base, end)
            if aborted:
                self.write(f"{name}/{file_name(base, TXN_INDEX_SUFFIX)}", entries_to_bytes(aborted))
            checksums = {
                suffix: crc32c(self.content(f"{name}/{file_name(base, suffix)}"))
                for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX, *([TXN_INDEX_SUFFIX] if aborted else []))
            }
            self.write(f"{name}/{file_name(base, CHECKSUMS_SUFFIX)}", format_checksums(checksums))
            self.write(f"{name}/{file_name(end, SNAPSHOT_SUFFIX)}", producers.to_snapshot())

    def start(self) -> int:
        """Open all logs and read all readable records, as a broker does; return their number."""
        clock = VirtualClock()
        env = Environment(clock, Random(1), self.fs)
        topics = Topics(self.db.load())
        logs = LogManager(env, DATA, lambda topic: LogSettings(compact=topic == SHARE_GROUP_STATE))
        logs.open_all(topics)
        try:
            return sum(len(read_all(logs.get(row.name, 0))) for row in topics.state.topics.values())
        finally:
            logs.close(clean=False)

    def end_of(self, topic: str) -> int:
        logs = LogManager(Environment(VirtualClock(), Random(1), self.fs), DATA, lambda _topic: LogSettings())
        logs.open_all(Topics(self.db.load()))
        try:
            return logs.get(topic, 0).log_end_offset
        finally:
            logs.close(clean=False)

    def forget_commits(self) -> None:
        """Rewrite the metadata as format 1, which does not count commits."""
        state = self.db.load()
        for key in (NUMBER, DIGEST):
            state.meta.pop(key, None)
        self.db.clear()
        self.db.commit(list(state.rows()))

    def write(self, path: str, content: bytes) -> None:
        self.fs.write_atomic(f"{DATA}/{path}", content)

    def content(self, path: str) -> bytearray:
        return self.fs.content(f"{DATA}/{path}")

    def paths(self) -> list[str]:
        return [path.removeprefix(f"{DATA}/") for path in self.fs.paths() if path.startswith(f"{DATA}/")]
