"""The small files that a start reads before any log: how the last run ended, where logs start, and the promises
about each log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from shareq.broker.foundation.environment import Fs
from shareq.broker.foundation.repair_command import repair_command
from shareq.broker.log.folders import DamagedFolderError, TopicPartition
from shareq.broker.log.promises.checkpoints import CLEANER_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, parse_offsets
from shareq.broker.log.promises.clean_shutdown import CLEAN_SHUTDOWN_FILE, CleanStop, LogEnd, parse_clean_stop
from shareq.broker.log.promises.manifest import Manifest
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.promises.promise import Promise

logger = logging.getLogger(__name__)


def starts_in(manifest: Manifest | None) -> dict[TopicPartition, int]:
    """Return the start offsets in the manifest, without logs that start at 0."""
    return {key: row.start for key, row in manifest.rows.items() if row.start > 0} if manifest is not None else {}


def later_starts(
    written: Mapping[TopicPartition, int], known: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return each log's start offset: the later one of that in the checkpoint and that in the manifest."""
    return {key: max(written.get(key, 0), known.get(key, 0)) for key in {**written, **known}}


class StartFiles:
    """The small files of a data folder, read once. `manifest` is None if it is missing or cannot be believed.

    `log_starts_damaged` is True if the checkpoint of start offsets could not be read and must be written again from
    `log_starts`.
    """

    def __init__(self, fs: Fs, data_dir: str, manifest: Manifest | None, *, from_format_1: bool) -> None:
        """Read the files. Raise OSError, or DamagedFolderError if neither the checkpoint nor the manifest can be
        believed about start offsets.
        """
        self._fs = fs
        self._data_dir = data_dir
        self._from_format_1 = from_format_1
        self.manifest = manifest
        self._stop = self._clean_stop()
        self.log_starts_damaged = False
        self.log_starts = self._log_starts()
        self.recovery_points = self._offsets(RECOVERY_POINT_FILE)
        self.clean_until = self._offsets(CLEANER_FILE)

    def plain_end(self, key: TopicPartition) -> LogEnd | None:
        """Return the end of a plain log after a clean stop (see `LogEnd`); None for any other log."""
        return self._stop.plain_end(key) if self._stop is not None and self.manifest is not None else None

    def promise_of(self, key: TopicPartition, topic_id: bytes, *, compacts: bool) -> Promise:
        """Return the promise of a log whose topic has this id."""
        found, clean = self.manifest, self._stop is not None
        row = found.rows.get(key) if found is not None else None
        checked_below = self.recovery_points.get(key, 0)
        gaps = compacts or key in self.clean_until
        if found is None or (not found.is_whole and row is None):
            return Promise(clean=clean, checked_below=checked_below, gaps=gaps)
        same_boot = found.boot_id != "" and found.boot_id == self._fs.boot_id()
        if row is None or row.topic_id != topic_id:  # its first line is not on stable storage yet
            return Promise(
                clean=clean, same_boot=same_boot, synced=checked_below, checked_below=checked_below, gaps=gaps
            )
        return Promise(
            clean=clean,
            same_boot=same_boot,
            synced=max(row.synced, checked_below),
            end=row.synced if clean else None,
            active=row.active,
            checked_below=checked_below,
            gaps=gaps,
            start_is_known=True,
            chain=row.chain,
        )

    def report_lost_starts(self) -> None:
        """Log an error if start offsets may be lost: some may be in the manifest alone, and it is not whole."""
        if not self._manifest_is_whole() and not self._from_format_1:
            path = self._path(LOG_START_FILE)
            if not self._fs.exists(path):
                text = "%s is missing, and %s does not say where all logs begin: deleted records may be back"
                logger.error(text, path, self._path(MANIFEST_FILE))

    def _manifest_is_whole(self) -> bool:
        return self.manifest is not None and self.manifest.is_whole

    def _clean_stop(self) -> CleanStop | None:
        """Read the file of the last stop; return None if that was not clean."""
        path = self._path(CLEAN_SHUTDOWN_FILE)
        try:
            return parse_clean_stop(self._fs.read_bytes(path), from_format_1=self._from_format_1)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            logger.error("%s: not believed, the logs are checked as after a crash: %s", path, error)
            return None

    def _log_starts(self) -> dict[TopicPartition, int]:
        """Read the start offsets, which are kept in two files."""
        starts = starts_in(self.manifest)
        path = self._path(LOG_START_FILE)
        try:
            written = parse_offsets(self._fs.read_bytes(path))
        except FileNotFoundError:
            return starts
        except ValueError as error:
            if not self._manifest_is_whole():
                raise DamagedFolderError(
                    f"{path}: {error}; and {self._path(MANIFEST_FILE)} does not say where all logs begin. Not "
                    f"starting, because deleted records would be back. {repair_command(self._data_dir)} has every log "
                    "begin with its first segment"
                ) from error
            logger.error("%s: %s; taken from %s", path, error, self._path(MANIFEST_FILE))
            self.log_starts_damaged = True
            return starts
        return later_starts(written, starts)

    def _offsets(self, name: str) -> dict[TopicPartition, int]:
        try:
            return parse_offsets(self._fs.read_bytes(self._path(name)))
        except FileNotFoundError:
            return {}
        except ValueError as error:
            logger.warning("%s: ignored: %s", self._path(name), error)
            return {}

    def _path(self, name: str) -> str:
        return f"{self._data_dir}/{name}"
