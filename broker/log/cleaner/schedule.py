"""The schedule of a broker's one cleaner, which works in the pauses of the event loop.

It looks for dirty logs every `log.cleaner.backoff.ms`, and at once when a segment of a compacted log is sealed and
on stable storage. One pass runs at a time, in turns with a pause after each. A turn reads at least eight times the
bytes appended to the log since the last turn, and more if segments of other logs wait. So even on a busy broker a
pass ends before the log has grown by an eighth of the bytes that the pass reads.

    DATA/cleaner-offset-checkpoint    up to where logs are clean; without it, they are cleaned again from their start

A log that cannot be cleaned keeps all its records, while others are cleaned. It is tried again five minutes after an
I/O error (a full disk may have room again), or at the next start if it is damaged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from shareq.broker.foundation.environment import Environment, SyncErrors
from shareq.broker.foundation.loop.coroutines import Driven, drive
from shareq.broker.foundation.loop.timer import Timer
from shareq.broker.foundation.loop.turns import Turn
from shareq.broker.foundation.pending import Pending
from shareq.broker.foundation.turn_budget import NO_PAUSE, Breath
from shareq.broker.log.partition_log import PartitionLog
from shareq.broker.log.promises.checkpoints import CLEANER_FILE
from shareq.broker.log.segments.files import FilePool, Segment
from shareq.broker.log.settings import LogSettings
from shareq.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from shareq.broker.log.cleaner.candidates import Candidate
    from shareq.broker.log.cleaner.cleaning import CleaningPass
    from shareq.broker.log.cleaner.survivors import Rule

logger = logging.getLogger(__name__)

RETRY_MS: Final = 5 * 60 * 1000
PAUSE_MS: Final = 1
ELEMENT_BYTES: Final = 160  # the processed bytes that count as one element of a turn
GROWTH_FACTOR: Final = 8
WAITING_BYTES: Final = 32 * 1024  # bytes added to a turn for each waiting segment, up to
MOST_FOR_WAITING: Final = 256 * 1024
ROLL_BYTES: Final = 4 * 1024 * 1024  # the size from which a coordinator's active segment is sealed

TopicPartition = tuple[str, int]


class CleanerSettings(NamedTuple):
    """The properties `log.cleaner.*`. `memory_bytes` is the most memory for a pass's keys; `bytes_per_second` limits
    its reads.
    """

    enable: bool = True
    backoff_ms: int = 15_000
    memory_bytes: int = 120_795_955
    bytes_per_second: float = float("inf")


def latest_value_rule(_topic: str) -> Rule:
    """Return the rule of ordinary topics."""
    from shareq.broker.log.cleaner.survivors import latest_value

    return latest_value


class Cleaning(NamedTuple):
    """The topics to clean, and the settings for cleaning them.

    `rule_for` returns a topic's rule. The logs of `coordinator_topics` are kept small: their active segment is
    sealed when it has most of the log.
    """

    settings: Callable[[], CleanerSettings] = CleanerSettings
    rule_for: Callable[[str], Rule] = latest_value_rule
    coordinator_topics: Collection[str] = ()


DEFAULT_CLEANING: Final = Cleaning()


class CleanerHost(Protocol):
    """The port from the cleaner to the manager of logs."""

    pool: FilePool

    def logs(self) -> Iterable[PartitionLog]:
        """Return every log that was opened or requested."""

    def syncs_every_flush(self, settings: LogSettings) -> bool:
        """Return True if every answered write must survive a power loss."""

    def write_offsets(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Write a checkpoint file. Raise OSError if that fails."""


class LogCleaner:
    """The cleaner of a broker's logs. Owned by the manager; runs on the loop's thread."""

    def __init__(self, env: Environment, host: CleanerHost, cleaning: Cleaning) -> None:
        self._env = env
        self._host = host
        self._settings = cleaning.settings
        self._rule_for = cleaning.rule_for
        self._coordinator_topics = cleaning.coordinator_topics
        self._clean_until: dict[TopicPartition, int] = {}
        self._retry_at: dict[TopicPartition, int | None] = {}
        self._timer = Timer(env.clock)
        self._look_is_due = False
        self._log: PartitionLog | None = None  # that is being cleaned
        self._pass: Driven[None] | None = None
        self._size_seen = 0
        self._due = 0  # bytes to go through before the next pause
        self._done = 0
        self._waiting = 0  # segments that were sealed since the pass began
        self._stopped = False
        self.passes = 0  # completed passes

    @property
    def busy(self) -> bool:
        """True while a pass is under way."""
        return self._log is not None

    @property
    def uncleanable(self) -> list[TopicPartition]:
        """The logs that are not cleaned for now, because that failed."""
        return sorted(self._retry_at)

    def clean_until(self, log: PartitionLog) -> int:
        """Return the offset (exclusive) up to which the log is clean; -1 if it was never cleaned."""
        return self._clean_until.get(_key(log), -1)

    def start(self, clean_until: Mapping[TopicPartition, int]) -> None:
        """Start, once the logs are open. `clean_until` is the content of the checkpoint file.

        The first look for dirty logs follows after the first backoff.
        """
        self._clean_until = dict(clean_until)
        self._wait()

    def stop(self) -> None:
        """Stop for good. A running pass is abandoned, and its log stays sound."""
        self._stopped = True
        self._timer.stop()
        if self._pass is not None:
            self._pass.cancel()
        self._log = self._pass = None

    def look_soon(self) -> None:
        """Look for dirty logs soon, because a segment was sealed."""
        self._waiting += 1
        if not self._look_is_due and self._log is None and not self._stopped:
            self._look_is_due = True
            self._env.clock.call_soon(self._look)

    def forget(self, keys: Collection[TopicPartition]) -> None:
        """Forget deleted logs. Raise OSError if the checkpoint was not written; the logs are forgotten nevertheless."""
        known = {key for key in keys if key in self._clean_until}
        for key in keys:
            self._retry_at.pop(key, None)
            self._clean_until.pop(key, None)
        if known:
            self._host.write_offsets(CLEANER_FILE, self._clean_until)

    # -- looking

    def _wait(self) -> None:
        self._timer.after(max(self._settings().backoff_ms, PAUSE_MS), self._look)

    def _look(self) -> None:
        self._look_is_due = False
        if self._stopped or self._log is not None:
            return
        if self._settings().enable:
            from shareq.broker.log.cleaner.candidates import dirtiest  # nothing here is what a start needs

            left_alone = self._retry_at
            logs = [  # a few of thousands
                log for log in self._host.logs() if log.settings.compact or (left_alone and _key(log) in left_alone)
            ]
            self._roll_active_segments(logs)
            chosen = dirtiest(self._candidates(logs))
            if chosen is not None:
                self._begin(chosen)
                return
        self._wait()

    def _roll_active_segments(self, logs: Iterable[PartitionLog]) -> None:
        """Seal active segments that no append will seal, since only sealed ones can be cleaned."""
        now = self._env.clock.wall_ms()
        for log in logs:
            active = log.active_segment
            if not log.settings.compact or active is None:
                continue
            rest = log.size_bytes - active.size
            mostly_active = active.size >= max(ROLL_BYTES, 2 * rest)
            log.roll(now, if_old=not (mostly_active and log.topic in self._coordinator_topics))

    def _candidates(self, logs: Iterable[PartitionLog]) -> list[Candidate]:
        from shareq.broker.log.cleaner.candidates import candidate

        clock = self._env.clock
        candidates: list[Candidate] = []
        for log in logs:
            key = _key(log)
            try:
                if key in self._retry_at and not self._try_again(log):
                    continue
                found = candidate(log, self._clean_until.get(key), clock.wall_ms())
            except OSError as error:
                self._leave_alone(log, error)
                continue
            if found is not None:
                candidates.append(found)
        return candidates

    def _try_again(self, log: PartitionLog) -> bool:
        """Return True if a log whose cleaning failed may be cleaned again.

        First remove what the failed pass has left; raise OSError if that fails.
        """
        retry_at = self._retry_at[_key(log)]
        if retry_at is None or self._env.clock.now_ms() < retry_at:
            return False
        from shareq.broker.log.segments.swap import tidy

        tidy(self._env.fs, log.folder, log.segments)
        del self._retry_at[_key(log)]
        return True

    def _leave_alone(self, log: PartitionLog, error: Exception) -> None:
        """Note that this log is not to be cleaned for now."""
        is_io_error = isinstance(error, OSError)
        self._retry_at[_key(log)] = self._env.clock.now_ms() + RETRY_MS if is_io_error else None
        until = f"for {RETRY_MS // 60_000} minutes" if is_io_error else "until the next start"
        logger.error("%s: cannot be cleaned, left alone %s: %s", log.folder, until, error)

    # -- a pass

    def _begin(self, chosen: Candidate) -> None:
        self._due = self._done = self._waiting = 0
        self._size_seen = chosen.log.size_bytes
        self._log = chosen.log
        begun = drive(self._clean(chosen), self._env.budget, self._in_pauses, self._failed)
        if isinstance(begun, Driven):
            self._pass = begun

    async def _clean(self, chosen: Candidate) -> None:
        """Run one pass, and look if another one is due."""
        from shareq.broker.log.cleaner.cleaning import CleaningPass, DamagedLogError, PassAbandonedError
        from shareq.broker.log.cleaner.survivors import SUBJECT_BYTES

        log = chosen.log
        cleaning = CleaningPass(
            self._host.pool,
            chosen,
            self._rule_for(log.topic),
            self._settings().memory_bytes // SUBJECT_BYTES,
            self._env.clock.wall_ms(),
            sync=self._host.syncs_every_flush(log.settings),
            pace=self._pace,
            sync_segment=self._sync,
        )
        try:
            await cleaning.run()
        except PassAbandonedError:
            pass
        except (OSError, DamagedLogError) as error:
            if log.refusal is ErrorCode.NONE:
                self._leave_alone(log, error)
        except Exception as error:
            self._leave_alone(log, error)
            logger.exception("%s: the cleaner failed", log.folder)
        else:
            self._finished(cleaning)
        self._log = self._pass = None
        self.look_soon()

    def _failed(self, error: Exception) -> None:
        logger.error("the cleaner failed", exc_info=error)

    def _pace(self, size: int) -> Breath:
        """Count processed bytes. The result pauses if the turn is spent and has read as much as is due."""
        before = self._done // ELEMENT_BYTES
        self._done += size
        breath = self._env.budget.breathe(self._done // ELEMENT_BYTES - before)
        return breath if self._done >= self._due else NO_PAUSE

    def _in_pauses(self, turn: Turn) -> None:
        """Begin the next turn after a pause. It reads as much as the growth of the log requires."""
        clock = self._env.clock
        pause = max(int(self._done * 1000 / self._settings().bytes_per_second), PAUSE_MS)
        clock.call_at(clock.now_ms() + pause, lambda: self._take_turn(turn))

    def _take_turn(self, turn: Turn) -> None:
        log = self._log
        if log is not None:
            grown, self._size_seen = log.size_bytes - self._size_seen, log.size_bytes
            self._due = max(GROWTH_FACTOR * grown, min(self._waiting * WAITING_BYTES, MOST_FOR_WAITING))
            self._done = 0
        if turn():
            self._in_pauses(turn)

    def _sync(self, segment: Segment) -> Pending[SyncErrors]:
        """Sync the segment in a thread, off the loop."""
        synced: Pending[SyncErrors] = Pending()
        size, current = segment.size, self._log

        def on_synced(errors: SyncErrors) -> None:
            segment.pins -= 1
            if self._log is not current:  # given up meanwhile
                segment.close()
            elif not errors:
                segment.synced = size
            synced.complete(errors)

        segment.pins += 1
        try:
            files = [segment.file()]
        except OSError as error:
            on_synced({segment.log_path: error})
        else:
            self._env.fs.sync_soon(files, on_synced, bulk=True)
        return synced

    def _finished(self, current: CleaningPass) -> None:
        log, counts = current.log, current.counts
        self.passes += 1
        key = _key(log)
        self._clean_until[key] = current.end_offset
        try:
            self._host.write_offsets(CLEANER_FILE, self._clean_until)
        except OSError as error:
            logger.warning("%s not written, logs may be cleaned once more: %s", CLEANER_FILE, error)
        if counts.bytes_after != counts.bytes_before:
            logger.debug(
                "%s-%d: clean below offset %d: %d records removed, %d -> %d bytes, %d -> %d segments",
                *key,
                current.end_offset,
                counts.records_removed,
                counts.bytes_before,
                counts.bytes_after,
                counts.segments_before,
                counts.segments_after,
            )


def _key(log: PartitionLog) -> TopicPartition:
    return log.topic, log.partition
