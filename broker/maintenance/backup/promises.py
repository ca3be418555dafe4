"""Files about its logs that a backup adds: their start offsets, and a manifest. The data folder's files are only
read.

A restore syncs every file. So the manifest of a backup promises each log up to the end of its copy, and names no
boot of a machine: a broker on the restored folder treats unreadable bytes below that end as damage, not as an
incomplete write. Nothing is promised for a log that was damaged when it was copied: it is not certain where its copy
should end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from shareq.broker.log.opening.start_files import later_starts, starts_in
from shareq.broker.log.promises.checkpoints import LOG_START_FILE, parse_offsets
from shareq.broker.log.promises.manifest import NO_SEGMENT, UNKNOWN_CHAIN, LogRow, Manifest, chain_of, parse_manifest
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.maintenance.errors import MaintenanceError

TopicPartition = tuple[str, int]


class CopiedLog(NamedTuple):
    """One log of a backup: the base offsets of its segments, the offset where the copy ends (exclusive), and True if
    it is sound.

    `whole` is False if a segment still has the name of one that the cleaner has not committed.
    """

    topic_id: bytes
    bases: Sequence[int]
    end: int
    sound: bool
    whole: bool


def read_manifest(data_dir: str) -> Manifest | None:
    """Return the data folder's manifest; None if it is missing or unreadable. Raise OSError."""
    try:
        with open(f"{data_dir}/{MANIFEST_FILE}", "rb") as file:
            return parse_manifest(file.read())
    except FileNotFoundError:
        return None


def read_log_starts(data_dir: str) -> dict[TopicPartition, int]:
    """Return the start offsets of logs from the two files that have them, as a start does.

    Raise MaintenanceError if neither can be believed, and OSError.
    """
    manifest = read_manifest(data_dir)
    starts = starts_in(manifest)
    path = f"{data_dir}/{LOG_START_FILE}"
    try:
        with open(path, "rb") as file:
            written = parse_offsets(file.read())
    except FileNotFoundError:
        return starts
    except ValueError as error:
        if manifest is not None and manifest.is_whole:
            return starts
        raise MaintenanceError(f"{path}: {error}; repair the folder first: shareq verify --repair") from error
    return later_starts(written, starts)


def copied_rows(
    logs: Mapping[TopicPartition, CopiedLog], starts: Mapping[TopicPartition, int], source: Manifest | None
) -> dict[TopicPartition, LogRow]:
    """Return the manifest's rows of the logs in the backup. `source` has the promises from before the copies were
    made.
    """
    rows: dict[TopicPartition, LogRow] = {}
    for key, log in logs.items():
        if not log.sound:
            continue
        start, end = starts.get(key, 0), log.end
        row = _row_of(source, key, log.topic_id)
        if row is None:
            start = max(start, log.bases[0])
        else:
            end = max(end, row.synced)
        chain = chain_of(log.bases) if log.whole else UNKNOWN_CHAIN
        rows[key] = LogRow(log.topic_id, start, log.bases[-1], end, chain)
    return rows


def missed_rows(
    source: Manifest | None, found: Collection[TopicPartition], ids: Mapping[str, bytes]
) -> dict[TopicPartition, LogRow]:
    """Return the rows of existing topics' logs that once had a folder and have none now."""
    return {
        key: row
        for key, row in (source.rows.items() if source is not None else ())
        if key not in found and ids.get(key[0]) == row.topic_id and row.active != NO_SEGMENT
    }


def _row_of(source: Manifest | None, key: TopicPartition, topic_id: bytes) -> LogRow | None:
    row = source.rows.get(key) if source is not None else None
    return row if row is not None and row.topic_id == topic_id else None
