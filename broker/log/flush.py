"""The flush of each tick: write every log's buffer, sync logs where appends count only once synced, move high
watermarks, answer appends.

Group commit: while a log is being synced, everything that is written to it waits for its next sync, together. Each
log has its own syncs, and no answer waits for those of another log. The appends of one log are answered in order,
including failed ones. Appends to a new file always wait for a sync, which includes the names of the file and its
folder: otherwise a power loss could take the file with all its records, even answered ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, NamedTuple

from shareq.broker.foundation.environment import Clock, File, Fs, SyncErrors
from shareq.broker.log.partition_log import OnDurable, PartitionLog
from shareq.broker.log.promises.new_names import NewNames
from shareq.broker.log.segments.files import Segment
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode

FEW_SYNCS: Final = 4  # the most waiting logs if few files may be open: each has up to five open files


class _Waiting(NamedTuple):
    """Appends that were written and wait for a sync. `callbacks` are called once everything below `end_offset`
    (exclusive) is on stable storage.
    """

    log: PartitionLog
    segment: Segment
    end_offset: int
    callbacks: list[OnDurable]
    names: NewNames | None

    def first_of(self, errors: SyncErrors) -> OSError | None:
        """Return the first error among those of its segment, its file names and its folders; None if all were
        synced.
        """
        paths = [self.segment.log_path]
        if self.names is not None:
            paths += (*self.names.files, *self.names.folders)
        return next((errors[path] for path in paths if path in errors), None)


class Flusher:
    """Owned by the manager. `listeners` are called with each log whose high watermark moved.

    At most `most_waiting` flushes wait for a background sync, since each keeps its files open; further ones are
    synced at once.
    """

    def __init__(
        self,
        clock: Clock,
        fs: Fs,
        syncs_every_flush: Callable[[LogSettings], bool],
        on_synced: Callable[[Iterable[PartitionLog]], None],
        on_sealed_synced: Callable[[Iterable[PartitionLog]], None],
        on_flushed: Callable[[], None],
        most_waiting: int | None = None,
    ) -> None:
        self._most_waiting = most_waiting
        self._clock = clock
        self._fs = fs
        self._syncs_every_flush = syncs_every_flush
        self._on_synced = on_synced
        self._on_flushed = on_flushed
        self._on_sealed_synced = on_sealed_synced
        self._dirty: list[PartitionLog] = []
        self._hooks: list[Callable[[], None]] = []
        self._scheduled = False
        self._to_sync: dict[PartitionLog, list[_Waiting]] = {}
        self._syncing: dict[PartitionLog, list[_Waiting]] = {}  # `_sync_now` may remove the appends of a running sync
        self._waiting = 0  # in both
        self._sealed_to_sync: list[tuple[PartitionLog, Segment]] = []
        self._sealed_syncing: list[tuple[PartitionLog, Segment]] = []
        self._named: list[File] = []  # opened to sync new names
        self._closed = False
        self.listeners: list[Callable[[PartitionLog], None]] = []

    def add(self, log: PartitionLog) -> None:
        """Flush `log` in the next tick."""
        self._dirty.append(log)
        if not self._scheduled:
            self._schedule()

    def before_flush(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, before the next flush writes."""
        self._hooks.append(callback)
        self._schedule()

    def sync_sealed(self, log: PartitionLog, segment: Segment) -> None:
        """Sync a segment that gets no more batches. No append waits for that."""
        segment.pins += 1
        self._sealed_to_sync.append((log, segment))
        self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._clock.call_soon(self.flush)

    def flush(self) -> None:
        """Write every buffer, answer the appends that are durable now, and start a sync for the others."""
        if self._closed:
            return
        calls = _Calls()
        while self._hooks:
            hooks, self._hooks = self._hooks, []
            for hook in hooks:
                calls.run(hook)
        self._scheduled = False
        dirty, self._dirty = self._dirty, []
        durable: list[tuple[PartitionLog, int, list[OnDurable]]] = []
        failed: list[tuple[PartitionLog, list[OnDurable]]] = []
        for log in dirty:
            end_offset, done, lost = log.flush()
            segment = log.active_segment
            if segment is not None and self._must_sync(log, end_offset, done):
                segment.pins += 1
                log.stable.waiting_flushes += 1
                names = log.stable.take_new_names() if log.stable.has_new_names else None
                self._to_sync.setdefault(log, []).append(_Waiting(log, segment, end_offset, done, names))
                self._waiting += 1
                if self._most_waiting is not None and self._waiting > self._most_waiting:
                    self._sync_now(log, calls)
            else:
                durable.append((log, end_offset, done))
            if lost:
                failed.append((log, lost))
        self._answer(durable, calls)
        for log, lost in failed:
            if log.stable.waiting_flushes:
                self._sync_now(log, calls)
            calls.answer(lost, log.refusal or ErrorCode.KAFKA_STORAGE_ERROR)
        self._on_flushed()
        if self._to_sync or self._sealed_to_sync:
            self._start_syncs(dirty)
        calls.finish()

    def _must_sync(self, log: PartitionLog, end_offset: int, done: list[OnDurable]) -> bool:
        if log.refusal:
            return False
        if log.stable.waiting_flushes or log.stable.has_new_names:
            return True  # the appends of a log stay in order
        settings = log.settings
        if self._syncs_every_flush(settings):
            return end_offset > log.high_watermark
        return log.stable.unsynced_messages >= settings.flush_messages

    def _answer(self, durable: list[tuple[PartitionLog, int, list[OnDurable]]], calls: _Calls) -> None:
        """Move the high watermarks of all these durable appends, then answer the appends, then call the listeners."""
        moved = [log for log, end_offset, _ in durable if not log.refusal and log.advance(end_offset)]
        for log, _, callbacks in durable:
            calls.answer(callbacks, log.refusal)
        for log in moved:
            for listener in self.listeners:
                calls.run(listener, log)

    # -- syncing

    def _start_syncs(self, logs: Iterable[PartitionLog]) -> None:
        """Sync those of `logs` that wait. A log that is being synced is left out: the end of that sync starts its
        next one.

        New names are synced together: an error of a folder that several of them need is reported once, to all.
        Sealed segments may be large, and no append waits for them: they have syncs of their own.
        """
        named: list[PartitionLog] = []
        for log in logs:
            if log not in self._to_sync or log in self._syncing:
                continue
            group = self._syncing[log] = self._to_sync.pop(log)
            if any(waiting.names is not None for waiting in group):
                named.append(log)
            else:
                self._sync_logs([log])
        if named:
            self._sync_logs(named)
        if self._sealed_to_sync and not self._sealed_syncing:
            self._sealed_syncing, self._sealed_to_sync = self._sealed_to_sync, []
            self._sync({segment for _, segment in self._sealed_syncing}, [], self._sealed_synced, bulk=True)

    def _sync_logs(self, logs: list[PartitionLog]) -> None:
        groups = [self._syncing[log] for log in logs]
        everything = [waiting for group in groups for waiting in group]
        names = [waiting.names for waiting in everything if waiting.names is not None]
        ended = partial(self._synced, list(zip(logs, groups, strict=True)))
        self._sync({waiting.segment for waiting in everything}, names, ended, bulk=False)

    def _sync(
        self,
        segments: Iterable[Segment],
        new_names: list[NewNames],
        on_ended: Callable[[SyncErrors], None],
        *,
        bulk: bool,
    ) -> None:
        sizes = {segment: segment.size for segment in segments if segment.synced < segment.size}
        named: list[File] = []
        files: list[File] = []
        failed: dict[str, OSError] = {}
        for path in dict.fromkeys(path for names in new_names for path in names.files):
            try:
                if self._fs.exists(path):
                    named.append(self._fs.open(path))
            except OSError as error:
                failed[path] = error
        for segment in sorted(sizes, key=lambda segment: segment.log_path):
            try:
                files.append(segment.file())
            except OSError as error:
                failed[segment.log_path] = error
        self._named += named

        def end(errors: SyncErrors) -> None:
            for file in named:
                if file in self._named:
                    self._named.remove(file)
                    file.close()
            errors = {**failed, **errors}
            for segment, size in sizes.items():
                if segment.log_path not in errors:
                    segment.synced = max(segment.synced, size)
            on_ended(errors)

        folders = list(dict.fromkeys(path for names in new_names for path in names.folders))
        self._fs.sync_soon([*named, *files], end, folders=folders, bulk=bulk)

    def _synced(self, synced: list[tuple[PartitionLog, list[_Waiting]]], errors: SyncErrors) -> None:
        if self._closed:
            return
        calls = _Calls()
        for log, group in synced:
            if self._syncing.get(log) is group:  # otherwise `_sync_now` has taken it, and another sync may be running
                del self._syncing[log]
        self._settle([waiting for _, group in synced for waiting in group], errors, calls)
        self._start_syncs([log for log, _ in synced])
        calls.finish()

    def _sealed_synced(self, errors: SyncErrors) -> None:
        if self._closed:
            return
        calls = _Calls()
        sealed, self._sealed_syncing = self._sealed_syncing, []
        for log, segment in sealed:
            segment.pins -= 1
            if segment.log_path in errors:
                log.sync_failed(errors[segment.log_path])
            elif segment.end_offset is not None and not log.refusal:
                log.stable.synced_to(segment, segment.end_offset)
        calls.run(self._on_sealed_synced, {log: None for log, _ in sealed if not log.refusal})
        self._start_syncs(())
        calls.finish()

    def _settle(self, group: list[_Waiting], errors: SyncErrors, calls: _Calls) -> None:
        """Settle appends whose sync has ended: they are durable, or their log goes offline.

        An error applies to one log alone, unless several of them need the file.
        """
        self._waiting -= len(group)
        for waiting in group:
            log, segment, end_offset, _, names = waiting
            segment.pins -= 1
            log.stable.waiting_flushes -= 1
            error = waiting.first_of(errors) if errors else None
            if error is not None:
                log.sync_failed(error)
            elif not log.refusal:  # after an earlier failed sync, the success of this one proves nothing
                log.stable.unsynced_messages = 0
                if names is not None:
                    log.stable.names_synced(segment)
                log.stable.synced_to(segment, end_offset)
        self._answer([(log, end_offset, callbacks) for log, _, end_offset, callbacks, _ in group], calls)
        calls.run(self._on_synced, [waiting.log for waiting in group if not waiting.log.refusal])

    def _sync_now(self, log: PartitionLog, calls: _Calls) -> None:
        """Sync a log's waiting appends at once, because a later append failed: its caller must see the outcome of
        all earlier ones.
        """
        for waiting in self._taken(log):
            self._settle([waiting], self._sync_again(waiting), calls)

    def _taken(self, log: PartitionLog) -> list[_Waiting]:
        """Return all waiting appends of a log, in order, including those of the running sync, and remove them from
        the waiting ones.
        """
        syncing = self._syncing.pop(log, [])
        taken = syncing + self._to_sync.pop(log, [])
        syncing.clear()
        return taken

    def close(self) -> None:
        """Write what is buffered, and sync it at once where appends count only then. No callback is called after
        this.
        """
        if self._closed:
            return
        try:
            self.flush()
        finally:
            self._closed = True
            calls = _Calls()
            for log in [*self._syncing, *(log for log in self._to_sync if log not in self._syncing)]:
                self._sync_now(log, calls)
            while self._named:
                self._named.pop().close()
        calls.finish()

    def _sync_again(self, waiting: _Waiting) -> SyncErrors:
        """Sync the bytes and names that a background sync may not have reached yet. Return the error if that fails."""
        segment, names = waiting.segment, waiting.names
        try:
            segment.sync_again()
            for path in filter(self._fs.exists, names.files if names is not None else ()):
                file = self._fs.open(path)
                try:
                    file.sync()
                finally:
                    file.close()
            for path in names.folders if names is not None else ():
                self._fs.sync_dir(path)
        except OSError as error:
            return {segment.log_path: error}
        return {}


class _Calls:
    """Calls that are all made even if one fails. The first failure is raised at the end."""

    __slots__ = ("_failure",)

    def __init__(self) -> None:
        self._failure: Exception | None = None

    def run(self, callback: Callable[..., None], *arguments: object) -> None:
        try:
            callback(*arguments)
        except Exception as error:
            self._failure = self._failure or error

    def answer(self, callbacks: list[OnDurable], error: ErrorCode) -> None:
        for callback in callbacks:
            try:
                callback(error)
            except Exception as failure:
                self._failure = self._failure or failure

    def finish(self) -> None:
        if self._failure is not None:
            raise self._failure
