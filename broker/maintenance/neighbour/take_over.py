"""A data folder of ours with the logs of an Apache Kafka data folder: topics by name and id, and the groups and
offsets in its logs.

The `.log` files are copied without incomplete writes at their end; the next start creates the other files. The
manifest promises each log up to the end of its copy. The marker of a data folder is written last.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from shareq.broker.config.group_config import GROUP_KEYS
from shareq.broker.config.topic_config import TOPIC_KEYS
from shareq.broker.data_folder.comparison import CLUSTER_ID
from shareq.broker.data_folder.digest import digest_of
from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, format_offsets, format_partition_metadata
from shareq.broker.log.promises.manifest import snapshot
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import PARTITION_METADATA_FILE
from shareq.broker.log.segments.segment import LOG_SUFFIX, BatchWalk, file_name, valid_batch_after
from shareq.broker.maintenance.backup.metadata import CopiedMetadata
from shareq.broker.maintenance.backup.promises import CopiedLog, copied_rows
from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.maintenance.making import making, refuse_unless_free, write_durably
from shareq.broker.maintenance.neighbour.kafka_folder import KafkaFolder, SourceLog, while_stopped
from shareq.broker.maintenance.progress import Progress
from shareq.broker.maintenance.verify.segments import chunks
from shareq.broker.metadata.changes import MetaState, PutConfig, PutMeta, PutTopic, ResourceName, TopicRow
from shareq.broker.metadata.topic_names import INTERNAL_TOPICS
from shareq.protocol.config_def import ConfigDef, ConfigError

_NEXT_PRODUCER_ID: Final = "producer.id.next"
_KEYS: Final[dict[str, ConfigDef]] = {"topic": TOPIC_KEYS, "group": GROUP_KEYS}


@dataclass(frozen=True, slots=True)
class TakenOver:
    """The bytes and logs that were copied. `left_out` are lines about content that was not copied."""

    cluster_id: str
    topics: int
    logs: int
    size: int
    left_out: list[str]


def take_over(fs: Fs, source: str, data_dir: str, progress: Progress) -> TakenOver:
    """Create `data_dir`, which must be missing, empty or unfinished, from the folder of a stopped broker.

    `fs` is that of `data_dir`. Raise MaintenanceError, OSError.
    """
    inside = os.path.realpath(data_dir).startswith(f"{os.path.realpath(source)}/")
    if inside or os.path.realpath(data_dir) == os.path.realpath(source):
        raise MaintenanceError(f"{data_dir}: must be another folder than {source}, and not in it", usage=True)
    refuse_unless_free(fs, data_dir)
    with while_stopped(source):
        folder = KafkaFolder(source)
        left_out = list(folder.left_out)
        state = _state_of(folder, left_out)
        starts = folder.log_starts()
        size = sum(os.path.getsize(path) for log in folder.logs for path in _segments(source, log))
        progress.expect(len(folder.logs), size)
        again = ["shareq", "import-logs", os.path.abspath(source), os.path.abspath(data_dir)]
        with making(fs, data_dir, again):
            _make(fs, folder, data_dir, state, starts, progress)
    return TakenOver(folder.cluster_id, len(folder.metadata.topics), len(folder.logs), size, left_out)


def _state_of(folder: KafkaFolder, left_out: list[str]) -> MetaState:
    state, metadata = MetaState(), folder.metadata
    state.apply(PutMeta(CLUSTER_ID, folder.cluster_id))
    state.apply(PutMeta(_NEXT_PRODUCER_ID, str(metadata.next_producer_id)))
    for name, topic in metadata.named().items():
        state.apply(PutTopic(TopicRow(name, topic.topic_id, len(topic.partitions), name in INTERNAL_TOPICS)))
    for (kind, name), properties in sorted(metadata.configs.items()):
        for key, text in sorted(properties.items()):
            try:
                _check(_KEYS[kind], key, text)
            except ConfigError as error:
                left_out.append(f"{kind} {name}: property {key}: {error}")
            else:
                state.apply(PutConfig(ResourceName(kind, name), key, text))
    return state


def _check(keys: ConfigDef, key: str, text: str) -> None:
    if key not in keys:
        raise ConfigError(key, text, "there is none of this name here")
    keys[key].parse(text)


def _make(
    fs: Fs,
    folder: KafkaFolder,
    data_dir: str,
    state: MetaState,
    starts: dict[tuple[str, int], int],
    progress: Progress,
) -> None:
    copies: dict[tuple[str, int], CopiedLog] = {}
    for log in folder.logs:
        copies[log.topic.name, log.partition] = _copy(fs, folder.path, log, f"{data_dir}/{log.name}", progress)
        progress.item_done()
    write_durably(fs, f"{data_dir}/{LOG_START_FILE}", [format_offsets(starts)])
    write_durably(fs, f"{data_dir}/{MANIFEST_FILE}", [snapshot("", copied_rows(copies, starts, None))])
    fs.sync_dir(data_dir)
    copied = CopiedMetadata(folder.cluster_id, state, 1, digest_of(state))
    for name, content in copied.files().items():  # in their order, each durable before the next
        write_durably(fs, f"{data_dir}/{name}", [content])
        fs.sync_dir(data_dir)


def _copy(fs: Fs, source: str, log: SourceLog, target: str, progress: Progress) -> CopiedLog:
    fs.make_dirs(target)
    write_durably(fs, f"{target}/{PARTITION_METADATA_FILE}", [format_partition_metadata(log.topic.topic_id)])
    bases = log.bases or (0,)
    end, sound = bases[-1], True
    for base, path in zip(bases, _segments(source, log), strict=False):
        size = os.path.getsize(path)
        if base == bases[-1]:
            size, end, sound = _sound_prefix(path, base, size)
        _copy_segment(fs, path, size, f"{target}/{os.path.basename(path)}", progress)
    if not log.bases:
        write_durably(fs, f"{target}/{file_name(0, LOG_SUFFIX)}", [])
    fs.sync_dir(target)
    return CopiedLog(log.topic.topic_id, bases, end, sound, whole=True)


def _sound_prefix(path: str, base: int, size: int) -> tuple[int, int, bool]:
    """Return for a log's last segment the bytes to copy, the offset behind them, and whether they are sound."""
    with open(path, "rb", buffering=0) as file:

        def read_at(position: int, count: int) -> bytes:
            return os.pread(file.fileno(), count, position)

        walk = BatchWalk(read_at, size, next_offset=base)
        for _ in walk:
            pass
        if walk.fault is None:
            return size, walk.next_offset, True
        torn = valid_batch_after(read_at, size, walk.position, walk.next_offset) is None
    return (walk.position, walk.next_offset, True) if torn else (size, walk.next_offset, False)


def _segments(source: str, log: SourceLog) -> list[str]:
    return [f"{source}/{log.name}/{file_name(base, LOG_SUFFIX)}" for base in log.bases]


def _copy_segment(fs: Fs, path: str, size: int, target: str, progress: Progress) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)

    def read_at(position: int, count: int) -> bytes:
        chunk = os.pread(fd, count, position)
        progress.bytes_done(len(chunk))
        return chunk

    try:
        write_durably(fs, target, chunks(read_at, 0, size))
    finally:
        os.close(fd)
