"""The data folder of a stopped broker of Apache Kafka, opened only for reading."""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, parse_offsets, parse_partition_metadata
from shareq.broker.log.segments.files import PARTITION_METADATA_FILE
from shareq.broker.log.segments.segment import LOG_SUFFIX, offset_of_file
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.neighbour.kafka_records import KafkaMetadata, KafkaTopic, UnreadableMetadata
from shareq.broker.maintenance.os_files import ReadOnlyFs
from shareq.broker.metadata.topic_names import name_error
from shareq.protocol.names import CLUSTER_METADATA
from shareq.protocol.primitives import uuid_from_text, uuid_to_text

META_FILE: Final = "meta.properties"
_LOCK_FILE: Final = ".lock"
_SNAPSHOT: Final = re.compile(r"([0-9]{20})-[0-9]{10}\.checkpoint")
_PARTITION: Final = re.compile(r"(.+)-([0-9]+)")
_UNFINISHED: Final = (".cleaned", ".swap")
_SHOWN: Final = 3
_LOCKED: Final = (errno.EACCES, errno.EAGAIN)


class SourceLog(NamedTuple):
    """The log of one partition: its folder's name, and its segments' base offsets in order."""

    topic: KafkaTopic
    partition: int
    name: str
    bases: tuple[int, ...]


class KafkaFolder:
    """The content of a Kafka data folder. Raise MaintenanceError if it is not one, or cannot be imported.

    `left_out` are lines about content that is not imported.
    """

    def __init__(self, path: str) -> None:
        self.path: Final = path
        self.cluster_id: Final = _cluster_id(path)
        self.metadata: Final = _read_metadata(f"{path}/{CLUSTER_METADATA}-0")
        self.logs: Final = self._find_logs()
        known = {log.name for log in self.logs} | {f"{CLUSTER_METADATA}-0"}
        self.left_out: Final = [
            f"{name}: a folder of no partition of a topic"
            for name in sorted(os.listdir(path))
            if name not in known and _PARTITION.match(name) and os.path.isdir(f"{path}/{name}")
        ]
        if self.metadata.not_taken:
            self.left_out.append(f"metadata: {', '.join(sorted(self.metadata.not_taken))}")

    def log_starts(self) -> dict[tuple[str, int], int]:
        """Return the start offsets to which deletions have moved logs. Raise MaintenanceError."""
        path = f"{self.path}/{LOG_START_FILE}"
        try:
            with open(path, "rb") as file:
                starts = parse_offsets(file.read())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise MaintenanceError(f"{path}: {error}") from error
        taken = {(log.topic.name, log.partition) for log in self.logs}
        return {key: offset for key, offset in starts.items() if key in taken}

    def _find_logs(self) -> list[SourceLog]:
        logs: list[SourceLog] = []
        problems: list[str] = []
        for name, topic in sorted(self.metadata.named().items()):
            if problem := name_error(name):
                raise MaintenanceError(f"{self.path}: {problem}")
            if self.metadata.configs.get(("topic", name), {}).get("remote.storage.enable") == "true":
                problems.append(f"{name}: part of it is in remote storage")
            if topic.partitions != set(range(len(topic.partitions))) or not topic.partitions:
                problems.append(f"{name}: its partitions are not numbered from 0 on")
                continue
            for partition in sorted(topic.partitions):
                try:
                    logs.append(_log_of(self.path, topic, partition))
                except ValueError as error:
                    problems.append(f"{name}-{partition}: {error}")
        if problems:
            more = f", and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
            raise MaintenanceError(f"{self.path}: not all of it can be taken: {'; '.join(problems[:_SHOWN])}{more}")
        return logs


@contextmanager
def while_stopped(path: str) -> Iterator[None]:
    """Keep Kafka's brokers out inside this block. No file is created. Raise MaintenanceError if a broker uses the
    folder.
    """
    try:
        fd = os.open(f"{path}/{_LOCK_FILE}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # Java's FileLock is one of these
        yield
    except OSError as error:
        if error.errno not in _LOCKED:
            raise
        raise MaintenanceError(f"{path}: a broker is using it; stop it first", usage=True) from error
    finally:
        os.close(fd)


def properties_of(fs: Fs, path: str) -> dict[str, str]:
    """Return the properties in the folder's `meta.properties`. Raise MaintenanceError if there is none."""
    found = f"{path}/{META_FILE}"
    try:
        text = fs.read_bytes(found).decode("latin-1")
    except OSError as error:
        problem = f"{path}: no data folder of Apache Kafka: {META_FILE}: {error.strerror}"
        raise MaintenanceError(problem, usage=True) from error
    lines = [line.strip().partition("=") for line in text.splitlines() if "=" in line]
    return {name.strip(): value.strip() for name, _, value in lines}


def _cluster_id(path: str) -> str:
    given, found = properties_of(ReadOnlyFs(), path), f"{path}/{META_FILE}"
    cluster_id = given.get("cluster.id", "")
    try:
        uuid_from_text(cluster_id)
    except ValueError:
        raise MaintenanceError(f"{found}: no cluster.id of a KRaft cluster in it", usage=True) from None
    if given.get("version") != "1":
        raise MaintenanceError(f"{found}: version {given.get('version')}, and 1 is read", usage=True)
    return cluster_id


def _read_metadata(folder: str) -> KafkaMetadata:
    """Return the metadata in the newest snapshot and the log behind it. Raise MaintenanceError."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        text = f"{folder}: {error.strerror}; the metadata has to be in the data folder (metadata.log.dir)"
        raise MaintenanceError(text, usage=True) from error
    metadata = KafkaMetadata()
    snapshots = [match for match in map(_SNAPSHOT.fullmatch, names) if match]
    start = int(snapshots[-1][1]) if snapshots else 0
    segments = [name for name in names if offset_of_file(name, LOG_SUFFIX) is not None]
    if not snapshots and (not segments or offset_of_file(segments[0], LOG_SUFFIX) != 0):
        raise MaintenanceError(f"{folder}: neither a snapshot nor the beginning of the log is in it")
    files = [(snapshots[-1][0], 0)] if snapshots else []
    for name, from_offset in [*files, *((name, start) for name in segments)]:
        with open(f"{folder}/{name}", "rb") as file:
            data = file.read()
        try:
            metadata.apply(data, from_offset)
        except UnreadableMetadata as error:
            raise MaintenanceError(f"{folder}/{name}: cannot be read: {error}") from error
    return metadata


def _log_of(path: str, topic: KafkaTopic, partition: int) -> SourceLog:
    """Return the log of a partition. Raise ValueError, with the reason, if it cannot be imported."""
    name = f"{topic.name}-{partition}"
    folder = f"{path}/{name}"
    if os.path.islink(folder) or not os.path.isdir(folder):
        raise ValueError("it has no folder here; it is on another broker, or in another folder of log.dirs")
    try:
        with open(f"{folder}/{PARTITION_METADATA_FILE}", "rb") as file:
            topic_id = parse_partition_metadata(file.read())
    except FileNotFoundError:
        raise ValueError(f"it has no {PARTITION_METADATA_FILE}") from None
    if topic_id != topic.topic_id:
        raise ValueError(f"its folder is of the topic of id {uuid_to_text(topic_id)}")
    names = os.listdir(folder)
    if unfinished := [each for each in names if each.endswith(_UNFINISHED)]:
        raise ValueError(f"{unfinished[0]} shows that its broker was killed; start that once more, and stop it")
    bases = sorted(base for each in names if (base := offset_of_file(each, LOG_SUFFIX)) is not None)
    return SourceLog(topic, partition, name, tuple(bases))
