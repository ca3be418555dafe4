"""A `MemoryMetaDb` as the first metadata record in a simulation: it is never damaged."""

from __future__ import annotations

from devtools.in_memory.memory_meta_db import MemoryMetaDb
from shareq.broker.data_folder.comparison import Found, found_in_database
from shareq.broker.metadata.changes import MetaDb


class MemoryRecord:
    def __init__(self, db: MemoryMetaDb) -> None:
        self.name = "meta.db"
        self._db = db

    def look(self) -> Found:
        return found_in_database(self._db.load())

    def open(self) -> MetaDb:
        return self._db

    def set_aside(self) -> list[str]:
        self._db.clear()
        return []

    def close(self) -> None:
        pass
