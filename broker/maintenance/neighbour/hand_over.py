"""The transfer of our logs into a folder that Apache Kafka's tool has formatted: topics by name and id, groups and
their offsets.

Kafka's controller reads its first metadata from a checkpoint that the tool writes: `bootstrap.checkpoint`, or from
4.4 on the first snapshot of `__cluster_metadata`. The records of our topics are added behind those of the tool, as
the last step.

Until then `meta.properties`, without which Kafka does not start, has another name; it gets its own name back when
everything is on stable storage. An unfinished folder is first restored to the state in which the tool left it, and
then filled.
"""

from __future__ import annotations

import os
import struct
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, format_partition_metadata
from shareq.broker.log.segments.files import PARTITION_METADATA_FILE
from shareq.broker.log.segments.segment import LOG_SUFFIX, file_name, offset_of_file
from shareq.broker.maintenance.backup.metadata import copy_metadata
from shareq.broker.maintenance.backup.promises import read_log_starts
from shareq.broker.maintenance.backup.source import partition_of
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.making import remove_folder, write_durably
from shareq.broker.maintenance.neighbour.kafka_folder import META_FILE, properties_of, while_stopped
from shareq.broker.maintenance.neighbour.kafka_records import KafkaMetadata, UnreadableMetadata
from shareq.broker.maintenance.os_files import lock_for_maintenance
from shareq.broker.metadata.changes import MetaState
from shareq.protocol.primitives import uvarint
from shareq.protocol.records.batch import RecordData, batch_headers, build_batch

BOOTSTRAP_FILE: Final = "bootstrap.checkpoint"
FIRST_SNAPSHOT: Final = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
ELIGIBLE_REPLICAS: Final = "eligible.leader.replicas.version"
FORMATTED_SUFFIX: Final = ".formatted"  # the checkpoint as the tool has left it
UNFINISHED_META_FILE: Final = f"{META_FILE}.unfinished"
_KINDS: Final = {"topic": 2, "group": 32}
_BATCH_RECORDS: Final = 1_000
_CHUNK_BYTES: Final = 1 << 20
_NO_LEADER: Final = -1  # the first one is elected when the broker is there


class HandedOver(NamedTuple):
    """The numbers of topics and logs handed over."""

    topics: int
    logs: int


def hand_over(fs: Fs, data_dir: str, kafka: str) -> HandedOver:
    """Fill `kafka`, which was formatted and not started. `fs` is that of `kafka`.

    Raise MaintenanceError. Raise OSError, after which Kafka does not start on the folder, and another call begins
    again.
    """
    with lock_for_maintenance(data_dir), while_stopped(kafka):
        found = copy_metadata(data_dir)
        _undo_unfinished(fs, kafka)
        checkpoint, node = _check_formatted(fs, kafka, found.cluster_id)
        starts = read_log_starts(data_dir)
        fs.rename(f"{kafka}/{META_FILE}", f"{kafka}/{UNFINISHED_META_FILE}")
        fs.sync_dir(kafka)
        epochs = _copy_logs(fs, data_dir, kafka, found.state)
        lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in sorted(starts.items())]
        write_durably(fs, f"{kafka}/{LOG_START_FILE}", [f"0\n{len(lines)}\n{''.join(lines)}".encode()])
        fs.sync_dir(kafka)
        _add_records(fs, checkpoint, _records(found.state, node, epochs))
        fs.rename(f"{kafka}/{UNFINISHED_META_FILE}", f"{kafka}/{META_FILE}")
        fs.sync_dir(kafka)
        fs.remove(f"{checkpoint}{FORMATTED_SUFFIX}")
    return HandedOver(len(found.topics), len(epochs))


def _undo_unfinished(fs: Fs, kafka: str) -> None:
    """Restore a half-filled folder to the state in which the tool left it. Raise OSError."""
    if not fs.is_file(f"{kafka}/{UNFINISHED_META_FILE}") or fs.exists(f"{kafka}/{META_FILE}"):
        return
    for path in (f"{kafka}/{BOOTSTRAP_FILE}", f"{kafka}/{FIRST_SNAPSHOT}"):
        if fs.is_file(f"{path}{FORMATTED_SUFFIX}"):
            fs.rename(f"{path}{FORMATTED_SUFFIX}", path)
            fs.sync_dir(os.path.dirname(path))
        for half_written in (f"{path}.tmp", f"{path}{FORMATTED_SUFFIX}.tmp"):
            _remove(fs, half_written)
    for name in fs.list_dir(kafka):
        if partition_of(name) is not None and name != os.path.dirname(FIRST_SNAPSHOT):
            remove_folder(fs, f"{kafka}/{name}")
    _remove(fs, f"{kafka}/{LOG_START_FILE}")
    fs.sync_dir(kafka)
    fs.rename(f"{kafka}/{UNFINISHED_META_FILE}", f"{kafka}/{META_FILE}")
    fs.sync_dir(kafka)


def _check_formatted(fs: Fs, kafka: str, cluster_id: str) -> tuple[str, int]:
    """Return the path of the tool's checkpoint, and the node's id.

    Raise MaintenanceError, with the command that formats the folder correctly.
    """
    command = (
        f"kafka-storage.sh format --cluster-id={cluster_id} --feature share.version=0 "
        f"--feature {ELIGIBLE_REPLICAS}=0 -c server.properties"
    )
    checkpoint = _checkpoint_of(fs, kafka)
    if checkpoint is None:
        text = f"{kafka}: must be a folder (log.dirs) that was formatted and not started: `{command}`"
        raise MaintenanceError(text, usage=True)
    given = properties_of(fs, kafka)
    if given.get("cluster.id") != cluster_id:
        raise MaintenanceError(
            f"{kafka}: is of cluster {given.get('cluster.id')}; format it with `{command}`", usage=True
        )
    metadata = KafkaMetadata()
    try:
        metadata.apply(fs.read_bytes(checkpoint))
    except UnreadableMetadata as error:
        raise MaintenanceError(f"{checkpoint}: cannot be read: {error}") from error
    if metadata.features.get(ELIGIBLE_REPLICAS, 0):
        text = f"{kafka}: with {ELIGIBLE_REPLICAS} above 0 no partition would get a leader; format it with `{command}`"
        raise MaintenanceError(text, usage=True)
    return checkpoint, int(given["node.id"])


def _checkpoint_of(fs: Fs, kafka: str) -> str | None:
    """Return the file in which the tool has written the first metadata; None if the folder is not as the tool leaves
    it.
    """
    names = set(fs.list_dir(kafka)) - {"lost+found", ".lock"} if fs.is_folder(kafka) else set()
    folder, snapshot = os.path.split(FIRST_SNAPSHOT)
    if names == {META_FILE, BOOTSTRAP_FILE}:
        return f"{kafka}/{BOOTSTRAP_FILE}"
    if names == {META_FILE, folder} and fs.list_dir(f"{kafka}/{folder}") == [snapshot]:
        return f"{kafka}/{FIRST_SNAPSHOT}"
    return None


def _copy_logs(fs: Fs, data_dir: str, kafka: str, state: MetaState) -> dict[tuple[str, int], int]:
    """Copy each log. Return the leader epochs of their newest batches."""
    epochs: dict[tuple[str, int], int] = {}
    for topic in state.topics.values():
        for partition in range(topic.partitions):
            source, target = (f"{folder}/{topic.name}-{partition}" for folder in (data_dir, kafka))
            fs.make_dirs(target)
            write_durably(fs, f"{target}/{PARTITION_METADATA_FILE}", [format_partition_metadata(topic.topic_id)])
            names = os.listdir(source) if os.path.isdir(source) else []
            bases = sorted(base for name in names if (base := offset_of_file(name, LOG_SUFFIX)) is not None)
            paths = [f"{source}/{file_name(base, LOG_SUFFIX)}" for base in bases]
            for path in paths:
                with open(path, "rb", buffering=0) as file:
                    write_durably(fs, f"{target}/{os.path.basename(path)}", iter(lambda: file.read(_CHUNK_BYTES), b""))
            fs.sync_dir(target)
            epochs[topic.name, partition] = max((_last_epoch(path) for path in paths[-2:]), default=0)
    return epochs


def _last_epoch(path: str) -> int:
    with open(path, "rb") as file:
        return max((header.leader_epoch for _, header in batch_headers(file.read())), default=0)


def _records(state: MetaState, node: int, epochs: dict[tuple[str, int], int]) -> list[bytes]:
    records: list[bytes] = []
    only_node = b"\x02" + struct.pack(">i", node)
    for topic in state.topics.values():
        records.append(b"\x01\x02\x00" + _text(topic.name) + topic.topic_id + b"\0")
        for partition in range(topic.partitions):
            leader = struct.pack(">iii", _NO_LEADER, max(epochs[topic.name, partition], 0), 0)
            replicas = only_node * 2 + b"\x01\x01"  # replicas, in sync; none removed, none added
            place = struct.pack(">i", partition) + topic.topic_id
            records.append(b"\x01\x03\x00" + place + replicas + leader + b"\0")
    for resource, properties in state.configs.items():
        if resource.kind in _KINDS:
            for key, value in properties.items():
                kind = bytes((_KINDS[resource.kind],))
                records.append(b"\x01\x04\x00" + kind + _text(resource.name) + _text(key) + _text(value) + b"\0")
    return records


def _add_records(fs: Fs, path: str, records: list[bytes]) -> None:
    """Insert the records before the snapshot's last batch, which marks it as complete.

    The old snapshot is kept beside it.
    """
    data = fs.read_bytes(path)
    *_, (end_at, end) = batch_headers(data)
    batches, offset = bytearray(data[:end_at]), end.base_offset
    for at in range(0, len(records), _BATCH_RECORDS):
        part = [RecordData(None, value) for value in records[at : at + _BATCH_RECORDS]]
        batches += build_batch(part, timestamp_ms=end.max_timestamp, base_offset=offset, leader_epoch=0)
        offset += len(part)
    last = bytearray(data[end_at:])
    struct.pack_into(">q", last, 0, offset)
    fs.write_atomic(f"{path}{FORMATTED_SUFFIX}", data, sync=True)
    fs.write_atomic(path, bytes(batches + last), sync=True)


def _text(value: str) -> bytes:
    data = value.encode()
    return uvarint(len(data) + 1) + data


def _remove(fs: Fs, path: str) -> None:
    if fs.is_file(path):
        fs.remove(path)
