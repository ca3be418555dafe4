"""The metadata of a data folder for a backup: read without disturbing the broker, as files that a start takes.

The metadata is read after the ends of the logs were. It may then know a topic that is newer than the logs, or not know
one any more whose folder was copied. Both are states a crash can leave: a topic is created there before its folders
appear, and deleted there before anything else of it goes. Producer ids that logs have seen were taken there before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from shareq.broker.maintenance.errors import MaintenanceError
from shareq.broker.meta_db import TopicRow

__all__ = ["CopiedMetadata", "copy_metadata"]

_META_DB: Final = "meta.db"
_CLUSTER_ID: Final = "cluster.id"


@dataclass(frozen=True, slots=True)
class CopiedMetadata:
    """The metadata of one moment. `files`: contents by path, in the order in which a restore makes them."""

    cluster_id: str
    topics: Mapping[str, TopicRow]
    files: Mapping[str, bytes]

    @property
    def topic_ids(self) -> set[bytes]:
        return {topic.topic_id for topic in self.topics.values()}


def copy_metadata(data_dir: str) -> CopiedMetadata:
    """What has been committed up to now. MaintenanceError when the folder has no metadata that can be read."""
    path = f"{data_dir}/{_META_DB}"
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(":memory:")) as copy,
        ):
            source.backup(copy)
            topics = {
                name: TopicRow(name, bytes(topic_id), partitions, bool(internal))
                for name, topic_id, partitions, internal in copy.execute(
                    "SELECT name, topic_id, partitions, internal FROM topics"
                )
            }
            ((cluster_id,),) = copy.execute("SELECT value FROM meta WHERE key = ?", (_CLUSTER_ID,))
            content = copy.serialize()
    except (sqlite3.Error, ValueError) as error:
        raise MaintenanceError(f"{path}: the metadata cannot be read: {error}") from error
    return CopiedMetadata(str(cluster_id), topics, {_META_DB: content})
