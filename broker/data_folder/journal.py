"""`metadata.journal` as a file: it is read at a start, each commit is appended, and it is rewritten when it has
grown.

While an event loop runs, an append is synced off the loop: the database already has the commit on stable storage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from shareq.broker.data_folder.comparison import Found, found_in_journal
from shareq.broker.data_folder.journal_format import JOURNAL_FILE, format_commit, format_journal, parse_journal
from shareq.broker.foundation.environment import File, Fs, SyncErrors
from shareq.broker.metadata.changes import MetaChange, MetaState

SMALL_BYTES: Final = 64 * 1024  # a smaller journal is never rewritten
GROWTH: Final = 4  # times the size of the whole state


class JournalFile:
    """The journal's file in `data_dir`. Methods raise OSError; after that, nothing may be appended before a
    `rewrite`.

    With `in_background` an append returns before it is synced. `on_failed_sync` is called with the error of a failed
    sync, which is treated as an error of the append.
    """

    def __init__(self, fs: Fs, data_dir: str, *, in_background: bool = False) -> None:
        self._fs = fs
        self.path = f"{data_dir}/{JOURNAL_FILE}"
        self._file: File | None = None
        self._size = 0
        self._whole_bytes = 0
        self._synced_bytes = 0
        self._in_background = in_background
        self._syncing = False
        self.on_failed_sync: Callable[[OSError], None] = lambda _error: None

    def look(self) -> tuple[Found, str]:
        """Return the journal's content and the cluster id of its first line ("" without one).

        Nothing is changed or raised.
        """
        try:
            data = self._fs.read_bytes(self.path)
            journal = parse_journal(data)
        except FileNotFoundError:
            return Found(), ""
        except (OSError, ValueError) as error:
            return Found(problem=str(error), damaged=True), ""
        self._size = self._whole_bytes = self._synced_bytes = len(data)
        return found_in_journal(journal), journal.cluster_id

    @property
    def has_grown(self) -> bool:
        """True if most of the journal repeats rows that have changed since."""
        return self._size > max(SMALL_BYTES, GROWTH * self._whole_bytes)

    def append(self, changes: Sequence[MetaChange], number: int, digest: int) -> None:
        """Append one commit, and have it synced."""
        if self._file is None:
            self._file = self._fs.open(self.path)
        lines = format_commit(changes, number, digest)
        self._file.append([lines])
        self._size += len(lines)
        if self._in_background:
            self._sync_soon(self._file)
        else:
            self._file.sync()
            self._synced_bytes = self._size

    def rewrite(self, cluster_id: str, state: MetaState, number: int, digest: int) -> None:
        """Replace the whole content by this state, to stable storage."""
        self.close(sync=False)
        data = format_journal(cluster_id, state, number, digest)
        self._fs.write_atomic(self.path, data, sync=True)
        self._size = self._whole_bytes = self._synced_bytes = len(data)

    def close(self, *, sync: bool = True) -> None:
        """Close the file. With `sync`, first wait until everything appended is on stable storage."""
        file, self._file = self._file, None
        if file is not None:
            try:
                if sync and self._synced_bytes < self._size:
                    file.sync()
            finally:
                file.close()

    def _sync_soon(self, file: File) -> None:
        """Sync the appended lines, together with those that arrive while another sync is running."""
        if not self._syncing:
            self._syncing = True
            self._fs.sync_soon([file], partial(self._synced, file, self._size))

    def _synced(self, file: File, size: int, errors: SyncErrors) -> None:
        self._syncing = False
        if self._file is not file:  # rewritten or closed meanwhile
            if self._file is not None and self._synced_bytes < self._size:
                self._sync_soon(self._file)
            return
        if errors:
            self.on_failed_sync(next(iter(errors.values())))
            return
        self._synced_bytes = size
        if size < self._size:
            self._sync_soon(file)
