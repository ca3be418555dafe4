"""The driver's side: one member of the share group, its records, and the renewal of locks while Spark works.

The first call opens it, and `close` closes it. Calls come from one thread. A second thread renews locks and sends
heartbeats; a third looks up the group's start offsets and lag, so that brokers that are away hold up neither.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from shareq.client.errors import ClientError, Unreachable, UnsupportedApi, name_of
from shareq.client.share.range_consumer import AcquiredRange, ShareRangeConsumer
from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType
from shareq.spark.offsets import SourceOffset
from shareq.spark.options import SourceOptions
from shareq.spark.query.available_now import AvailableNow
from shareq.spark.query.books import QueryBooks
from shareq.spark.query.group_view import GroupView
from shareq.spark.query.progress import Progress

logger = logging.getLogger(__name__)

POLL_MS: Final = 500
"""The longest wait of `latest` for a first record. Spark asks again at once."""
FILL_MS: Final = 1_000
"""The longest time for which more records are added to a micro-batch."""
LOOK_MS: Final = 1_000
"""The least time between two look-ups of start offsets and lag."""
TOPICS_MS: Final = 10_000
"""The longest time between two look-ups of a pattern's topics."""
_NO_LIMIT: Final = 2**31 - 1
_BACK: Final = "they are delivered again, to other members or here, where they are recognised"


def now_ms() -> float:
    """Return the time of a monotonic clock, in milliseconds."""
    return time.monotonic() * 1000


class Driver:
    """One run of one query. Nothing is opened before the first call."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._progress = Progress()
        self._books = QueryBooks(
            max_renew_ms=options.max_renew_ms,
            max_delivery_count=options.max_delivery_count,
            counters=self._progress.counters,
        )
        self._consumer = ShareRangeConsumer(options.client, options.group_id, options.topics)
        self._view = GroupView(options.client, options.group_id, options.topics, options.pattern)
        self._topics = list(options.topics)
        self._topics_due_ms = 0.0  # when topics are looked for again by a pattern
        self._lock = threading.Lock()  # of the books; also held over acknowledgements, which change them
        self._available_now: AvailableNow | None = None
        self._lost = False  # whether locks were, since AvailableNow was notified
        self._renews = True
        self._closed = threading.Event()
        self._broken_off: Exception | None = None  # what ended a thread of the background
        self._started = False

    # -- Spark's calls

    def prepare_available_now(self) -> None:
        """Note the ends of the logs, at which the run ends.

        Raises ClientError, also for a topic that does not exist.
        """
        self._find_topics()
        ends = self._view.log_ends()
        self._view.look()
        starts = {(topic_id, partition): start for (_, topic_id, partition), start in self._view.below.items()}
        open_ends = {tp: end for tp, end in ends.items() if tp not in self._view.idle}
        self._available_now = AvailableNow(open_ends, starts, now_ms())

    def latest(self, start: SourceOffset, most: int | None) -> SourceOffset | None:
        """Acknowledge the micro-batch of `start`, which Spark has committed, and acquire the next: `most` records.

        Waits a moment for a first record. Return None if there is none. Raises ClientError when the cluster stays away
        for longer than kafka.default.api.timeout.ms, or refuses.
        """
        self._start_once()
        if (error := self._broken_off) is not None:
            what = f"{type(error).__name__}: {error}"
            raise RuntimeError(f"the thread that renews locks or looks up lag broke off: {what}") from error
        with self._lock:
            self._tidy()
            self._accept(self._books.begin(start))
            self._tidy()
            self._books.below_start_offsets(self._view.below)
        run = self._available_now
        while True:
            if run is None or not run.finished:
                self._fill(most)
            with self._lock:
                self._tidy()
                if run is not None:
                    self._tell_of_losses(run)
                    if run.finished and not run.pending:
                        return None  # what is in the books came later than the run began
                end = self._books.next_offset(start)
                if end is not None:
                    self._progress.handed_out()
                    if run is not None:
                        run.handed_out()
                if end is not None or run is None:
                    return end

    def logged(self, end: SourceOffset) -> None:
        """Note that Spark's offset log has `end`. With ack=log, this accepts the records of `end`."""
        if self._options.ack == "log":
            with self._lock:
                self._tidy()
                self._accept(self._books.log_written(end))

    def report(self) -> dict[str, object]:
        """Return the report for progress events. Sends no request; looked-up values are a second or two old."""
        with self._lock:
            self._progress.lag = self._view.lag
            return self._progress.report(locks_held=self._books.held, unconfirmed=self._books.unconfirmed)

    def close(self) -> None:
        """Release the held records, and leave the group. Harmless when done twice."""
        self._closed.set()
        self._consumer.close()
        self._view.close()

    # -- acquiring

    def _fill(self, most: int | None) -> None:
        """Poll until there are new records, or the time is up; then continue while there are more."""
        if not self._topics:  # a pattern that no topic has yet: there is nothing to be a member for
            if self._available_now is None:
                self._closed.wait(POLL_MS / 1000)
            return
        began_ms = now_ms()
        filled_ms: float | None = None
        wait_ms = POLL_MS
        absent_ms: float | None = None  # since when
        while True:
            room = _NO_LIMIT if most is None else most - self._fresh()
            if room <= 0:
                return
            found = self._consumer.poll(max_records=min(room, _NO_LIMIT), max_wait_ms=wait_ms, strict=most is not None)
            self._take(found)
            self._note_for_available_now(found, room)
            now = now_ms()
            if self._available_now is not None:
                if self._available_now.finished:
                    return
                if not self._available_now.pending:
                    absent_ms = None if self._consumer.absence is None else absent_ms or now
                    self._still_waiting(now - began_ms, 0 if absent_ms is None else now - absent_ms)
                    wait_ms = POLL_MS
                    continue
            if self._fresh():
                filled_ms = filled_ms or now + min(FILL_MS, self._consumer.lock_timeout_ms / 3)
                if not found or now >= filled_ms:
                    return
                wait_ms = 0
            else:  # at most what is known already
                wait_ms = round(began_ms + POLL_MS - now)
                if wait_ms <= 0:
                    return

    def _fresh(self) -> int:
        with self._lock:
            return self._books.fresh

    def _still_waiting(self, waited_ms: float, absent_ms: float) -> None:
        """Raise if a run with AvailableNow has got nothing for too long.

        On Apache Kafka, a new member gets partitions only after a while. The run must not end without the records of a
        leader that has been unreachable for `absent_ms`, nor wait for it forever.
        """
        patience_ms = self._options.client.default_api_timeout_ms
        if not self._consumer.has_assignment and waited_ms >= patience_ms:
            raise ClientError(
                f"share group {self._options.group_id} assigned no partitions of {', '.join(self._topics)} "
                f"within {patience_ms} ms (kafka.default.api.timeout.ms)"
            )
        if absent_ms >= patience_ms:
            raise Unreachable(f"{self._consumer.absence}; given up after {patience_ms} ms")

    def _take(self, found: Sequence[AcquiredRange]) -> None:
        if not found:
            return
        with self._lock:
            verdicts = self._books.acquired(
                found, session_of=self._session_of, now_ms=now_ms(), lock_ms=self._consumer.lock_timeout_ms
            )
            self._accept(verdicts.accept)
            if verdicts.reject:
                self._books.rejected(self._consumer.acknowledge(verdicts.reject, AcknowledgeType.REJECT))

    def _note_for_available_now(self, found: Sequence[AcquiredRange], room: int) -> None:
        run = self._available_now
        if run is None:
            return
        for one in found:
            run.acquired((one.topic_id, one.partition), one.first, one.last)
        with self._lock:
            self._tell_of_losses(run)
        count = sum(one.last - one.first + 1 for one in found)
        by_all = self._consumer.absence is None
        run.polled(self._consumer.assignment, now_ms(), in_full=count < room, by_all=by_all)

    # -- the books; the lock is held

    def _accept(self, ranges: Sequence[AckRange]) -> None:
        if ranges:
            results = self._consumer.acknowledge(ranges, AcknowledgeType.ACCEPT)
            _tell_refused(results, "accepted")
            self._books.acknowledged(results)

    def _tell_of_losses(self, run: AvailableNow) -> None:
        if self._lost:
            self._lost = False
            run.lost()
        if not self._books.fresh:
            run.nothing_new()

    def _tidy(self) -> None:
        if lost := self._books.sessions(self._session_of):
            self._lost = True
            logger.warning(
                "%s: a connection or its leader was lost, and with it the locks of %d offsets; %s",
                self._options.group_id,
                lost,
                _BACK,
            )
        if lost := self._books.expire(now_ms()):
            self._lost = True
            logger.warning(
                "%s: the locks of %d offsets ran out (maxRenewMs=%d); %s",
                self._options.group_id,
                lost,
                self._options.max_renew_ms,
                _BACK,
            )

    def _session_of(self, topic_id: bytes, partition: int) -> int:
        return self._consumer.generation.get((topic_id, partition), 0)

    # -- the background

    def _start_once(self) -> None:
        if self._started:
            return
        self._find_topics()
        for work, pause_s in ((self._keep_alive, self._tick), (self._look, lambda: LOOK_MS / 1000)):
            threading.Thread(target=self._repeat, args=(work, pause_s), name="kafka-share", daemon=True).start()
        self._started = True

    def _repeat(self, work: Callable[[], None], pause_s: Callable[[], float]) -> None:
        logged = ""
        while not self._closed.wait(pause_s()):
            try:
                work()
            except ClientError as error:  # what does not pass is raised by `latest`
                if not self._closed.is_set() and str(error) != logged:
                    logged = str(error)
                    logger.warning("%s: %s", self._options.group_id, logged)
            except Exception as error:
                self._broken_off = error
                raise

    def _find_topics(self) -> None:
        """Subscribe to the topics that match the pattern now; keep the old ones if none match."""
        found = self._view.find_topics()
        self._topics_due_ms = now_ms() + min(TOPICS_MS, self._options.client.metadata_max_age_ms)
        if found and found != self._topics:
            logger.info("%s: topics of %s: %s", self._options.group_id, self._options.pattern, ", ".join(found))
            self._consumer.subscribe(found)
            self._topics = found

    def _look(self) -> None:
        if self._options.pattern is not None and self._available_now is None and now_ms() >= self._topics_due_ms:
            self._find_topics()
        self._view.look()

    def _keep_alive(self) -> None:
        self._renew()
        if self._topics:
            self._consumer.heartbeat_if_due()

    def _tick(self) -> float:
        """Return the seconds to the next tick: a tenth of the lock time at most, so that renewals precede the lock's
        end.
        """
        return min(500, self._consumer.lock_timeout_ms / 10 or 500) / 1000

    def _renew(self) -> None:
        with self._lock:
            self._tidy()
            if not self._renews:
                return
            due = self._books.to_renew(now_ms())
            if not due:
                return
            try:
                results = self._consumer.acknowledge(due, AcknowledgeType.RENEW)
            except UnsupportedApi:
                self._renews = False
                logger.warning(
                    "%s: the brokers renew no locks, as Kafka does from 4.2 on: records of a micro-batch that takes "
                    "longer than %d ms are delivered to other members, too",
                    self._options.group_id,
                    self._consumer.lock_timeout_ms,
                )
                return
            _tell_refused(self._books.renewed(results, now_ms=now_ms()), "renewed")


def _tell_refused(results: Iterable[tuple[AckRange, int]], what: str) -> None:
    """Log one line for each kind of refusal, not for each range."""
    refused: dict[int, list[AckRange]] = {}
    for ack, code in results:
        if code != ErrorCode.NONE:
            refused.setdefault(code, []).append(ack)
    for code, acks in refused.items():
        one = acks[0]
        count = sum(ack.last - ack.first + 1 for ack in acks)
        logger.warning(
            "%d offsets could not be %s, from partition %d, offsets %d-%d on: %s; %s",
            count,
            what,
            one.partition,
            one.first,
            one.last,
            name_of(code),
            _BACK,
        )
