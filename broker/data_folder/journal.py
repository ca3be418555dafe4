"""`metadata.journal` as a file: read at a start, an append and a sync for each commit, rewritten when it has grown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shareq.broker.data_folder.comparison import Found, found_in_journal
from shareq.broker.data_folder.journal_format import JOURNAL_FILE, format_commit, format_journal, parse_journal
from shareq.broker.foundation.environment import File, Fs
from shareq.broker.metadata.changes import MetaChange, MetaState

__all__ = ["JournalFile"]

SMALL_BYTES: Final = 64 * 1024  # up to there it is never rewritten
GROWTH: Final = 4  # how many times what the whole state takes


class JournalFile:
    """The file in `data_dir`. Methods raise OSError. After one, nothing may be appended before a `rewrite`."""

    def __init__(self, fs: Fs, data_dir: str) -> None:
        self._fs = fs
        self.path = f"{data_dir}/{JOURNAL_FILE}"
        self._file: File | None = None
        self._size = 0
        self._whole_bytes = 0

    def look(self) -> tuple[Found, str]:
        """What is in it, and the cluster id of its first line ("" without one). Changes nothing, raises nothing."""
        try:
            data = self._fs.read_bytes(self.path)
            journal = parse_journal(data)
        except FileNotFoundError:
            return Found(), ""
        except (OSError, ValueError) as error:
            return Found(problem=str(error), damaged=True), ""
        self._size = self._whole_bytes = len(data)
        return found_in_journal(journal), journal.cluster_id

    @property
    def has_grown(self) -> bool:
        """Whether most of it is about what has changed since."""
        return self._size > max(SMALL_BYTES, GROWTH * self._whole_bytes)

    def append(self, changes: Sequence[MetaChange], number: int, digest: int) -> None:
        """Write one commit behind the others, durably."""
        if self._file is None:
            self._file = self._fs.open(self.path)
        lines = format_commit(changes, number, digest)
        self._file.append([lines])
        self._file.sync()
        self._size += len(lines)

    def rewrite(self, cluster_id: str, state: MetaState, number: int, digest: int) -> None:
        """Have nothing but this state in it, durably."""
        self.close()
        data = format_journal(cluster_id, state, number, digest)
        self._fs.write_atomic(self.path, data, sync=True)
        self._size = self._whole_bytes = len(data)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
