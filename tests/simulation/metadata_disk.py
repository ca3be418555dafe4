"""The disk of a world's metadata: marker and journal beside the database in memory, any of which may be lost.

It is separate from the logs' disk, so that its faults do not change a seed's events. If the records agree, a start must
recover everything, whichever one was lost or damaged.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Final

from devtools.in_memory.mem_fs import CrashModel, MemFs
from devtools.in_memory.memory_meta_db import MemoryMetaDb
from devtools.in_memory.virtual_clock import VirtualClock
from shareq.broker.data_folder.comparison import Verdict
from shareq.broker.data_folder.journal import JournalFile
from shareq.broker.data_folder.journal_format import JOURNAL_FILE
from shareq.broker.data_folder.kept_twice import look_at_records
from shareq.broker.data_folder.marker import MARKER_FILE
from shareq.broker.data_folder.opening import DataFolder, open_data_folder
from shareq.broker.data_folder.ownership import look_at_folder
from shareq.broker.foundation.environment import Environment
from shareq.protocol.primitives import uuid_to_text
from tests.simulation.ledger import InvariantBroken
from tests.support.fakes.memory_record import MemoryRecord

DATA: Final = "metadata"


class MetadataDisk:
    """The metadata's disk. `db` is the world's; `seen` counts events."""

    def __init__(self, clock: VirtualClock, db: MemoryMetaDb, seen: Counter[str], seed: int) -> None:
        self._fs = MemFs(clock.call_soon, Random(seed))
        self._rng = Random(seed + 1)
        self._db = db
        self._seen = seen
        self._folder: DataFolder | None = None

    def open(self, env: Environment) -> DataFolder:
        """Damage something and open the rest; InvariantBroken if the content differs."""
        before = self._damage()
        record = MemoryRecord(self._db)
        self._folder = open_data_folder(self._fs, DATA, record, lambda: uuid_to_text(env.random_uuid()))
        if before is not None and self._db.load() != before:
            raise InvariantBroken("metadata is not what it was before one record of it was damaged")
        verdict = look_at_records(record, JournalFile(self._fs, DATA)).verdict
        if verdict not in (Verdict.AGREE, Verdict.NOTHING_THERE):
            raise InvariantBroken(f"after a start on metadata: {verdict.value}")
        return self._folder

    def close(self) -> None:
        if self._folder is not None:
            self._folder.release_lock()

    def crash(self, model: CrashModel, rng: Random) -> None:
        self._fs.crash(model, rng)

    def _damage(self) -> object:
        """Damage one metadata record or none, if that is safe. Return the database's content before the damage, or
        None.
        """
        journal = f"{DATA}/{JOURNAL_FILE}"
        planned = self._db.before_commit or self._db.after_commit
        if planned or not self._fs.exists(journal):
            return None
        if look_at_records(MemoryRecord(self._db), JournalFile(self._fs, DATA)).verdict is not Verdict.AGREE:
            self._seen["starts with the journal behind"] += 1
            return None
        if look_at_folder(self._fs, DATA).marker is None:  # lost with the power; the start rebuilds it
            return None
        before = self._db.load()
        what = self._rng.choice(("nothing", "database", "journal", "marker"))
        if what == "database":
            self._db.clear()
        elif what != "nothing":
            self._damage_file(journal if what == "journal" else f"{DATA}/{MARKER_FILE}")
        self._seen[f"starts without the {what} of metadata"] += what != "nothing"
        return before

    def _damage_file(self, path: str) -> None:
        content = self._fs.content(path)
        position = self._rng.randrange(len(content))
        how = self._rng.choice(("lost", "cut", "flipped", "zeroed"))
        if how == "lost":
            self._fs.remove(path)
        elif how == "cut":
            del content[position:]
        elif how == "flipped":
            content[position] ^= 1 << self._rng.randrange(8)
        else:
            content[position : position + 512] = bytes(len(content[position : position + 512]))
