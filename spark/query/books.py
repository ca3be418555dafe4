"""The records that this query holds, has given to Spark, or has yet to acknowledge to the share group. Pure.

The contract depends on these rules:

* Spark logs the offset of a micro-batch before it runs it, and asks for the next one only when it is committed. The
  start in that call therefore proves that its micro-batch is done: `begin` returns the ranges to ACCEPT.
* An ACCEPT can fail, because locks end with the connection that took them. Such records stay in the offsets
  (`unconfirmed`) until an ACCEPT is confirmed or the group's start offset has passed them. The broker delivers them
  again, to this query or to another member; `acquired` recognises them: they are accepted, and not emitted again.
* Records acquired but not given to Spark are only in memory. When the query ends it releases them; they were never
  emitted.

All sets are ranges of offsets by share partition; control records and gaps among them do not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shareq.client.offsets import OffsetRanges
from shareq.client.share.session import AckRange
from shareq.protocol.errors import ErrorCode
from shareq.spark.offsets import BatchRange, SharePartition, SourceOffset
from shareq.spark.query.progress import Counters

Ranges = dict[SharePartition, OffsetRanges]
Acquired = tuple[str, bytes, int, int, int, int]
"""Topic, its id, partition, first and last offset (both included), delivery count."""
Result = tuple[AckRange, int]
"""A range of an acknowledgement and the error code of its answer."""
SessionOf = Callable[[bytes, int], int]
"""A function of topic id and partition: its number changes when the share session that held the locks is lost."""

_STILL_LOCKED = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""Errors after which the lock is as before: the broker could not store the acknowledgement."""


@dataclass(slots=True)
class _Claim:
    """The part of a poll's records of one partition that is still locked."""

    ranges: OffsetRanges
    session: int
    acquired_ms: float
    locked_ms: float  # acquired or renewed
    lock_ms: int
    tried_ms: float = 0  # to renew, in vain

    @property
    def ends_ms(self) -> float:
        return self.locked_ms + self.lock_ms


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The acknowledgements to send at once after a poll."""

    accept: list[AckRange] = field(default_factory=list)
    reject: list[AckRange] = field(default_factory=list)


class QueryBooks:
    """The ranges that one run of a query holds, and their state.

    The caller serialises calls; times are milliseconds of one clock.
    """

    def __init__(self, *, max_renew_ms: int, max_delivery_count: int | None, counters: Counters) -> None:
        self._max_renew_ms = max_renew_ms
        self._max_delivery_count = max_delivery_count
        self._counters = counters
        self._claims: dict[SharePartition, list[_Claim]] = {}
        self._fresh: dict[SharePartition, dict[int, OffsetRanges]] = {}  # by delivery count; all of it is held
        self._known: Ranges = {}  # in a micro-batch of the checkpoint: never emitted again
        self._done: Ranges = {}  # the part of it whose ACCEPT is not confirmed
        self._confirmed: Ranges = {}  # ACCEPTs that this process saw confirmed, as long as a start may name them
        self._ids: dict[str, bytes] = {}  # of the topics by name, as last seen
        self._keys: dict[tuple[bytes, int], SharePartition] = {}

    # -- Spark's side

    def begin(self, start: SourceOffset) -> list[AckRange]:
        """Begin after the committed micro-batch of `start`.

        Return the ranges to ACCEPT now; `acknowledged` gets the answers.
        """
        known = _of_batch(start)
        for key, ranges in start.unconfirmed.items():
            _add(known, key, ranges)
        for topic, topic_id, _ in known:
            self._ids.setdefault(topic, topic_id)
        self._known = {key: ranges for key, ranges in known.items() if self._ids[key.topic] == key.topic_id}
        self._confirmed = {key: ranges & known[key] for key, ranges in self._confirmed.items() if key in known}
        self._done = _without(self._known, self._confirmed)
        for key, ranges in known.items():
            self._not_fresh(key, ranges)
        return self._held_of(self._done)

    def log_written(self, end: SourceOffset) -> list[AckRange]:
        """Return the ranges to ACCEPT now that Spark's offset log has `end`. `acknowledged` gets the answers."""
        return self._held_of(_of_batch(end))

    def next_offset(self, start: SourceOffset) -> SourceOffset | None:
        """Return the offset after `start`, with all acquired records that are in no micro-batch yet; None without any.

        A second call with the same start names the same records, if they are still held.
        """
        batch = {key: _batch_ranges(by_count) for key, by_count in self._fresh.items() if by_count}
        if not batch:
            return None
        unconfirmed = {key: ranges.copy() for key, ranges in self._done.items() if ranges}
        return SourceOffset(start.seq + 1, batch, unconfirmed)

    # -- the broker's side

    def acquired(self, ranges: Iterable[Acquired], *, session_of: SessionOf, now_ms: float, lock_ms: int) -> Verdicts:
        """Note the `ranges` of a poll, locked for `lock_ms` from now at most.

        Return the acknowledgements to send at once.
        """
        verdicts = Verdicts()
        found: dict[tuple[SharePartition, int], list[tuple[int, int]]] = {}
        for topic, topic_id, partition, first, last, count in ranges:
            found.setdefault((SharePartition(topic, topic_id, partition), count), []).append((first, last))
        taken: Ranges = {}
        for (key, count), pairs in found.items():
            self._of_this_topic(key)
            delivered = OffsetRanges(pairs)
            self._counters.acquired += delivered.count
            _add(taken, key, delivered)
            self._sort_out(key, delivered, count, verdicts)
        for key, delivered in taken.items():
            self._unclaim(key, delivered)  # locked before, expired, and here again
            session = session_of(key.topic_id, key.partition)
            self._claims.setdefault(key, []).append(_Claim(delivered, session, now_ms, now_ms, lock_ms))
        return verdicts

    def _sort_out(self, key: SharePartition, ranges: OffsetRanges, count: int, verdicts: Verdicts) -> None:
        known = self._known.get(key)
        if known is not None and (swallowed := ranges & known):
            ranges = ranges - swallowed
            self._counters.swallowed += swallowed.count
            _add(self._done, key, swallowed)  # even if confirmed before: the broker does not know of it any more
            _take(self._confirmed, key, swallowed)
            verdicts.accept.extend(_acks(key, swallowed))
        if not ranges:
            return
        self._not_fresh(key, ranges)
        if count > 1:
            self._counters.redelivered += ranges.count
        if self._max_delivery_count is not None and count >= self._max_delivery_count:
            verdicts.reject.extend(_acks(key, ranges))
            return
        by_count = self._fresh.setdefault(key, {})
        by_count[count] = by_count[count] | ranges if count in by_count else ranges

    def acknowledged(self, results: Iterable[Result]) -> None:
        """Handle answers to ACCEPTs.

        Confirmed ranges are settled. Other locks count as lost, unless the broker still has them; their records stay in
        the offsets.
        """
        confirmed, lost = self._told_apart(results)
        for key, ranges in confirmed.items():
            self._counters.accepted += ranges.count
            _add(self._confirmed, key, ranges)
            _take(self._done, key, ranges)
            self._release(key, ranges)
        for key, ranges in lost.items():
            self._lose(key, ranges)

    def rejected(self, results: Iterable[Result]) -> None:
        """Handle answers to REJECTs.

        The locks are gone in any case; records of a refused REJECT are delivered again.
        """
        confirmed, lost = self._told_apart(results, still_locked=())
        for key, ranges in confirmed.items():
            self._counters.rejected += ranges.count
            self._release(key, ranges)
        for key, ranges in lost.items():
            self._lose(key, ranges)

    def _told_apart(
        self, results: Iterable[Result], still_locked: Collection[int] = _STILL_LOCKED
    ) -> tuple[Ranges, Ranges]:
        """Return the confirmed ranges, and the others that are no longer ours: all, except after errors that keep the
        lock.
        """
        confirmed: dict[SharePartition, list[tuple[int, int]]] = {}
        lost: dict[SharePartition, list[tuple[int, int]]] = {}
        for ack, code in results:
            key = self._keys.get((ack.topic_id, ack.partition))
            if key is not None and code not in still_locked:
                books = confirmed if code == ErrorCode.NONE else lost
                books.setdefault(key, []).append((ack.first, ack.last))
        return (
            {key: OffsetRanges(pairs) for key, pairs in confirmed.items()},
            {key: OffsetRanges(pairs) for key, pairs in lost.items()},
        )

    def below_start_offsets(self, starts: Mapping[SharePartition, int]) -> None:
        """Note the group's start offsets in some partitions: records below them are finished and need no
        acknowledgement.
        """
        for key, start in starts.items():
            ranges = self._done.get(key)
            if ranges is not None and start > 0:
                ranges.remove(0, start - 1)

    # -- locks

    def to_renew(self, now_ms: float) -> list[AckRange]:
        """Return ranges of which a third of the lock time has passed since the last try, except those held for
        `max_renew_ms`.
        """
        return [
            ack
            for key, claims in self._claims.items()
            for claim in claims
            if now_ms - max(claim.locked_ms, claim.tried_ms) >= claim.lock_ms / 3
            and now_ms - claim.acquired_ms < self._max_renew_ms
            for ack in _acks(key, claim.ranges)
        ]

    def renewed(self, results: Iterable[Result], *, now_ms: float) -> list[Result]:
        """Handle answers to RENEWs; return failed ones.

        Their locks are kept until they run out: INVALID_RECORD_STATE may also say that the group renews none.
        """
        results = list(results)
        failed = [(ack, code) for ack, code in results if code != ErrorCode.NONE]
        for place in {self._keys[ack.topic_id, ack.partition] for ack, _ in failed}:
            for claim in self._claims.get(place, ()):
                claim.tried_ms = now_ms
        good: dict[SharePartition, list[tuple[int, int]]] = {}
        for ack, code in results:
            key = self._keys.get((ack.topic_id, ack.partition))
            if key is not None and code == ErrorCode.NONE:
                good.setdefault(key, []).append((ack.first, ack.last))
        for key, pairs in good.items():
            ranges = OffsetRanges(pairs)
            self._counters.renewed += ranges.count
            self._claims[key] = [
                part for claim in self._claims.get(key, ()) for part in _split_renewed(claim, ranges, now_ms)
            ]
        return failed

    def sessions(self, session_of: SessionOf) -> int:
        """Drop ranges of sessions earlier than `session_of` returns: locks end with the session that took them.

        Returns the number of dropped offsets.
        """
        before = self._counters.lost
        for key, claims in list(self._claims.items()):
            session = session_of(key.topic_id, key.partition)
            for claim in [claim for claim in claims if claim.session != session]:
                self._lose(key, claim.ranges.copy())
        return self._counters.lost - before

    def expire(self, now_ms: float) -> int:
        """Drop the locks that have run out. Return the number of their offsets."""
        before = self._counters.lost
        for key, claims in list(self._claims.items()):
            for claim in [claim for claim in claims if claim.ends_ms <= now_ms]:
                self._lose(key, claim.ranges.copy())
        return self._counters.lost - before

    # -- looking

    @property
    def held(self) -> int:
        """The number of offsets locked for this query."""
        return sum(claim.ranges.count for claims in self._claims.values() for claim in claims)

    @property
    def fresh(self) -> int:
        """The number of offsets acquired and in no micro-batch yet."""
        return sum(ranges.count for by_count in self._fresh.values() for ranges in by_count.values())

    @property
    def unconfirmed(self) -> int:
        """The number of offsets of earlier micro-batches that no leader has confirmed as accepted."""
        return sum(ranges.count for ranges in self._done.values())

    # -- inside

    def _held_of(self, wanted: Ranges) -> list[AckRange]:
        acks: list[AckRange] = []
        for key, ranges in wanted.items():
            held = OffsetRanges(found for claim in self._claims.get(key, ()) for found in claim.ranges)
            acks.extend(_acks(key, ranges & held))
        return acks

    def _of_this_topic(self, key: SharePartition) -> None:
        """Forget the ranges of a deleted topic of the same name, which can never return."""
        self._keys.setdefault((key.topic_id, key.partition), key)
        if self._ids.setdefault(key.topic, key.topic_id) == key.topic_id:
            return
        self._ids[key.topic] = key.topic_id
        books: tuple[dict[SharePartition, Any], ...]
        books = (self._claims, self._fresh, self._known, self._done, self._confirmed)
        for book in books:
            for other in [other for other in book if other.topic == key.topic and other.topic_id != key.topic_id]:
                del book[other]

    def _lose(self, key: SharePartition, ranges: OffsetRanges) -> None:
        held = sum((claim.ranges & ranges).count for claim in self._claims.get(key, ()))
        self._counters.lost += held
        self._release(key, ranges)

    def _release(self, key: SharePartition, ranges: OffsetRanges) -> None:
        self._unclaim(key, ranges)
        self._not_fresh(key, ranges)

    def _unclaim(self, key: SharePartition, ranges: OffsetRanges) -> None:
        claims = self._claims.get(key, [])
        for claim in claims:
            claim.ranges = claim.ranges - ranges
        self._claims[key] = [claim for claim in claims if claim.ranges]

    def _not_fresh(self, key: SharePartition, ranges: OffsetRanges) -> None:
        by_count = self._fresh.get(key)
        if by_count:
            left = {count: found - ranges for count, found in by_count.items()}
            self._fresh[key] = {count: found for count, found in left.items() if found}


def _split_renewed(claim: _Claim, ranges: OffsetRanges, now_ms: float) -> Iterable[_Claim]:
    renewed = claim.ranges & ranges
    if renewed:
        yield _Claim(renewed, claim.session, claim.acquired_ms, now_ms, claim.lock_ms)
    rest = claim.ranges - renewed
    if rest:
        claim.ranges = rest
        yield claim


def _batch_ranges(by_count: Mapping[int, OffsetRanges]) -> tuple[BatchRange, ...]:
    return tuple(sorted(BatchRange(first, last, count) for count, ranges in by_count.items() for first, last in ranges))


def _acks(key: SharePartition, ranges: OffsetRanges) -> Iterator[AckRange]:
    return (AckRange(key.topic_id, key.partition, first, last) for first, last in ranges)


def _of_batch(offset: SourceOffset) -> Ranges:
    return {key: OffsetRanges((first, last) for first, last, _ in found) for key, found in offset.batch.items()}


def _without(one: Ranges, other: Ranges) -> Ranges:
    return {key: ranges - other[key] if key in other else ranges.copy() for key, ranges in one.items()}


def _add(books: Ranges, key: SharePartition, ranges: OffsetRanges) -> None:
    books[key] = books[key] | ranges if key in books else ranges.copy()


def _take(books: Ranges, key: SharePartition, ranges: OffsetRanges) -> None:
    if key in books:
        books[key] = books[key] - ranges
