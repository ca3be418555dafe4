"""Folders of partitions in a data folder: whose they are, and how those of deleted topics go.

DATA/<topic>-<partition>/              see `files`
DATA/<topic>-<partition>.<hex>-delete  of a deleted topic; removed soon, at the latest by the next start
DATA/<topic>-<partition>.<hex>-stray   of no topic that metadata knows; set aside at a start, never touched again
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Final

from shareq.broker.environment import Environment
from shareq.broker.log.checkpoints import parse_epochs, parse_partition_metadata
from shareq.broker.log.files import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE
from shareq.coordinator.ports import MetadataImage, TopicImage

__all__ = ["STRAY_SUFFIX", "DamagedFolderError", "PartitionFolders", "TopicPartition"]

logger = logging.getLogger(__name__)

DELETE_SUFFIX: Final = "-delete"
STRAY_SUFFIX: Final = "-stray"
MAX_NAME_BYTES: Final = 255

_PARTITION_FOLDER: Final = re.compile(r"([a-zA-Z0-9._-]+)-(0|[1-9][0-9]{0,9})")

TopicPartition = tuple[str, int]


class DamagedFolderError(Exception):
    """A folder does not tell which topic its records belong to. Names the file; the broker does not start."""


class PartitionFolders:
    """The folders of partitions in `data_dir`, by name. Runs on the loop's thread. Methods raise OSError."""

    def __init__(self, env: Environment, data_dir: str) -> None:
        self._env = env
        self._fs = env.fs
        self._data_dir = data_dir

    def path(self, name: str) -> str:
        return f"{self._data_dir}/{name}"

    def partitions(self) -> Iterator[tuple[str, TopicPartition]]:
        """Every folder that is named like a partition's, and that partition. Those of deleted topics are removed."""
        for name in self._fs.list_dir(self._data_dir):
            if name.endswith(DELETE_SUFFIX):
                self._fs.remove_tree(self.path(name))
                continue
            match = _PARTITION_FOLDER.fullmatch(name)
            if match is not None:
                yield name, (match[1], int(match[2]))

    def topic_of(self, name: str, key: TopicPartition, metadata: MetadataImage) -> TopicImage | None:
        """The topic whose records are in the folder. None when there is no such topic: the folder is gone then.

        DamagedFolderError when the folder does not tell whose it is.
        """
        topic, partition = key
        folder = self.path(name)
        try:
            names = self._fs.list_dir(folder)
        except NotADirectoryError:
            return None
        image = metadata.topic(topic)
        has_log = any(".log" in other for other in names)  # one that is on its way in or out counts, too
        found = self._topic_id_in(folder, name, has_log) if PARTITION_METADATA_FILE in names else None
        if image is not None and partition < image.partitions and found == image.topic_id:
            return image
        if not has_log:  # a folder of a first append that was cut off
            self._fs.remove_tree(folder)
        else:
            self._set_aside(name)
        return None

    def leader_epoch(self, name: str) -> int:
        """The last leader epoch that the folder tells of; 0 without any."""
        try:
            epochs = parse_epochs(self._fs.read_bytes(f"{self.path(name)}/{LEADER_EPOCH_FILE}"))
        except (FileNotFoundError, ValueError):
            return 0
        return epochs[-1][0] if epochs else 0

    def make_way(self, name: str) -> None:
        """Before a log gets that folder: there is none of a deleted topic in its place."""
        if self._fs.exists(self.path(name)):  # its rename failed
            self._set_aside(name)

    def retire(self, name: str) -> None:
        """Take a deleted topic's folder out of the way, and remove it in a later tick. Failing is logged."""
        if not self._fs.exists(self.path(name)):
            return
        gone = self.path(self._renamed(name, DELETE_SUFFIX))
        try:
            self._fs.rename(self.path(name), gone)
        except OSError as error:
            logger.error("%s: not renamed, set aside when the name is used again: %s", self.path(name), error)
            return
        self._env.clock.call_soon(lambda: self._remove(gone))

    def _topic_id_in(self, folder: str, name: str, has_log: bool) -> bytes | None:
        """Whose records these are. DamagedFolderError when the file does not say: they may be a live topic's."""
        path = f"{folder}/{PARTITION_METADATA_FILE}"
        try:
            return parse_partition_metadata(self._fs.read_bytes(path))
        except ValueError as error:
            if not has_log:
                return None
            raise DamagedFolderError(
                f"{path}: {error}. Not starting, because the records of {name} may belong to a topic that exists. "
                f"Restore the file, or rename the folder to give them up."
            ) from error

    def _set_aside(self, name: str) -> None:
        aside = self._renamed(name, STRAY_SUFFIX)
        logger.warning("%s: belongs to no topic of this cluster, set aside as %s", self.path(name), aside)
        self._fs.rename(self.path(name), self.path(aside))

    def _remove(self, path: str) -> None:
        try:
            self._fs.remove_tree(path)
        except OSError as error:
            logger.warning("%s: not removed, the next start tries again: %s", path, error)

    def _renamed(self, name: str, suffix: str) -> str:
        """A name of its own for a folder that is on its way out; never too long for a file system."""
        suffix = f".{self._env.random_uuid().hex()}{suffix}"
        return name[: MAX_NAME_BYTES - len(suffix)] + suffix
