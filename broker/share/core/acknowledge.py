"""Acknowledgement of acquired records: checks in Apache Kafka 4.3.1's order, then the start of a state write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from shareq.broker.share.core.effects import Cause, DeadLetter, GivenUpRange, StateBatch
from shareq.broker.share.core.locks import AcquisitionLocks
from shareq.broker.share.core.values import AckBatch, Acknowledged, AckRanges
from shareq.broker.share.core.window.batch import merged
from shareq.broker.share.core.window.delivery_limit import after_release
from shareq.broker.share.core.window.delivery_status import DeliveryStatus
from shareq.broker.share.core.window.record_state import GIVEN_UP, STATE_AFTER, STATE_AFTER_WITH_QUEUE
from shareq.broker.share.core.window.redelivery import not_before
from shareq.broker.share.core.window.window import Change, InFlightWindow
from shareq.broker.share.core.writes import StateChange
from shareq.coordinator.ports import ShareGroupSettings
from shareq.protocol.ack_delays import Later
from shareq.protocol.errors import ErrorCode
from shareq.protocol.share import AcknowledgeType, RecordState

if TYPE_CHECKING:
    from shareq.broker.share.core.window.batches import Batch

_ACCEPTED: Final = (AcknowledgeType.ACCEPT.value,)
_LOWEST_TYPE, _HIGHEST_TYPE = min(AcknowledgeType).value, max(AcknowledgeType).value


class Acknowledgement:
    """One request's acknowledgements of one share partition."""

    __slots__ = (
        "_change",
        "_deadline_ms",
        "_delays",
        "_locks",
        "_member_id",
        "_memo",
        "_now_ms",
        "_settings",
        "_state_after",
        "_window",
    )

    def __init__(
        self,
        window: InFlightWindow,
        locks: AcquisitionLocks,
        settings: ShareGroupSettings,
        member_id: str,
        change: StateChange,
        now_ms: int,
    ) -> None:
        self._window = window
        self._locks = locks
        self._settings = settings
        self._state_after = STATE_AFTER_WITH_QUEUE if settings.dead_letters else STATE_AFTER
        self._member_id = member_id
        self._change = change
        self._now_ms = now_ms
        self._deadline_ms = now_ms + settings.record_lock_duration_ms
        self._delays = settings.redelivery.initial_ms > 0
        self._memo: dict[tuple[DeliveryStatus, int], DeliveryStatus] = {}

    def apply(self, batches: Sequence[Acknowledged]) -> ErrorCode:
        """Apply the batches in order. The first error undoes what this request has changed, except renewals."""
        for ack in batches if len(batches) < 2 and self._window.order is None else self._chained(batches):
            error = self._apply_one(ack)
            if error is not ErrorCode.NONE:
                self._change.undo(self._window)
                return error
        return ErrorCode.NONE

    def delay(self, later: Sequence[Later]) -> None:
        """Let released records among those in `later` (ascending, disjoint) wait for the time given there, instead of
        for the group's redelivery backoff.
        """
        window, change = self._window, self._change
        for first, last, delay_ms in later:
            postponed = _postponed(change.write_id, self._now_ms + delay_ms)
            for batch in window.batches.overlapping(first, last):
                window.remap(batch, first, last, postponed)
        change.delays = []
        for batch, first, last in change.touched:
            change.delay_runs(run for run in batch.runs(first, last) if run[2].write_id == change.write_id)

    def _chained(self, batches: Sequence[Acknowledged]) -> Iterator[Acknowledged]:
        """Yield the acknowledgements, adjoining ones within one in-flight batch joined into one that has a type per
        offset.

        Clients that acknowledge record by record send a batch for each record. An acknowledgement of only a part of an
        in-flight batch is applied offset by offset anyway, so joining changes no result.
        """
        at, count, numbers = 0, len(batches), None if self._window.order is None else _numbers(batches)
        while at < count:
            if numbers is not None and (at := self._accept_runs(numbers, at)) == count:
                return
            if isinstance(batches, AckRanges):
                batches = list(batches)
            ack = batches[at]
            at += 1
            if at == count or batches[at].first_offset != ack.last_offset + 1:
                yield ack
                continue
            batch = self._window.batches.floor(ack.first_offset)
            end = -1 if batch is None or ack.first_offset < self._window.start_offset else batch.last_offset
            first, last, types = ack.first_offset, ack.last_offset, _type_per_offset(ack, end)
            while types and at < count and batches[at].first_offset == last + 1:
                more = _type_per_offset(batches[at], end)
                if not more:
                    break
                last = batches[at].last_offset
                types += more
                at += 1
            yield ack if last == ack.last_offset else AckBatch(first, last, types)

    def _accept_runs(self, numbers: list[int], at: int) -> int:
        """Accept the acknowledgements from index `at` on, as long as each covers exactly one run that the member owns;
        one pass for each in-flight batch.

        Return the index of the first one left. `_apply_one` has the same effect on each. With order by key many runs
        are of one record. `numbers` has three for each acknowledgement: the first and last offset (inclusive) and the
        type.
        """
        window, change, end = self._window, self._change, len(numbers) // 3
        while at < end:
            first = numbers[3 * at]
            batch = window.batches.floor(first)
            if batch is None or not batch.offset_form or not window.start_offset <= first <= batch.last_offset:
                break
            status = batch.status_at(first)
            if not self._may_acknowledge(status, _ACCEPTED):
                break
            before, target = at, self._target(status, AcknowledgeType.ACCEPT, first)
            at, records, last = batch.accept(numbers, before, status, target, change.state_batches, StateBatch)
            if at == before:
                break  # not one run, or it becomes one with a neighbour
            window.delivery_complete_count += records
            self._count(AcknowledgeType.ACCEPT, records)
            change.touch(batch, first, last)
        return at

    def _apply_one(self, ack: Acknowledged) -> ErrorCode:
        types = ack.acknowledge_types
        if len(types) == 1:
            if not _LOWEST_TYPE <= types[0] <= _HIGHEST_TYPE:
                return ErrorCode.INVALID_REQUEST
        elif (
            not types
            or len(types) != ack.last_offset - ack.first_offset + 1
            or min(types) < _LOWEST_TYPE
            or max(types) > _HIGHEST_TYPE
        ):
            return ErrorCode.INVALID_REQUEST
        start = self._window.start_offset
        if ack.first_offset < min(start, self._window.undurable_end):
            return ErrorCode.INVALID_RECORD_STATE  # archived, but not durably: a crash would bring it back
        if ack.last_offset < start:
            return ErrorCode.NONE  # all is finished: nothing is left to acknowledge
        batches = self._covered(ack)
        if isinstance(batches, ErrorCode):
            return batches
        for batch in batches:
            error = self._apply_to_batch(ack, batch)
            if error is not ErrorCode.NONE:
                return error
        return ErrorCode.NONE

    def _covered(self, ack: Acknowledged) -> list[Batch] | ErrorCode:
        """Return the in-flight batches that an acknowledgement covers, from the one at or before its first offset on.
        Errors: INVALID_RECORD_STATE, INVALID_REQUEST.
        """
        start = self._window.start_offset
        batches = self._window.batches
        floor = batches.floor(ack.first_offset)
        if floor is None and ack.first_offset < start:
            floor = batches.floor(start)  # the part below the start offset is finished with
        if floor is None:
            return ErrorCode.INVALID_RECORD_STATE
        if ack.last_offset <= floor.last_offset:
            return [floor]
        covered = batches.starting_in(floor.first_offset, ack.last_offset)
        if ack.last_offset > covered[-1].last_offset:  # this includes a first offset beyond it
            return ErrorCode.INVALID_REQUEST
        return covered

    def _apply_to_batch(self, ack: Acknowledged, batch: Batch) -> ErrorCode:
        start = self._window.start_offset
        if batch.last_offset < start:
            return ErrorCode.NONE
        if not batch.offset_form:
            # This also refuses an acknowledgement that begins in a hole behind this batch, as in Apache Kafka.
            if batch.statuses[0].owner != self._member_id:
                return ErrorCode.INVALID_RECORD_STATE
            if (
                len(ack.acknowledge_types) == 1
                and max(ack.first_offset, start) <= batch.first_offset
                and batch.last_offset <= ack.last_offset
            ):
                return self._apply_to_whole(batch, ack.acknowledge_types[0])
            batch.offset_form = True
        first = max(batch.first_offset, ack.first_offset, start)
        last = min(batch.last_offset, ack.last_offset)
        return self._apply_to_range(ack, batch, first, last) if first <= last else ErrorCode.NONE

    def _apply_to_whole(self, batch: Batch, kind: int) -> ErrorCode:
        """Acknowledge a whole batch, which is one run that the member owns, and remains one run."""
        if kind == AcknowledgeType.RENEW:
            if not self._settings.renew_acknowledge_enable:
                return ErrorCode.INVALID_RECORD_STATE
            self._locks.add(self._window, self._deadline_ms, batch.first_offset, batch.last_offset)
        target = self._target(batch.statuses[0], kind, batch.first_offset)
        self._count(kind, batch.size)
        if kind >= AcknowledgeType.RELEASE:
            self._note_failed(kind, batch.first_offset, batch.last_offset, target)
        batch.statuses[0] = target
        if target.write_id:
            if target.terminal:
                self._window.delivery_complete_count += batch.last_offset - batch.first_offset + 1
            self._change.touched.append((batch, batch.first_offset, batch.last_offset))
            self._change.persist_run(batch.first_offset, batch.last_offset, target)
            if self._delays:
                self._change.delay_runs([(batch.first_offset, batch.last_offset, target)])
        return ErrorCode.NONE

    def _apply_to_range(self, ack: Acknowledged, batch: Batch, first: int, last: int) -> ErrorCode:
        """Acknowledge `first..last` (inclusive), a part of both the batch and the acknowledgement."""
        starts: list[int] = []
        statuses: list[DeliveryStatus] = []
        for run_first, run_last, status in batch.runs(first, last):
            types = ack.acknowledge_types
            if len(types) > 1:
                types = types[run_first - ack.first_offset : run_last + 1 - ack.first_offset]
            if not self._may_acknowledge(status, types):
                if starts:  # renewals before this run stay in effect
                    self._store(batch, first, run_first - 1, starts, statuses)
                return ErrorCode.INVALID_RECORD_STATE
            new_starts, new_statuses = self._acknowledged(status, types, run_first, run_last)
            starts += new_starts
            statuses += new_statuses
        self._store(batch, first, last, starts, statuses)
        return ErrorCode.NONE

    def _may_acknowledge(self, status: DeliveryStatus, types: Sequence[int]) -> bool:
        if status.state is not RecordState.ACQUIRED or status.owner != self._member_id:
            return False
        return self._settings.renew_acknowledge_enable or AcknowledgeType.RENEW not in types

    def _store(self, batch: Batch, first: int, last: int, starts: list[int], statuses: list[DeliveryStatus]) -> None:
        batch.overwrite(first, last, starts, statuses)
        self._change.touch(batch, first, last)

    def _acknowledged(
        self, status: DeliveryStatus, types: Sequence[int], first: int, last: int
    ) -> tuple[list[int], list[DeliveryStatus]]:
        """Return the starts and statuses of the runs that the run `first..last` becomes. Count the acknowledged
        records, and note the changes for the state write.
        """
        targets = {kind: self._target(status, kind, first) for kind in set(types)}
        if AcknowledgeType.RENEW in targets:
            self._locks.add(self._window, self._deadline_ms, first, last)
        if len(targets) == 1:
            ((kind, target),) = targets.items()
            starts, statuses = [first], [target]
            self._window.delivery_complete_count += (last - first + 1) * target.terminal
            self._count(kind, last - first + 1)
            if kind >= AcknowledgeType.RELEASE:
                self._note_failed(kind, first, last, target)
        else:
            starts, statuses = merged(list(range(first, last + 1)), list(map(targets.__getitem__, types)))
            for kind, target in targets.items():
                number = types.count(kind)
                self._window.delivery_complete_count += number * target.terminal
                self._count(kind, number)
                if kind >= AcknowledgeType.RELEASE and target.state in GIVEN_UP:
                    for offset in (first + at for at, each in enumerate(types) if each == kind):
                        self._note_failed(kind, offset, offset, target)
        if self._delays:
            self._change.delay_runs(zip(starts, _ends(starts, last), statuses, strict=True))
        if len(starts) == 1:
            if statuses[0].write_id:
                self._change.persist_run(first, last, statuses[0])
            return starts, statuses
        self._change.persist(
            [
                StateBatch(start, end, target.state, target.delivery_count)
                for start, end, target in zip(starts, _ends(starts, last), statuses, strict=True)
                if target.write_id
            ]
        )
        return starts, statuses

    def _count(self, kind: int, number: int) -> None:
        """Count records acknowledged with this type."""
        counts = self._change.acknowledged
        counts[kind] = counts.get(kind, 0) + number

    def _note_failed(self, kind: int, first: int, last: int, target: DeliveryStatus) -> None:
        """Note the given-up records and the dead letters of `first..last` (inclusive), which were released, rejected or
        renewed and are becoming `target`.
        """
        if target.state not in GIVEN_UP:
            return
        if kind == AcknowledgeType.RELEASE:
            self._give_up(first, last, target)
        if target.state is RecordState.ARCHIVING:
            self._dead_letter(kind, first, last, target)

    def _dead_letter(self, kind: int, first: int, last: int, target: DeliveryStatus) -> None:
        cause = Cause.DELIVERY_COUNT_EXCEEDED if kind == AcknowledgeType.RELEASE else Cause.CLIENT_REJECT
        letter = DeadLetter(first, last, target.delivery_count, cause, self._member_id)
        dead = self._change.dead
        if dead and dead[-1].last_offset + 1 == first and dead[-1][2:] == letter[2:]:
            letter = letter._replace(first_offset=dead.pop().first_offset)
        dead.append(letter)

    def _give_up(self, first: int, last: int, target: DeliveryStatus) -> None:
        """Note that `first..last` (inclusive) is given up, because its last delivery failed. Calls must ascend."""
        given_up = self._change.given_up
        if given_up and given_up[-1].last_offset + 1 == first and given_up[-1].attempts == target.delivery_count:
            first = given_up.pop().first_offset
        given_up.append(GivenUpRange(first, last, target.delivery_count))

    def _target(self, status: DeliveryStatus, kind: int, first: int) -> DeliveryStatus:
        """Return the status of an acquired record after an acknowledgement; records with the same result share one
        object.

        `first` is the lowest offset of these records. Records that are released together wait equally long.
        """
        state = self._state_after.get(kind, RecordState.ACQUIRED)  # a renewed record stays acquired
        if state is RecordState.AVAILABLE:
            state = after_release(status, self._settings)
        target = self._memo.get((status, state))
        if target is None:
            renewed = state is RecordState.ACQUIRED
            target = status.renewed(self._deadline_ms) if renewed else self._pending(status, state, first)
            self._memo[status, state] = target
        return target

    def _pending(self, status: DeliveryStatus, state: RecordState, first: int) -> DeliveryStatus:
        if not self._delays or state is not RecordState.AVAILABLE:
            return status.pending(state, self._change.write_id)
        time = not_before(self._settings.redelivery, self._now_ms, first, status.delivery_count)
        return status.pending(state, self._change.write_id, time)


def _postponed(write_id: int, time: int) -> Change:
    memo: dict[DeliveryStatus, DeliveryStatus] = {}

    def postponed(status: DeliveryStatus) -> DeliveryStatus:
        before = status.before
        if status.write_id != write_id or status.state is not RecordState.AVAILABLE or before is None:
            return status
        pending = memo.get(status)
        if pending is None:
            pending = memo[status] = before.pending(RecordState.AVAILABLE, write_id, time)
        return pending

    return postponed


def _numbers(batches: Sequence[Acknowledged]) -> list[int]:
    """Return three numbers for each acknowledgement: its first and last offset (inclusive) and its type, -1 if it has
    several types.
    """
    if isinstance(batches, AckRanges):
        return batches.numbers
    numbers: list[int] = []
    for ack in batches:
        types = ack.acknowledge_types
        numbers += (ack.first_offset, ack.last_offset, types[0] if len(types) == 1 else -1)
    return numbers


def _type_per_offset(ack: Acknowledged, end: int) -> list[int]:
    """Return the acknowledgement's types, one for each offset; an empty list if it reaches beyond `end` (inclusive) or
    is not valid.
    """
    size = ack.last_offset - ack.first_offset + 1
    if ack.last_offset > end or size < 1 or len(ack.acknowledge_types) not in (1, size):
        return []
    return [ack.acknowledge_types[0]] * size if len(ack.acknowledge_types) == 1 else list(ack.acknowledge_types)


def _ends(starts: Sequence[int], last: int) -> list[int]:
    """Return the last offsets (inclusive) of adjoining runs that begin at `starts` and end at `last`."""
    ends = [start - 1 for start in starts[1:]]
    ends.append(last)
    return ends
