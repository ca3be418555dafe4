"""Names of files and folders that are not on stable storage yet. No append to such a file is answered before they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shareq.broker.foundation.environment import Fs
from shareq.broker.log.promises.checkpoints import format_epochs, format_partition_metadata
from shareq.broker.log.promises.manifest_file import MANIFEST_FILE
from shareq.broker.log.segments.files import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE


class NewNames(NamedTuple):
    """Paths of files to be synced, and of the folders that got new names, in the order in which they are synced."""

    files: Sequence[str]
    folders: Sequence[str]

    def and_(self, other: NewNames) -> NewNames:
        """Return both sets of names, each path once."""
        return NewNames(
            list(dict.fromkeys([*self.files, *other.files])), list(dict.fromkeys([*self.folders, *other.folders]))
        )


def create_folder(fs: Fs, folder: str, topic_id: bytes, leader_epoch: int, log_start_offset: int) -> NewNames:
    """Create a partition's folder, with the files that have its topic and leader epoch. Raise OSError."""
    fs.make_dirs(folder)
    paths = [f"{folder}/{PARTITION_METADATA_FILE}", f"{folder}/{LEADER_EPOCH_FILE}"]
    contents = [format_partition_metadata(topic_id), format_epochs([(leader_epoch, log_start_offset)])]
    for path, content in zip(paths, contents, strict=True):
        fs.write_atomic(path, content)
    return names_of(folder)


def names_of(folder: str) -> NewNames:
    """Return the names to sync in a partition's folder, and the folder itself."""
    data_dir = folder.rpartition("/")[0]
    paths = [f"{folder}/{PARTITION_METADATA_FILE}", f"{folder}/{LEADER_EPOCH_FILE}", f"{data_dir}/{MANIFEST_FILE}"]
    return NewNames(paths, [folder, data_dir])


def segment_names(folder: str) -> NewNames:
    """Return the names to sync for a new segment: the manifest, which has its line, and the partition's folder."""
    return NewNames([f"{folder.rpartition('/')[0]}/{MANIFEST_FILE}"], [folder])
